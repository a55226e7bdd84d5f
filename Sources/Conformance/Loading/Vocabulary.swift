/// The names that a case file may use.
public struct Vocabulary: Sendable {
    /// A PDU by its specification name.
    public struct PDU: Sendable {
        public enum Layer: Sendable, Hashable {
            case command, event, linkLayer, att, smp, signalling
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

    /// One field, with the names of its values and, for a list of records, its columns.
    public struct Field: Sendable {
        public var name: String
        public var labels: [String: Int]
        public var columns: [Field]

        public init(_ name: String, labels: [String: Int] = [:], columns: [Field] = []) {
            self.name = name
            self.labels = labels
            self.columns = columns
        }
    }

    /// What `do:` can name.
    public struct ActionShape: Sendable {
        public var name: String
        public var about: String
        public var arguments: [ActionArgument]
        public var results: [String]

        public init(name: String, about: String, arguments: [ActionArgument], results: [String]) {
            self.name = name
            self.about = about
            self.arguments = arguments
            self.results = results
        }
    }

    public var pdus: [String: PDU]
    public var actions: [String: ActionShape]
    /// Features that `needs:` and `when:` may name, without `tester.` or `subject.`.
    public var features: Set<String>
    /// Settings of virtual controllers.
    public var settings: Set<String>
    /// Public test-case ids.
    public var covers: Set<String>

    public init(
        pdus: [PDU], actions: [ActionShape] = [], features: Set<String> = [], settings: Set<String> = [], covers: Set<String> = []
    ) {
        self.pdus = Dictionary(pdus.map { ($0.name, $0) }) { first, _ in first }
        self.actions = Dictionary(actions.map { ($0.name, $0) }) { first, _ in first }
        self.features = features
        self.settings = settings
        self.covers = covers
    }
}
