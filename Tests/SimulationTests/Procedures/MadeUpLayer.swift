import BBPackets

@testable import BBSimulation

/// A fictitious control layer, with transactions by initiator as in the link manager.
enum MadeUpLayer: ControlLayer {
    struct Message: Equatable {
        /// True if the central started the transaction.
        var isOfCentral: Bool
        var body: Body
    }

    enum Body: Equatable {
        case ask(Kind)
        case agree(Kind, instant: Int?)
        /// A change at an instant that cannot be rejected.
        case announce(instant: Int)
        case refuse(Kind, ErrorCode)
        case unknown(Kind)
        case farewell
    }

    typealias PDU = Message
    typealias Opcode = Kind
    typealias HostReply = Bool
    typealias Pending = Never

    enum Kind: CaseIterable {
        /// Request and response.
        case colour
        /// Takes effect at an instant.
        case shape
        /// Takes effect at an instant and holds back data.
        case seal
        /// The peer's host decides.
        case favour
        /// Announced by the central, at an instant.
        case hop
        case farewell
        /// Unknown to the peer.
        case riddle
    }

    enum Change: Equatable {
        case learnt(Kind)
        case taken(Kind)
    }

    enum Report: Equatable {
        case asked(Kind)
        case done(Kind, ErrorCode)
        case learnt(Kind)
    }

    struct Context: Equatable {
        var isCentral: Bool
        var now = 0
        var changes: [Change] = []
    }

    static let responseTimeout: Microseconds = 30_000_000

    static let collisions = CollisionTable<Kind>(
        [
            .init(.shape, .shape, .lmpErrorTransactionCollision), .init(.shape, .seal, .differentTransactionCollision),
            .init(.seal, .seal, .lmpErrorTransactionCollision), .init(.shape, .hop, .differentTransactionCollision),
        ],
        indicated: [.hop], terminating: [.farewell])

    static func prevails(_ context: Context) -> Bool { context.isCentral }

    static func initiator(of message: Message, _ context: Context) -> ProcedureInitiator? {
        message.isOfCentral == context.isCentral ? .local : .remote
    }

    static func refusal(in message: Message) -> ProcedureRefusal<MadeUpLayer>? {
        switch message.body {
        case .refuse(let kind, let reason): .init(opcode: kind, reason: reason)
        case .unknown(let kind): .init(opcode: kind, reason: .unsupportedRemoteFeature)
        default: nil
        }
    }

    static func response(to message: Message, _ context: Context) -> ProcedureResponse<MadeUpLayer> {
        switch message.body {
        case .ask(.riddle): .unknown
        case .ask(.farewell): .reject(.unsupportedRemoteFeature)
        case .ask(let kind): .begin(Answerer(kind: kind, isOfCentral: message.isOfCentral))
        case .announce: .begin(Answerer(kind: .hop, isOfCentral: message.isOfCentral))
        case .farewell: .begin(Answerer(kind: .farewell, isOfCentral: message.isOfCentral))
        default: .unknown
        }
    }

    static func rejection(of opcode: Kind, _ reason: ErrorCode, _ context: Context) -> Message {
        Message(isOfCentral: !context.isCentral, body: .refuse(opcode, reason))
    }

    static func unknown(_ opcode: Kind, _ context: Context) -> Message? {
        Message(isOfCentral: !context.isCentral, body: .unknown(opcode))
    }

    static func apply(_ change: Change, at instant: Int?, to context: inout Context) -> (isChanged: Bool, reports: [Report]) {
        let isNew = !context.changes.contains(change)
        context.changes.append(change)
        if case .learnt(let kind) = change { return (isNew, [.learnt(kind)]) }
        return (isNew, [])
    }
}

/// The requesting device.
struct Asker: Procedure {
    typealias Layer = MadeUpLayer

    let kind: MadeUpLayer.Kind
    private(set) var isAwaitingPeer = false
    private(set) var holdsData = false

    init(_ kind: MadeUpLayer.Kind) { self.kind = kind }

    mutating func handle(_ event: ProcedureEvent<Layer>, _ context: Layer.Context) -> [ProcedureAction<Layer>]? {
        switch event {
        case .start where kind == .hop:
            return [.send(own(.announce(instant: context.now + 6), context)), .schedule(.taken(.hop), instant: context.now + 6)]
        case .start:
            isAwaitingPeer = true
            holdsData = kind == .seal
            return [.send(own(kind == .farewell ? .farewell : .ask(kind), context))]
        case .message(let message):
            guard isAwaitingPeer, case .agree(kind, let instant) = message.body else { return nil }
            isAwaitingPeer = false
            if let instant { return [.schedule(.taken(kind), instant: instant)] }
            return [.change(.learnt(kind)), .report(.done(kind, .success)), .finish]
        case .refused(let refusal):
            return isAwaitingPeer && refusal.concerns(kind) ? [.report(.done(kind, refusal.reason)), .finish] : nil
        case .instantReached: return [.report(.done(kind, .success)), .finish]
        case .acknowledged(let opcode):
            return kind == .farewell && opcode == .farewell ? [.disconnect(.connectionTerminatedByLocalHost)] : nil
        case .timedOut: return kind == .farewell ? [.disconnect(.connectionTerminatedByLocalHost)] : nil
        case .hostReplied, .acknowledgementSent: return nil
        }
    }

    private func own(_ body: MadeUpLayer.Body, _ context: Layer.Context) -> MadeUpLayer.Message {
        MadeUpLayer.Message(isOfCentral: context.isCentral, body: body)
    }
}

/// The responding device.
struct Answerer: Procedure {
    typealias Layer = MadeUpLayer

    let kind: MadeUpLayer.Kind
    let isOfCentral: Bool
    private(set) var holdsData = false
    private var hasBegun = false
    private var isAwaitingHost = false

    init(kind: MadeUpLayer.Kind, isOfCentral: Bool) {
        self.kind = kind
        self.isOfCentral = isOfCentral
    }

    mutating func handle(_ event: ProcedureEvent<Layer>, _ context: Layer.Context) -> [ProcedureAction<Layer>]? {
        switch event {
        case .message(let message): return answer(message.body, context)
        case .hostReplied(let agrees):
            guard isAwaitingHost else { return nil }
            return [
                .send(message(agrees ? .agree(kind, instant: nil) : .refuse(kind, .unacceptableConnectionParameters))), .finish,
            ]
        case .instantReached(let isChanged): return isChanged ? [.report(.done(kind, .success)), .finish] : [.finish]
        case .acknowledgementSent: return kind == .farewell ? [.disconnect(.remoteUserTerminatedConnection)] : nil
        case .start, .refused, .acknowledged, .timedOut: return nil
        }
    }

    private mutating func answer(_ body: MadeUpLayer.Body, _ context: Layer.Context) -> [ProcedureAction<Layer>]? {
        guard !hasBegun else { return nil }
        hasBegun = true
        switch (kind, body) {
        case (.colour, .ask): return [.send(message(.agree(.colour, instant: nil))), .change(.learnt(.colour)), .finish]
        case (.favour, .ask):
            isAwaitingHost = true
            return [.report(.asked(.favour))]
        case (.hop, .announce(let instant)): return [.schedule(.taken(.hop), instant: instant)]
        case (.farewell, .farewell): return []
        case (_, .ask):
            holdsData = kind == .seal
            return [
                .send(message(.agree(kind, instant: context.now + 6))), .schedule(.taken(kind), instant: context.now + 6),
            ]
        default: return nil
        }
    }

    private func message(_ body: MadeUpLayer.Body) -> MadeUpLayer.Message { MadeUpLayer.Message(isOfCentral: isOfCentral, body: body) }
}
