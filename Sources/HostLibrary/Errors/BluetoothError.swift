import BBHost
public import BBPackets
import BBTiming
import BBTransport

/// Reason why an operation failed.
///
/// `origin` separates a mistake of the program, a fault or refusal of the peer, and a fault of the surroundings, such as a dongle that was
/// unplugged. A test of a device should fail for the second only.
public struct BluetoothError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The end that is responsible for an error.
    public enum Origin: Sendable, Hashable {
        /// The program requested something impossible.
        case caller
        /// The peer or the controller made an error, refused, or did not answer in the time that the specification allows.
        case peer
        /// The device or the bench: no such dongle, a pipe that ended, a time limit of the program.
        case environment
    }

    /// The error in the terms of the specification, as far as it has any.
    public enum Reason: Sendable, Equatable {
        /// ATT_ERROR_RSP. Core Vol 3, Part F, 3.4.1.1.
        case att(ATTErrorCode, handle: UInt16)
        /// The connection has ended. Core Vol 4, Part E, 7.7.5.
        case disconnected(ErrorCode)
        /// The controller or the peer refused a procedure. Core Vol 1, Part F.
        case rejected(ErrorCode)
        /// Pairing_Failed from either device. Core Vol 3, Part H, 3.5.5.
        case pairingFailed
        /// An L2CAP channel was refused or closed. Core Vol 3, Part A, 4.23.
        case channelClosed
        /// A packet of the peer could not be read.
        case malformed
        /// No answer within the limit.
        case timedOut
        /// The peer has no such service, characteristic or descriptor.
        case notFound
        /// Anything else; `description` says what.
        case other
    }

    public let origin: Origin
    public let reason: Reason
    /// The error in one sentence.
    public let description: String

    init(_ origin: Origin, _ reason: Reason = .other, _ description: String) {
        (self.origin, self.reason, self.description) = (origin, reason, description)
    }

    init(_ error: HostError) {
        switch error {
        case .misuse: self.init(.caller, .other, error.description)
        case .peer(let fault): self.init(.peer, Self.reason(of: fault), error.description)
        case .environment(.timedOut): self.init(.environment, .timedOut, error.description)
        case .environment(.commandTimeOut): self.init(.environment, .timedOut, error.description)
        case .environment: self.init(.environment, .other, error.description)
        }
    }

    private static func reason(of fault: HostError.PeerFault) -> Reason {
        switch fault {
        case .att(_, let handle, let code): .att(code, handle: handle)
        case .disconnected(let code): .disconnected(code)
        case .rejected(_, let code): .rejected(code)
        case .pairingFailed, .pairingRefused: .pairingFailed
        case .channel: .channelClosed
        case .malformed: .malformed
        case .timedOut: .timedOut
        case .parametersRejected, .noLinkKey, .notReconfigured, .serviceDiscovery, .serialPort: .other
        }
    }

    /// Runs a body of the rooms below and throws their errors as errors of the library. A cancellation stays one.
    static func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw translated(error) }
    }

    static func translated(_ error: any Error) -> any Error {
        switch error {
        case let error as HostError: BluetoothError(error)
        case let error as TransportError: BluetoothError(.environment, .other, error.description)
        case let error as RunLoopError: BluetoothError(.caller, .other, error.description)
        case let error as SelectorError: BluetoothError(.caller, .other, error.description)
        case let error as BondFileError: BluetoothError(.environment, .other, "\(error)")
        case let error as TimeOut: BluetoothError(.environment, .timedOut, error.description)
        default: error
        }
    }
}

/// An answer of a server to a client's request: thrown by the handlers of a `LocalCharacteristic`. Core Vol 3, Part F, 3.4.1.1.
///
///     throw ATTRefusal(.invalidAttributeValueLength)
public struct ATTRefusal: Error, Sendable, Hashable {
    public let code: ATTErrorCode

    public init(_ code: ATTErrorCode) { self.code = code }
}
