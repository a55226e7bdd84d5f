import BBCases
import BBPackets
import BBSimulation

/// An event, the answer to a command, or a control PDU that a controller sends.
struct DeclaredPacket: Sendable {
    /// A field with a value of its own; those of rows and structures have their path.
    struct Field: Sendable {
        var path: String
        var declaration: FieldDeclaration
        var isReserved: Bool
    }

    /// The name of an event or control PDU, or `answer NAME` for the return parameters of a command.
    var name: String
    /// The name of the declaration: that of the command, for an answer.
    var pdu: String
    var layer: Layer
    var fields: [Field]

    var isAnswer: Bool { layer == .hciCommands }

    static func answer(_ command: String) -> String { "answer \(command)" }

    /// Events of the features that a virtual controller has, all control PDUs, and the answers to the commands that it supports.
    static let all: [DeclaredPacket] = {
        let controllers = [ControllerConfiguration.Profile.le, .dual].map { profile in
            var configuration = ControllerConfiguration(address: SimulatedWorld.address(of: .subject))
            configuration.profile = profile
            return configuration
        }
        let commands = Set(controllers.flatMap { Features.commands(in: $0.supportedCommands) })
        let features = Set(controllers.flatMap { Features.names(in: $0.features.rawValue) })
        return PDUCatalog.all.compactMap { declaration in
            let isPossible = declaration.neededFeatures.isEmpty || !features.isDisjoint(with: declaration.neededFeatures)
            switch declaration.layer {
            case .hciEvents where isPossible, .llControl, .lmp:
                return DeclaredPacket(declaration, declaration.name, declaration.fields)
            case .hciCommands where commands.contains(declaration.name):
                let returns = declaration.completion == .status ? nil : declaration.returns
                let status = PDUCatalog.declaration(layer: .hciEvents, name: HCIEvents.CommandStatus.name)?.fields.prefix(1) ?? []
                return DeclaredPacket(declaration, answer(declaration.name), returns ?? Array(status))
            default: return nil
            }
        }
    }()

    private init(_ declaration: PDUDeclaration, _ name: String, _ fields: [FieldDeclaration]) {
        (self.name, pdu, layer) = (name, declaration.name, declaration.layer)
        self.fields = Self.leaves(fields)
    }

    private static func leaves(_ declarations: [FieldDeclaration], in prefix: String = "") -> [Field] {
        let implied = FieldDeclaration.implied(in: declarations)
        return declarations.flat.flatMap { field -> [Field] in
            guard !implied.contains(field.name), field.name != "Return_Parameters" else { return [] }
            guard field.inner.isEmpty else { return leaves(field.inner, in: "\(prefix)\(field.name).") }
            return [Field(path: prefix + field.name, declaration: field, isReserved: field.isReserved || field.name == "Unused")]
        }
    }
}
