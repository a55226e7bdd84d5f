import Packets

/// A layer whose control procedures a `ProcedureEngine` runs: link layer control, and the link manager. Core Vol 6, Part B, 5; Vol 2, Part C.
protocol ControlLayer {
    /// A control PDU that arrived, decoded.
    associatedtype Message
    /// A control PDU to send.
    associatedtype PDU
    /// What a refusal or LL_UNKNOWN_RSP names a PDU by.
    associatedtype Opcode: Equatable
    associatedtype Kind: Hashable & Sendable
    /// The state of the link, which procedures read and changes alter.
    associatedtype Context
    associatedtype Change
    /// News for the host.
    associatedtype Report
    /// What a host replies to a report.
    associatedtype HostReply
    /// What a procedure may bring into use, and what is sent while it runs has to suit already.
    associatedtype Pending

    /// The procedure response time-out: 40 s in the link layer, 30 s in the link manager.
    static var responseTimeout: Microseconds { get }
    /// Which procedures may not run beside each other.
    static var collisions: CollisionTable<Kind> { get }
    /// Whether this side's procedure prevails where two meet.
    static func prevails(_ context: Context) -> Bool
    /// Who began the transaction that a PDU belongs to, where the PDU says so, as the transaction ID of LMP does.
    static func initiator(of message: Message, _ context: Context) -> ProcedureInitiator?
    /// The refusal that a PDU is: LL_UNKNOWN_RSP, LL_REJECT_IND, LMP_not_accepted ...
    static func refusal(in message: Message) -> ProcedureRefusal<Self>?
    /// What a PDU that no running procedure awaits begins.
    static func response(to message: Message, _ context: Context) -> ProcedureResponse<Self>
    /// The PDU that refuses another.
    static func rejection(of opcode: Opcode, _ reason: ErrorCode, _ context: Context) -> PDU
    /// The PDU that says that another is unknown; nil where it is an answer itself, lest two confused sides never come to rest.
    static func unknown(_ opcode: Opcode, _ context: Context) -> PDU?
    /// Makes a change.
    ///
    /// - Parameter instant: where the change waited for one.
    /// - Returns: whether anything differs from before, and what the host is to hear of it.
    static func apply(_ change: Change, at instant: Int?, to context: inout Context) -> (isChanged: Bool, reports: [Report])
}

enum ProcedureInitiator {
    /// This side.
    case local
    /// The other side.
    case remote
}

struct ProcedureRefusal<Layer: ControlLayer> {
    /// The PDU refused, where that is told.
    var opcode: Layer.Opcode?
    var reason: ErrorCode

    /// Whether it may mean the PDU with this opcode.
    func concerns(_ opcode: Layer.Opcode) -> Bool { self.opcode.map { $0 == opcode } ?? true }
}

enum ProcedureResponse<Layer: ControlLayer> {
    /// The other side's procedure, which takes the PDU first of all.
    case begin(any Procedure<Layer>)
    case reject(ErrorCode)
    case unknown
}

/// What happens to a procedure.
enum ProcedureEvent<Layer: ControlLayer> {
    /// A procedure of this side may speak.
    case start
    /// A PDU of the other side.
    case message(Layer.Message)
    /// The other side refused a PDU, or did not know it.
    case refused(ProcedureRefusal<Layer>)
    case hostReplied(Layer.HostReply)
    /// A change that the procedure scheduled has been made.
    case instantReached(isChanged: Bool)
    /// The other side has acknowledged a PDU.
    case acknowledged(Layer.Opcode)
    /// A packet was sent that acknowledges all that the other side has sent.
    case acknowledgementSent
    /// The other side has not answered in time.
    case timedOut
}

/// What a procedure wants done, in order.
enum ProcedureAction<Layer: ControlLayer> {
    case send(Layer.PDU)
    /// Make a change at an instant.
    case schedule(Layer.Change, instant: Int)
    /// Make a change now.
    case change(Layer.Change)
    case report(Layer.Report)
    /// Another procedure takes its place, and starts.
    case continueWith(any Procedure<Layer>)
    /// The procedure is over.
    case finish
    /// The link is over.
    case disconnect(ErrorCode)
}

/// One side of a control procedure: a machine whose states say what it awaits.
protocol Procedure<Layer> {
    associatedtype Layer: ControlLayer

    var kind: Layer.Kind { get }
    /// Whether it waits for the other side.
    var isAwaitingPeer: Bool { get }
    /// Whether no data PDU may be sent meanwhile, as when encryption starts or pauses. Core Vol 6, Part B, 5.1.3.
    var holdsData: Bool { get }
    /// Why the link ends when data comes, or a PDU that the procedure does not await; nil where it may come.
    var violation: ErrorCode? { get }
    /// What it may bring into use.
    var pendingParameters: Layer.Pending? { get }
    /// How long the other side has for what is awaited.
    func timeout(_ context: Layer.Context) -> Microseconds
    /// Takes an event; nil when the procedure does not await it in this state.
    mutating func handle(_ event: ProcedureEvent<Layer>, _ context: Layer.Context) -> [ProcedureAction<Layer>]?
}

extension Procedure {
    var isAwaitingPeer: Bool { false }
    var holdsData: Bool { false }
    var violation: ErrorCode? { nil }
    var pendingParameters: Layer.Pending? { nil }
    func timeout(_ context: Layer.Context) -> Microseconds { Layer.responseTimeout }
}
