/// The names that a case file may use.
public struct Vocabulary: Sendable {
    /// A PDU by its specification name.
    public struct PDU: Sendable {
        public enum Layer: Sendable, Hashable {
            case command, event, linkLayer, att, smp, signalling, data
        }

        public var name: String
        public var layer: Layer
        public var fields: [Field]
        /// What Command Complete brings; nil for a command that is answered by Command Status.
        public var returns: [Field]?

        public init(name: String, layer: Layer, fields: [Field], returns: [Field]? = nil) {
            self.name = name
            self.layer = layer
            self.fields = fields
            self.returns = returns
        }
    }

    /// One field: what it holds, the names of its values and, for rows and records, its columns.
    public struct Field: Sendable, Hashable {
        public enum Kind: Sendable, Hashable {
            /// A number that fits the field.
            case number(ClosedRange<Int>)
            case octets(atMost: Int?)
            case address
            case uuid
            /// Elements, all like `element`.
            case list
            /// Rows of columns, or one record of them.
            case rows
            case record
            /// Nothing is known of it.
            case any
        }

        public var name: String
        public var kind: Kind
        public var labels: [String: Int]
        /// The labels name bits, which are joined by `|`.
        public var isFlags: Bool
        public var columns: [Field]
        /// What each element of a list is like: one field, or none.
        public var element: [Field]
        /// What a field that is left out is sent as: 0, or the least value that is allowed.
        public var initial: Int
        /// There is no value that it could be left out for.
        public var isRequired: Bool

        public init(
            _ name: String, _ kind: Kind = .any, labels: [String: Int] = [:], isFlags: Bool = false, columns: [Field] = [],
            element: [Field] = [], initial: Int = 0, isRequired: Bool = false
        ) {
            self.name = name
            self.kind = columns.isEmpty || kind != .any ? kind : .rows
            self.labels = labels
            self.isFlags = isFlags
            self.columns = columns
            self.element = element
            self.initial = initial
            self.isRequired = isRequired
        }

        /// How a number of this field is written by name: `Success`, `LE_1M|LE_2M`; nil when some part of it has no name.
        func spelling(of number: Int) -> String? {
            if let name = labels.filter({ $0.value == number }).keys.min() { return name }
            guard isFlags, number > 0 else { return nil }
            let names = labels.filter { $0.value & number == $0.value && $0.value != 0 }.sorted { $0.value < $1.value }
            return names.reduce(0) { $0 | $1.value } == number ? names.map(\.key).joined(separator: "|") : nil
        }

        /// The number that a name, or names joined by `|`, stand for.
        func number(spelt text: String) -> Int? {
            guard isFlags else { return labels[text] }
            var number = 0
            for part in text.split(separator: "|", omittingEmptySubsequences: false) {
                guard let value = labels[part.filter { $0 != " " }] else { return nil }
                number |= value
            }
            return number
        }
    }

    /// What `do:` can name.
    public struct ActionShape: Sendable {
        public var name: String
        public var about: String
        public var arguments: [ActionArgument]
        public var results: [String]
        /// It changes what is on the simulated air.
        public var isAboutAir: Bool

        public init(name: String, about: String, arguments: [ActionArgument], results: [String], isAboutAir: Bool = false) {
            self.isAboutAir = isAboutAir
            self.name = name
            self.about = about
            self.arguments = arguments
            self.results = results
        }
    }

    public var pdus: [String: PDU]
    /// Events that stand for whichever of several a controller sends: the name, and what it stands for.
    public var alternatives: [String: [String]]
    public var actions: [String: ActionShape]
    /// Features that `needs:` and `when:` may name, without `tester.` or `subject.`.
    public var features: Set<String>
    /// Commands that the Supported_Commands mask has a bit for; `needs:` and `when:` may name them in the same way.
    public var commands: Set<String>
    /// Settings of virtual controllers, with the numbers that each takes.
    public var settings: [String: ClosedRange<Int>]
    /// Public test-case ids; nil when the list is not at hand, and any may be named.
    public var covers: Set<String>?
    /// Rules of profiles, with the names of their values.
    public var rules: [String: Set<String>] = [:]
    /// Settings of controllers, dongles, hosts and accessories.
    public var worlds = WorldSettings()
    /// Facts about a device over the air: the variable and the features named `device`.
    public var device = DeviceShape()

    /// Fields of `$device`, and the names that may follow `device.` in a condition.
    public struct DeviceShape: Sendable {
        public static let name = "device"

        public var features: Set<String> = []
        var variable: ValueShape = .record([:])

        public init() {}

        package init(features: Set<String>, variable: ValueShape) {
            self.features = features
            self.variable = variable
        }
    }

    public init(
        pdus: [PDU], alternatives: [String: [String]] = [:], actions: [ActionShape] = [], features: Set<String> = [],
        commands: Set<String> = [],
        settings: [String: ClosedRange<Int>] = [:], covers: Set<String>? = []
    ) {
        self.pdus = Dictionary(pdus.map { ($0.name, $0) }) { first, _ in first }
        self.alternatives = alternatives
        self.actions = Dictionary(actions.map { ($0.name, $0) }) { first, _ in first }
        self.features = features
        self.commands = commands
        self.settings = settings
        self.covers = covers
    }
}
