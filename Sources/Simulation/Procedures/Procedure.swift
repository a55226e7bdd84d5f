import BBPackets

/// A layer whose control procedures run in a `ProcedureEngine`: the link layer (Core Vol 6, Part B, 5) or the link manager (Core Vol 2,
/// Part C).
protocol ControlLayer {
    /// A received control PDU, decoded.
    associatedtype Message
    /// A control PDU to send.
    associatedtype PDU
    /// Identifies a PDU in a rejection or LL_UNKNOWN_RSP.
    associatedtype Opcode: Equatable
    associatedtype Kind: Hashable & Sendable
    /// The link state that procedures read and changes modify.
    associatedtype Context
    associatedtype Change
    /// An event to report to the host.
    associatedtype Report
    /// The host's reply to a report.
    associatedtype HostReply
    /// Parameters that a procedure may put into use; packets sent while it runs must already fit them.
    associatedtype Pending

    /// The procedure response timeout: 40 s in the link layer, 30 s in the link manager.
    static var responseTimeout: Microseconds { get }
    /// Incompatible procedures of this layer.
    static var collisions: CollisionTable<Kind> { get }
    /// True if the local procedure wins a collision with an incompatible one of the peer.
    static func prevails(_ context: Context) -> Bool
    /// Initiator of the transaction that a PDU belongs to, if the PDU carries it, as the LMP transaction ID does; nil otherwise.
    static func initiator(of message: Message, _ context: Context) -> ProcedureInitiator?
    /// The rejection that a PDU carries (LL_UNKNOWN_RSP, LL_REJECT_IND, LMP_not_accepted ...); nil for other PDUs.
    static func refusal(in message: Message) -> ProcedureRefusal<Self>?
    /// Response to a PDU that no running procedure awaits.
    static func response(to message: Message, _ context: Context) -> ProcedureResponse<Self>
    /// The PDU that rejects another.
    static func rejection(of opcode: Opcode, _ reason: ErrorCode, _ context: Context) -> PDU
    /// The PDU that reports an unknown opcode; nil if the PDU is itself a response, so that two confused devices do not answer each other
    /// forever.
    static func unknown(_ opcode: Opcode, _ context: Context) -> PDU?
    /// Applies a change.
    ///
    /// - Parameter instant: the instant that the change waited for; nil if it needed none.
    /// - Returns: true if the link state differs from before, and the reports for the host.
    static func apply(_ change: Change, at instant: Int?, to context: inout Context) -> (isChanged: Bool, reports: [Report])
}

enum ProcedureInitiator {
    /// The local device.
    case local
    /// The peer.
    case remote
}

struct ProcedureRefusal<Layer: ControlLayer> {
    /// The rejected PDU, if the rejection names it.
    var opcode: Layer.Opcode?
    var reason: ErrorCode

    /// True if the rejection may concern the PDU with this opcode.
    func concerns(_ opcode: Layer.Opcode) -> Bool { self.opcode.map { $0 == opcode } ?? true }
}

enum ProcedureResponse<Layer: ControlLayer> {
    /// Starts a procedure of the peer, whose first event is the PDU.
    case begin(any Procedure<Layer>)
    case reject(ErrorCode)
    case unknown
}

/// Input of a procedure.
enum ProcedureEvent<Layer: ControlLayer> {
    /// The local procedure may start.
    case start
    /// A PDU from the peer.
    case message(Layer.Message)
    /// The peer rejected a PDU or did not know it.
    case refused(ProcedureRefusal<Layer>)
    case hostReplied(Layer.HostReply)
    /// A change that the procedure scheduled has been applied.
    case instantReached(isChanged: Bool)
    /// The peer has acknowledged a PDU.
    case acknowledged(Layer.Opcode)
    /// A packet was sent that acknowledges everything received so far.
    case acknowledgementSent
    /// The procedure response timeout has expired.
    case timedOut
}

/// Output of a procedure; the actions are executed in order.
enum ProcedureAction<Layer: ControlLayer> {
    case send(Layer.PDU)
    /// Sends a PDU that names an instant, and schedules the change for it. The instant is postponed if the PDU is sent late.
    case announce(Layer.PDU, Layer.Change, instant: Int)
    /// Schedules a change for an instant.
    case schedule(Layer.Change, instant: Int)
    /// Applies a change now.
    case change(Layer.Change)
    case report(Layer.Report)
    /// Replaces this procedure with another, which starts at once.
    case continueWith(any Procedure<Layer>)
    /// Ends the procedure.
    case finish
    /// Ends the link.
    case disconnect(ErrorCode)
}

/// The local or the remote half of a control procedure: a state machine whose states are named after what they await.
protocol Procedure<Layer> {
    associatedtype Layer: ControlLayer

    var kind: Layer.Kind { get }
    /// True while it waits for the peer.
    var isAwaitingPeer: Bool { get }
    /// True while no data PDU may be sent, as while encryption starts or pauses. Core Vol 6, Part B, 5.1.3.
    var holdsData: Bool { get }
    /// Error code with which the link ends if data or a PDU that the procedure does not await arrives; nil if both are allowed.
    var violation: ErrorCode? { get }
    /// Parameters that the procedure may put into use.
    var pendingParameters: Layer.Pending? { get }
    /// Response timeout for the PDU now awaited.
    func timeout(_ context: Layer.Context) -> Microseconds
    /// Handles an event; nil if the procedure does not await it in its current state.
    mutating func handle(_ event: ProcedureEvent<Layer>, _ context: Layer.Context) -> [ProcedureAction<Layer>]?
}

extension Procedure {
    var isAwaitingPeer: Bool { false }
    var holdsData: Bool { false }
    var violation: ErrorCode? { nil }
    var pendingParameters: Layer.Pending? { nil }
    func timeout(_ context: Layer.Context) -> Microseconds { Layer.responseTimeout }
}
