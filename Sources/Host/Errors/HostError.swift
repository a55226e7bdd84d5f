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
        case unsupported(Ability)
        case tooLong(octets: Int, limit: Int)
        /// The client has not asked for such values. Core Vol 3, Part G, 3.3.3.3.
        case notSubscribed(AttributeValueKind)
        /// A central changes parameters itself. Core Vol 3, Part A, 4.20.
        case onlyForPeripherals
        /// A central begins pairing over BR/EDR. Core Vol 3, Part H, 2.4.2.5.
        case onlyForCentrals
        /// Something of the kind is already going on.
        case busy(Activity)
        /// There is no key for the peer. Core Vol 3, Part H, 2.4.4.
        case noKey
        /// The client asked for values on a link that was protected; this one is not yet. Core Vol 3, Part C, 10.3.1.1.
        case notEncrypted
        /// The client has not seen the last change of the database. Core Vol 3, Part G, 2.5.2.1.
        case outOfSync
        /// Every identifier of channels is in use, or more are asked for than one request may. Core Vol 3, Part A, 2.1.
        case noChannelLeft
        /// MTU, MPS or credits that such a channel cannot have. Core Vol 3, Part A, 4.22 and 4.25.
        case illegalChannel
        /// RFCOMM has server channels 1...30. RFCOMM 1.2, 5.4.
        case noServerChannel(UInt8)
    }

    /// What a controller may lack.
    public enum Ability: Sendable, Equatable {
        case extendedAdvertising
        case scanningOnOtherPHYs
        case connectingOnOtherPHYs
        case brEDR
    }

    /// What goes on only once at a time.
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
        /// A connection to that server channel.
        case serialPort(UInt8)
        case profiles
    }

    /// What did not come in time.
    public enum Awaited: Sendable, Equatable {
        case connection
        case incomingConnection
        case disconnection
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
        /// A command, or the event that ends it, carried an error: the name in the specification, and the code.
        case rejected(String, ErrorCode)
        /// ATT_ERROR_RSP.
        case att(request: ATTOpcode, handle: UInt16, ATTErrorCode)
        /// A connection parameter request was turned down by the central.
        case parametersRejected
        /// The peer did not answer in the time that the specification gives it.
        case timedOut(Awaited)
        case disconnected(ErrorCode)
        /// The peer has ended the pairing. Core Vol 3, Part H, 3.5.5.
        case pairingFailed(PairingFailedReason)
        /// This side has ended the pairing, and for which reason.
        case pairingRefused(PairingFailedReason)
        /// The pairing over LE gave no link key for BR/EDR, and why not. Core Vol 3, Part C, 14.1.
        case noLinkKey(KeyDerivationPolicy.Impediment)
        /// An L2CAP channel was refused, or is no more.
        case channel(ChannelEnd)
        /// L2CAP_CREDIT_BASED_RECONFIGURE_RSP. Core Vol 3, Part A, 4.28.
        case notReconfigured(ReconfigurationResult)
        /// Service discovery came to nothing. Core Vol 3, Part B.
        case serviceDiscovery(SDPFailure)
        /// A connection of RFCOMM was refused, or is no more.
        case serialPort(RFCOMMEnd)
        /// What came is not what its name says.
        case malformed(Malformation)
    }

    /// How an answer breaks the rules.
    public enum Malformation: Sendable, Equatable {
        /// It cannot be read.
        case pdu(PDUError)
        /// PHY numbers that do not exist.
        case phys(tx: UInt8, rx: UInt8)
        /// Too few or too short buffers for LE data. Core Vol 4, Part E, 7.8.2.
        case buffers(octets: Int, count: Int)
        /// A response that belongs to another request.
        case response(ATTOpcode, to: ATTOpcode)
        /// ATT_ERROR_RSP about a request that was not sent.
        case errorResponse(about: ATTOpcode, to: ATTOpcode)
        /// A search came to a handle before the one it started from, or to nothing.
        case searchStandsStill(from: UInt16, last: UInt16)
        /// A declaration whose value has no such length, or whose group ends before it begins. Core Vol 3, Part G, 3.
        case declaration(BluetoothUUID, octets: Int)
        /// ATT_PREPARE_WRITE_RSP with other octets than the request's. Core Vol 3, Part G, 4.9.5.
        case preparedValueDiffers(handle: UInt16)
        /// A characteristic that notifies or indicates without a Client Characteristic Configuration. Core Vol 3, Part G, 3.3.3.3.
        case noClientConfiguration(characteristic: UInt16)
    }

    public enum EnvironmentFault: Sendable, Equatable {
        case transport(TransportError)
        /// No Command Complete or Command Status within the limit.
        case commandTimeOut(opcode: UInt16)
        /// The same after a Hardware Error event. Core Vol 4, Part E, 7.7.16.
        case controllerCrashed(code: UInt8)
        /// The bench's own limit for a wait.
        case timedOut(Awaited)
        case closed
    }
}
