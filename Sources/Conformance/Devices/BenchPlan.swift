import BBCases
import BBHCI
import BBHost
import BBPackets
import BBProducts
import BBTiming
import BBUpperTester

/// The purpose of a case's bench: its hosts, the product under test, and the rules that the case judges.
struct BenchPlan {
    var hosts = HostPlan()
    var product = ProductPlan()
    var rules = RulePlan()
    var addresses = AddressPlan()
    /// The tolerance added to the ends of windows in real time.
    var slack = Microseconds.zero
    /// The pipe to an upper tester outside; nil for that of the bench's own host.
    var upperTester: HeldBTPPipe?
    var tools = ProductTools()
    /// The declaration of the subject's maker; nil without a conformance statement.
    var declared: DeclaredItems?
}

/// The hosts of a bench.
struct HostPlan {
    /// The sides with a host of the bench.
    var sides: Set<Side> = []
    /// The kind of the subject's host.
    var kind = SubjectKind.controller
    /// The bench's host at the subject uses BR/EDR, too, for a case that needs it.
    var isDualMode = false
    /// The kind of the bench's accessory at the subject.
    var accessory = AccessoryKind.reference
    /// The accessory's differences from the default, if it is an accessory.
    var conduct = AccessoryConduct([])
    var fault = Fault()
}

/// The product over the air, and the tester's relation to it.
struct ProductPlan {
    /// The selector of the product.
    var peer = PeerSelector.name(TestCase.referenceName)
    /// The known facts about it.
    var facts: DeviceFacts?
    /// The bonds with which the tester's host resolves private addresses.
    var bonds: [Bond] = []
    /// The tester's side of a pairing; nil for the defaults.
    var pairing: PairingChoice?
    /// True if the case pairs with the product in a step of its own.
    var isPairedByCase = false
    /// True to pair with the product on each connection.
    var pairsWhenMet: Bool { pairing != nil && !isPairedByCase }
}

/// The rules of a product's profile.
struct RulePlan {
    /// The rule that the case judges.
    var judged: AccessoryProfile.Rule?
    /// The rules for or against which the case is evidence.
    var supported: [AccessoryProfile.Rule] = []
}

/// The addresses of a bench's ends.
struct AddressPlan {
    /// The addresses of the sides; `automatic` for a side without an entry.
    var own: [Side: OwnAddress] = [:]
    /// True if the tester must be unknown to the device over the air or to the host under test: bonds and failed pairings of earlier cases
    /// must not affect this one.
    var isStranger = false
    /// The seed of random addresses in virtual time.
    var seed: UInt64 = 0
}

/// The user's ways to a product besides the air.
struct ProductTools {
    /// Reads the product's log, at the beginning of a step.
    var readLog: () -> Void = {}
    /// Switches the product off and on by the user's command, and returns its failure; nil without a command.
    var switchPower: (() async throws -> String?)?
}

/// Memory of a case about the product.
struct ProductMemory {
    /// The attributes that the case remembers, and the position in the log since then.
    var attributes: [ShownAttribute] = []
    var since = 0
    /// The change of the product's services that `changes:` declares.
    var hasChangedServices = false
    /// True on a connection on which the services have changed: the product may end it to restart.
    var mayRestart = false
    /// The reason why the product declined to pair in a run that pairs on each connection; nil if it did not.
    var declinedPairing: String?
}
