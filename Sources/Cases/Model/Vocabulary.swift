import BBPackets

/// The names available to case files.
public struct Vocabulary: Sendable {
    /// A PDU by its specification name.
    public struct PDU: Sendable {
        /// The fields of a PDU.
        public struct Shape: Sendable {
            public var fields: [Field]
            /// The return parameters of Command Complete; nil for a command answered with Command Status.
            public var returns: [Field]?

            public init(fields: [Field], returns: [Field]? = nil) {
                self.fields = fields
                self.returns = returns
            }
        }

        public var name: String
        public var layer: Layer
        private var shape: @Sendable () -> Shape

        public var fields: [Field] { shape().fields }
        public var returns: [Field]? { shape().returns }

        /// - Parameter shape: the fields; called each time they are needed.
        public init(name: String, layer: Layer, shape: @escaping @Sendable () -> Shape) {
            self.name = name
            self.layer = layer
            self.shape = shape
        }

        public init(name: String, layer: Layer, fields: [Field], returns: [Field]? = nil) {
            self.init(name: name, layer: layer) { Shape(fields: fields, returns: returns) }
        }

        /// Adds a field at the end.
        public mutating func add(_ field: Field) {
            let shape = shape
            self.shape = {
                var shape = shape()
                shape.fields.append(field)
                return shape
            }
        }
    }

    /// A field: its kind, the names of its values and, for rows and records, its columns.
    public struct Field: Sendable, Hashable {
        public enum Kind: Sendable, Hashable {
            /// A number in the range of the field.
            case number(ClosedRange<Int>)
            case octets(atMost: Int?)
            case address
            case uuid
            /// A list of elements as described by `element`.
            case list
            /// Rows of columns, or a single record.
            case rows
            case record
            /// A value of unknown type.
            case any

            var isOctets: Bool { if case .octets = self { true } else { false } }
        }

        public var name: String
        public var kind: Kind
        public var labels: [String: Int]
        /// True if the labels name bits, which are joined with `|`.
        public var isFlags: Bool
        public var columns: [Field]
        /// The description of a list's elements; at most one field.
        public var element: [Field]
        /// The value of an omitted field: 0, or the smallest legal value.
        public var initial: Int
        /// True if the field cannot be omitted.
        public var isRequired: Bool
        /// True if a value of unknown type has no named parts.
        public var isPlain: Bool

        public init(
            _ name: String, _ kind: Kind = .any, labels: [String: Int] = [:], isFlags: Bool = false, columns: [Field] = [],
            element: [Field] = [], initial: Int = 0, isRequired: Bool = false, isPlain: Bool = false
        ) {
            self.name = name
            self.kind = columns.isEmpty || kind != .any ? kind : .rows
            self.labels = labels
            self.isFlags = isFlags
            self.columns = columns
            self.element = element
            self.initial = initial
            self.isRequired = isRequired
            self.isPlain = isPlain
        }

        /// Returns a number's text by name: `Success`, `LE_1M|LE_2M`; nil if part of it has no name.
        func spelling(of number: Int) -> String? {
            if let name = labels.filter({ $0.value == number }).keys.min() { return name }
            guard isFlags, number > 0 else { return nil }
            let names = labels.filter { $0.value & number == $0.value && $0.value != 0 }.sorted { $0.value < $1.value }
            return names.reduce(0) { $0 | $1.value } == number ? names.map(\.key).joined(separator: "|") : nil
        }

        /// Returns the number for a name, or for names joined with `|`.
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

    /// The description of an action, which `do:` names.
    public struct ActionShape: Sendable {
        public var name: String
        public var about: String
        public var arguments: [ActionArgument]
        public var results: [String]
        /// True if the action changes the simulated air.
        public var isAboutAir: Bool

        /// The results as fields: numbers, octets, texts and lists.
        package var resultFields: [Field] { (results + ["error"]).map { Field($0, isPlain: true) } }

        public init(name: String, about: String, arguments: [ActionArgument], results: [String], isAboutAir: Bool = false) {
            self.isAboutAir = isAboutAir
            self.name = name
            self.about = about
            self.arguments = arguments
            self.results = results
        }
    }

    public var pdus: [String: PDU]
    /// Names that match any of several equivalent events, with the names of the events.
    public var alternatives: [String: [String]]
    public var actions: [String: ActionShape]
    /// The features for `needs:` and `when:`, without `tester.` or `subject.`.
    public var features: Set<String>
    /// The commands with a bit in the Supported_Commands mask; `needs:` and `when:` may name them like features.
    public var commands: Set<String>
    /// The tables of public test cases beside the suites; nil for a folder without tables, which may name any id.
    public var covers: PublicTests?
    /// The tables of the built-in cases, for another folder: without tables of its own, an id that is not in them is a warning.
    public var builtInCovers: PublicTests?
    /// The rules of profiles with the names of their values.
    public var rules: [String: Set<String>] = [:]
    /// The quirks of controllers, hosts and accessories.
    public var worlds = WorldSettings()
    /// The facts about a device over the air: the variable `$device` and the features `device.…`.
    public var device = DeviceShape()

    /// The fields of `$device`, and the names that may follow `device.` in a condition.
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
        commands: Set<String> = [], covers: PublicTests? = []
    ) {
        self.pdus = Dictionary(pdus.map { ($0.name, $0) }) { first, _ in first }
        self.alternatives = alternatives
        self.actions = Dictionary(actions.map { ($0.name, $0) }) { first, _ in first }
        self.features = features
        self.commands = commands
        self.covers = covers
    }
}
