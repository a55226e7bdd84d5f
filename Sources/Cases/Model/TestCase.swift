import BBPackets

/// A test case: a file with one purpose.
public struct TestCase: Sendable {
    /// The suite and the file name: `phy/central-asks-2m`.
    public var id: String
    public var position: Position
    public var title: String
    /// The purpose of the check in one or two sentences.
    public var purpose: String
    /// The judged section of the Core Specification.
    public var reference: String
    public var subject: SubjectKind
    /// The corresponding public test-case ids.
    public var covers: [Cover]
    /// The tags from `CaseTag.all`.
    public var tags: [String]
    /// The features that tester and subject need; otherwise the verdict is N/A.
    public var needs: Requirement?
    /// The judged rule of a profile; the case runs only with a profile that has it.
    public var rule: String?
    public var parameters: [Parameter]
    /// The parameter values of each round; each round has its own verdict.
    public var rounds: [CaseRecord]
    /// The words of the round: `side=central`; empty in a case without words.
    package var round = ""
    public var limits: Limits
    /// The simulated world, if it is not the default.
    public var world: World
    /// Steps that establish the initial condition; a failure has the verdict INCONC.
    public var setup: [Step]
    public var steps: [Step]
    /// Steps that always run; their failures are reported and change only the verdict PASS.
    public var teardown: [Step]
    /// True if the case uses known facts about a device over the air: `$device`, or one of its features.
    package var mentionsDevice = false
    /// True if the case searches for the accessory of docs/guide/accessory.md by name.
    package var mentionsReference = false

    /// The advertised name of the accessory of docs/guide/accessory.md.
    package static let referenceName = "Bluebench Reference"

    public var suite: String { start(before: UInt8(ascii: "/")) }

    /// The id of the file, without the round.
    public var file: String { start(before: UInt8(ascii: "[")) }

    private func start(before mark: UInt8) -> String { String(id[..<(id.utf8.firstIndex(of: mark) ?? id.endIndex)]) }

    /// The case for each of its rounds, which the id contains: `ssp/wrong-passkey[role=initiator,secureConnections=Enabled]`.
    var unrolled: [TestCase] {
        (rounds.isEmpty ? [CaseRecord()] : rounds).map { record in
            var testCase = self
            testCase.rounds = []
            let values = zip(record.names, record.values).map { name, value in
                let parameter = parameters.first { $0.name == name }
                return "\(name)=\(value.asNumber.flatMap { parameter?.spelling(of: $0) ?? "\($0)" } ?? value.description)"
            }
            let parts = (round.isEmpty ? [] : [round]) + values
            if !parts.isEmpty { testCase.id = "\(id)[\(parts.joined(separator: ","))]" }
            for index in parameters.indices {
                if let value = record[parameters[index].name] { testCase.parameters[index].initial = value }
            }
            return testCase
        }
    }
}

extension TestCase {
    /// Creates a case without steps.
    package init(id: String, position: Position, subject: SubjectKind) {
        self.init(
            id: id, position: position, title: "", purpose: "", reference: "", subject: subject, covers: [], tags: [], needs: nil,
            parameters: [], rounds: [], limits: Limits(), world: World(), setup: [], steps: [], teardown: [])
    }
}

/// The kind of the judged device.
public enum SubjectKind: String, Sendable, Hashable, CaseIterable {
    /// A controller with its own HCI.
    case controller
    /// A device that is reached only over the air.
    case accessory
    /// A host, which its upper tester asks for actions over the Bluetooth Test Protocol.
    case host
}

/// A public test-case id, and whether the case checks all of it.
public struct Cover: Sendable, Hashable {
    public var id: String
    public var isFull: Bool
    public var position: Position
}

/// A parameter that a run may set, a number within a range.
public struct Parameter: Sendable, Hashable {
    public var name: String
    public var initial: CaseValue
    public var range: ClosedRange<Int>?
    /// The field whose value the parameter is, which has the names of the values.
    public var field: Vocabulary.Field?
    public var about: String
    public var position: Position
    /// True if the number is a time in microseconds.
    public var isTime = false

    /// The name of a value, or the time with its unit; nil for a plain number.
    func spelling(of number: Int) -> String? {
        isTime ? Microseconds(Int64(number)).text.filter { $0 != " " } : field?.spelling(of: number)
    }
}

/// The limits of the duration of a case and of each step, in the run's time.
public struct Limits: Sendable, Hashable {
    /// The largest limit of a case.
    public static let longest = Microseconds.seconds(3_600)

    public var step: Microseconds = .seconds(10)
    public var run: Microseconds = .seconds(120)
}

/// The settings of the simulation for a case.
public struct World: Sendable, Hashable {
    /// The probability that a packet is lost on the air, 0...1.
    public var packetErrorRate: Double = 0
    /// The quirks of each side's virtual controller.
    public var tester: [QuirkSetting] = []
    public var subject: [QuirkSetting] = []
    /// The quirks of the bench's own accessory.
    public var accessory: [QuirkSetting] = []
    /// The quirks of the host at the subject's side.
    public var host: [QuirkSetting] = []
    public var neighbours = Neighbours()

    public init() {}

    public var isDefault: Bool { self == World() }

    /// True if nothing is changed but the bench's own accessory, in whose place a product may be tested.
    var concernsAccessoryAlone: Bool {
        var others = self
        others.accessory = []
        return others.isDefault
    }

    /// The number of background devices of each kind.
    public struct Neighbours: Sendable, Hashable {
        public var advertisers = 0
        public var scanners = 0
        /// Connections between two background devices.
        public var links = 0
        /// Phones with an open Bluetooth settings page.
        public var phones = 0

        public init() {}
    }
}
