import Packets

/// One case: a file with one purpose.
public struct TestCase: Sendable {
    /// Suite and file name: `phy/central-asks-2m`.
    public var id: String
    public var position: Position
    public var title: String
    /// What is checked and why, in a sentence or two.
    public var purpose: String
    /// The section of the Core Specification that is judged.
    public var reference: String
    public var subject: SubjectKind
    /// Public test-case ids that the case corresponds to.
    public var covers: [Cover]
    /// Names of selections that the case is part of, of `CaseTag.all`.
    public var tags: [String]
    /// What tester and subject must be able to do; otherwise the verdict is N/A.
    public var needs: Requirement?
    /// The rule of a profile that it judges; it runs only with a profile that has this rule.
    public var rule: String?
    public var parameters: [Parameter]
    /// The values of parameters that the case runs with, one run and one verdict for each.
    public var rounds: [CaseRecord]
    public var limits: Limits
    /// The simulated world, where it is not the default one.
    public var world: World
    /// Steps that bring about the initial condition; a failure here is INCONC.
    public var setup: [Step]
    public var steps: [Step]
    /// Runs whatever happened before; its failures are noted and change no verdict but PASS.
    public var teardown: [Step]
    /// It is about what is known of a device over the air: `$device`, or a feature of it.
    package var mentionsDevice = false
    /// It looks for the accessory of docs/guide/accessory.md by its name.
    package var mentionsReference = false

    /// The advertised name of the accessory of docs/guide/accessory.md.
    package static let referenceName = "Bluebench Reference"

    public var suite: String { String(id.prefix { $0 != "/" }) }

    /// The id of the file, whichever round of the case this is.
    public var file: String { String(id.prefix { $0 != "[" }) }

    /// The case once for each of its rounds, with the round in its id: `dle/subject-asks[octets=27]`.
    var unrolled: [TestCase] {
        guard !rounds.isEmpty else { return [self] }
        return rounds.map { round in
            var testCase = self
            testCase.rounds = []
            let values = zip(round.names, round.values).map { name, value in
                let field = parameters.first { $0.name == name }?.field
                return "\(name)=\(value.asNumber.flatMap { field?.spelling(of: $0) ?? "\($0)" } ?? value.description)"
            }
            testCase.id = "\(id)[\(values.joined(separator: ","))]"
            for index in parameters.indices {
                if let value = round[parameters[index].name] { testCase.parameters[index].initial = value }
            }
            return testCase
        }
    }
}

extension TestCase {
    /// A case without steps.
    package init(id: String, position: Position, subject: SubjectKind) {
        self.init(
            id: id, position: position, title: "", purpose: "", reference: "", subject: subject, covers: [], tags: [], needs: nil,
            parameters: [], rounds: [], limits: Limits(), world: World(), setup: [], steps: [], teardown: [])
    }
}

/// What is judged.
public enum SubjectKind: String, Sendable, Hashable, CaseIterable {
    /// A controller, driven through its own HCI.
    case controller
    /// A device reached over the air only.
    case accessory
}

/// A public test-case id, and whether the case checks all of it.
public struct Cover: Sendable, Hashable {
    public var id: String
    public var isFull: Bool
    public var position: Position
}

/// A value that a run may choose, a number within a range.
public struct Parameter: Sendable, Hashable {
    public var name: String
    public var initial: CaseValue
    public var range: ClosedRange<Int>?
    /// The field of a PDU that the parameter is a value of, which names its values.
    public var field: Vocabulary.Field?
    public var about: String
    public var position: Position
}

/// How long a case and each of its steps may last, in the run's own time.
public struct Limits: Sendable, Hashable {
    /// No case may ask for more.
    public static let longest = Microseconds.seconds(3_600)

    public var step: Microseconds = .seconds(10)
    public var run: Microseconds = .seconds(120)
}

/// What the simulation is told before a case starts.
public struct World: Sendable, Hashable {
    /// The probability that a packet on the air is lost, 0...1.
    public var packetErrorRate: Double = 0
    /// Named settings of each end's virtual controller.
    public var tester: [ControllerSetting] = []
    public var subject: [ControllerSetting] = []
    /// What an accessory of ours does otherwise than usual.
    public var accessory: [ControllerSetting] = []
    public var neighbours = Neighbours()

    public init() {}

    public var isDefault: Bool { self == World() }

    /// Number of background devices of each kind.
    public struct Neighbours: Sendable, Hashable {
        public var advertisers = 0
        public var scanners = 0
        /// Connections, each between two background devices.
        public var links = 0
        /// Phones with the Bluetooth settings page open.
        public var phones = 0

        public init() {}
    }
}

/// One setting of a virtual controller by name.
public struct ControllerSetting: Sendable, Hashable {
    public var name: String
    public var value: CaseValue
    public var position: Position
}
