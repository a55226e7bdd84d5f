import Packets
import Timing
import Transport

/// Why something the host was asked to do did not happen. The three families mean three different things to whoever judges a run.
public enum HostError: Error, Sendable, Equatable {
    /// The caller asked for what cannot be done.
    case misuse(Misuse)
    /// The other side, a controller or a peer, did something wrong or said no.
    case peer(PeerFault)
    /// The bench itself: the pipe, the device, a command nobody answered.
    case environment(EnvironmentFault)

    public enum Misuse: Sendable, Equatable {
        case notStarted
        case notConnected
        /// The controller lacks what this needs.
        case unsupported(String)
        case tooLong(octets: Int, limit: Int)
        case invalid(String)
        /// Something of the kind is already going on.
        case busy(String)
    }

    public enum PeerFault: Sendable, Equatable {
        /// A command or the event that ends it carried an error.
        case rejected(String, ErrorCode)
        /// ATT_ERROR_RSP: the request's opcode and handle, and the code.
        case att(request: UInt8, handle: UInt16, ATTErrorCode)
        /// A connection parameter request was turned down by the central.
        case parametersRejected
        /// The peer did not answer in the time that the specification gives it.
        case timedOut(String)
        case disconnected(ErrorCode)
        /// An answer that is not what its name says; the text names the section or field.
        case malformed(String)
    }

    public enum EnvironmentFault: Sendable, Equatable {
        case transport(TransportError)
        /// No Command Complete or Command Status within the limit.
        case commandTimeOut(opcode: UInt16)
        /// The bench's own limit for a wait.
        case timedOut(String)
        case closed
    }
}

extension HostError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .misuse(.notStarted): "the host has not been started"
        case .misuse(.notConnected): "there is no such connection"
        case .misuse(.unsupported(let what)): "the controller does not support \(what)"
        case .misuse(.tooLong(let octets, let limit)): "\(octets) octets, the limit is \(limit)"
        case .misuse(.invalid(let what)): "\(what)"
        case .misuse(.busy(let what)): "\(what) is already under way"
        case .peer(.rejected(let what, let code)): "\(what) ended with \(code)"
        case .peer(.att(let request, let handle, let code)):
            "ATT request 0x\(String(request, radix: 16)) on handle 0x\(String(handle, radix: 16)) answered with \(code)"
        case .peer(.parametersRejected): "the central rejected the connection parameters"
        case .peer(.timedOut(let what)): "no answer from the peer: \(what)"
        case .peer(.disconnected(let reason)): "disconnected: \(reason)"
        case .peer(.malformed(let what)): "malformed: \(what)"
        case .environment(.transport(let error)): error.description
        case .environment(.commandTimeOut(let opcode)): "the controller did not answer command 0x\(String(opcode, radix: 16))"
        case .environment(.timedOut(let what)): "timed out: \(what)"
        case .environment(.closed): "the host was closed"
        }
    }
}
