import BBPackets
import BBTiming
import BBTransport

/// Reason why a host operation failed. The three families have different meanings for the verdict of a run.
public enum HostError: Error, Sendable, Equatable {
    /// The caller requested something impossible.
    case misuse(Misuse)
    /// The controller or peer made an error or rejected the request.
    case peer(PeerFault)
    /// The bench itself: pipe, device, or an unanswered command.
    case environment(EnvironmentFault)

    public enum Misuse: Sendable, Equatable {
        case notStarted
        case notConnected
        /// The controller lacks a required feature.
        case unsupported(Ability)
        case tooLong(octets: Int, limit: Int)
        /// The client has not subscribed. Core Vol 3, Part G, 3.3.3.3.
        case notSubscribed(AttributeValueKind)
        /// A central changes parameters itself. Core Vol 3, Part A, 4.20.
        case onlyForPeripherals
        /// Only a central starts pairing over BR/EDR. Core Vol 3, Part H, 2.4.2.5.
        case onlyForCentrals
        /// An operation of this kind is already running.
        case busy(Activity)
        /// There is no key for the peer. Core Vol 3, Part H, 2.4.4.
        case noKey
        /// The client subscribed on a protected link, but this link is not yet encrypted. Core Vol 3, Part C, 10.3.1.1.
        case notEncrypted
        /// The client is not aware of the last change of the database. Core Vol 3, Part G, 2.5.2.1.
        case outOfSync
        /// All channel identifiers are in use, or more are requested than allowed per request. Core Vol 3, Part A, 2.1.
        case noChannelLeft
        /// MTU, MPS or credits are invalid for such a channel. Core Vol 3, Part A, 4.22 and 4.25.
        case illegalChannel
        /// RFCOMM has server channels 1...30. RFCOMM 1.2, 5.4.
        case noServerChannel(UInt8)
    }

    /// A feature that a controller may lack.
    public enum Ability: Sendable, Equatable {
        case extendedAdvertising
        case periodicAdvertising
        case scanningOnOtherPHYs
        case connectingOnOtherPHYs
        case brEDR
    }

    /// An operation that can run only once at a time.
    public enum Activity: Sendable, Equatable {
        case start
        case scanning
        case advertising
        case connecting
        case parameterRequest
        case sending
        case pairing
        case privacy
        case reconfiguration
        case inquiry
        /// The search for a periodic advertising train.
        case synchronising
        /// A connection to this server channel.
        case serialPort(UInt8)
        case profiles
    }

    /// An event that did not arrive in time.
    public enum Awaited: Sendable, Equatable {
        case connection
        case incomingConnection
        case disconnection
        /// An event of a periodic advertising train. Core Vol 6, Part B, 4.4.3.4.
        case periodicSync
        /// An HCI event, by its name in the specification.
        case event(String)
        /// The connection event after LE_Create_Connection_Cancel. Core Vol 4, Part E, 7.8.13.
        case endOfInitiating
        /// L2CAP_CONNECTION_PARAMETER_UPDATE_RSP. Core Vol 3, Part A, 4.21.
        case parameterUpdateResponse
        /// The response to an ATT request. Core Vol 3, Part F, 3.3.3.
        case attResponse
        /// ATT_HANDLE_VALUE_CFM. Core Vol 3, Part F, 3.3.3.
        case attConfirmation
        /// The next command of a pairing. Core Vol 3, Part H, 3.4.
        case pairing
        /// Encryption Change or Encryption Key Refresh Complete. Core Vol 4, Part E, 7.7.8.
        case encryption
        /// Data on an L2CAP channel.
        case sdu
        /// Octets on a serial port.
        case serialData
    }

    public enum PeerFault: Sendable, Equatable {
        /// The error code of a command, or of the event that completes it, with its name in the specification.
        case rejected(String, ErrorCode)
        /// ATT_ERROR_RSP.
        case att(request: ATTOpcode, handle: UInt16, ATTErrorCode)
        /// The central rejected a connection parameter request.
        case parametersRejected
        /// The peer did not respond within the timeout of the specification.
        case timedOut(Awaited)
        case disconnected(ErrorCode)
        /// The peer has ended the pairing. Core Vol 3, Part H, 3.5.5.
        case pairingFailed(PairingFailedReason)
        /// This device has ended the pairing, for this reason.
        case pairingRefused(PairingFailedReason)
        /// The LE pairing yielded no BR/EDR link key, for this reason. Core Vol 3, Part C, 14.1.
        case noLinkKey(KeyDerivationPolicy.Impediment)
        /// An L2CAP channel was rejected or closed.
        case channel(ChannelEnd)
        /// L2CAP_CREDIT_BASED_RECONFIGURE_RSP. Core Vol 3, Part A, 4.28.
        case notReconfigured(ReconfigurationResult)
        /// Service discovery has failed. Core Vol 3, Part B.
        case serviceDiscovery(SDPFailure)
        /// An RFCOMM connection was rejected or closed.
        case serialPort(RFCOMMEnd)
        /// A received packet is malformed.
        case malformed(Malformation)
    }

    /// The violation in a response.
    public enum Malformation: Sendable, Equatable {
        /// It cannot be decoded.
        case pdu(PDUError)
        /// Invalid PHY numbers.
        case phys(tx: UInt8, rx: UInt8)
        /// Too few or too short buffers for LE data. Core Vol 4, Part E, 7.8.2.
        case buffers(octets: Int, count: Int)
        /// A response to another request.
        case response(ATTOpcode, to: ATTOpcode)
        /// ATT_ERROR_RSP for a request that was not sent.
        case errorResponse(about: ATTOpcode, to: ATTOpcode)
        /// Discovery returned a handle before its start, or nothing.
        case searchStandsStill(from: UInt16, last: UInt16)
        /// A declaration with an invalid length, or whose group ends before it starts. Core Vol 3, Part G, 3.
        case declaration(BluetoothUUID, octets: Int)
        /// ATT_PREPARE_WRITE_RSP with other octets than the request. Core Vol 3, Part G, 4.9.5.
        case preparedValueDiffers(handle: UInt16)
        /// A characteristic with notifications or indications, but without a Client Characteristic Configuration. Core Vol 3, Part G,
        /// 3.3.3.3.
        case noClientConfiguration(characteristic: UInt16)
    }

    public enum EnvironmentFault: Sendable, Equatable {
        case transport(TransportError)
        /// No Command Complete or Command Status within the timeout.
        case commandTimeOut(opcode: UInt16)
        /// No answer after a Hardware Error event. Core Vol 4, Part E, 7.7.16.
        case controllerCrashed(code: UInt8)
        /// A timeout of the bench.
        case timedOut(Awaited)
        case closed
    }
}
