import BBCases
import BBHost
import BBPackets

/// Closes the host's channels to or of a service over BR/EDR. Core Vol 3, Part A, 4.6.
enum CloseChannels: NamedAction {
    static let name = "close channels"
    static let about = "the host disconnects its BR/EDR channels to or of a service"
    static let psm = TypedArgument.number("psm", 1...0xFEFF, default: 0x1001, "PSM or SPSM of the service")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, psm.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.classicLink().closeChannels(of: UInt16(clamping: try context(psm)))
        return CaseRecord()
    }
}

/// Sets or clears the busy condition of channels in enhanced retransmission mode. Core Vol 3, Part A, 8.6.4.
enum BeBusy: NamedAction {
    static let name = "be busy"
    static let about = "the host cannot take I-frames, or can again"
    static let busy = TypedArgument.flag("busy", default: true, "0 to clear the condition")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, CloseChannels.psm.declaration, busy.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.classicLink().setBusy(try context(busy), channelsOf: UInt16(clamping: try context(CloseChannels.psm)))
        return CaseRecord()
    }
}

/// Changes the limits of enhanced credit-based channels over BR/EDR. Core Vol 3, Part A, 4.27.
enum ReconfigureChannels: NamedAction {
    static let name = "reconfigure channels"
    static let about = "the host changes the MTU and MPS of its enhanced credit-based channels over BR/EDR"
    private typealias Limits = EnhancedEchoArguments
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration] + [Limits.spsm, Limits.mtu, Limits.mps].map(\.declaration)
    }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.classicLink().reconfigureChannels(
            of: UInt16(clamping: try context(Limits.spsm)), mtu: UInt16(clamping: try context(Limits.mtu)),
            mps: UInt16(clamping: try context(Limits.mps)))
        return CaseRecord()
    }
}

/// Asks the peer over the signalling channel of BR/EDR. Core Vol 3, Part A, 4.8 and 4.10.
enum AskOverSignalling: NamedAction {
    static let name = "ask over signalling"
    static let about = "the host sends L2CAP_ECHO_REQ or L2CAP_INFORMATION_REQ"
    private enum Question: Int { case echo, features, fixedChannels }
    static let question = TypedArgument.named(
        "question", ["echo": 0, "features": 1, "fixedChannels": 2], default: 0, "an echo, the extended features or the fixed channels")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, question.declaration] }
    /// 1 if the peer has answered with what was asked for, and the mask.
    static let results = ["answered", "mask"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let link = try context.classicLink()
        let (isAnswered, mask): (Bool, UInt64) =
            switch Question(rawValue: try context(question)) {
            case .features: try await link.extendedFeatures().map { (true, UInt64($0)) } ?? (false, 0)
            case .fixedChannels: (true, try await link.fixedChannels())
            case .echo, nil: (try await link.ping(), 0)
            }
        return CaseRecord([("answered", .number(isAnswered ? 1 : 0)), ("mask", .number(Int(clamping: mask)))])
    }
}
