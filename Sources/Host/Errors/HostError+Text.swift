import BBPackets

// Texts of the errors for display; only defined here.

extension HostError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .misuse(let misuse): misuse.description
        case .peer(let fault): fault.description
        case .environment(let fault): fault.description
        }
    }
}

extension HostError.Misuse: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notStarted: "the host has not been started"
        case .notConnected: "there is no such connection"
        case .unsupported(let ability): "the controller does not support \(ability)"
        case .tooLong(let octets, let limit): "\(octets) octets, the limit is \(limit)"
        case .notSubscribed(.notification): "the client has not asked for notifications"
        case .notSubscribed(.indication): "the client has not asked for indications"
        case .onlyForPeripherals: "only a peripheral asks for parameters over L2CAP"
        case .onlyForCentrals: "only a central derives the keys of LE over BR/EDR"
        case .busy(let activity): "\(activity) is already under way"
        case .noKey: "there is no key for the peer"
        case .notEncrypted: "the link is not encrypted as the client's subscription demands"
        case .outOfSync: "the client does not know of the last change of the database"
        case .noChannelLeft: "not enough L2CAP channel identifiers are left"
        case .noServerChannel(let channel): "RFCOMM has no server channel \(channel), but 1...30"
        case .illegalChannel: "no credit-based channel has such an MTU, MPS or number of credits (Core Vol 3, Part A, 4.22)"
        }
    }
}

extension HostError.Ability: CustomStringConvertible {
    public var description: String {
        switch self {
        case .extendedAdvertising: "extended advertising"
        case .periodicAdvertising: "periodic advertising"
        case .scanningOnOtherPHYs: "scanning on other PHYs than 1M"
        case .brEDR: "BR/EDR"
        case .connectingOnOtherPHYs: "connecting on other PHYs than 1M"
        }
    }
}

extension HostError.Activity: CustomStringConvertible {
    public var description: String {
        switch self {
        case .start: "start"
        case .scanning: "scanning"
        case .advertising: "advertising"
        case .connecting: "connecting"
        case .parameterRequest: "a parameter request"
        case .sending: "sending"
        case .pairing: "pairing"
        case .privacy: "privacy"
        case .inquiry: "an inquiry"
        case .synchronising: "the search for a train"
        case .reconfiguration: "a reconfiguration of channels"
        case .profiles: "setting profiles up"
        case .serialPort(let channel): "a connection to server channel \(channel)"
        }
    }
}

extension HostError.Awaited: CustomStringConvertible {
    public var description: String {
        switch self {
        case .connection: "connection"
        case .incomingConnection: "an incoming connection"
        case .disconnection: "disconnection"
        case .periodicSync: "an event of the periodic advertising train"
        case .event(let name): name
        case .endOfInitiating: "LE_Connection_Complete after LE_Create_Connection_Cancel"
        case .parameterUpdateResponse: L2CAPSignaling.ConnectionParameterUpdateRsp.name
        case .attResponse: "ATT transaction, 30 s (Core Vol 3, Part F, 3.3.3)"
        case .attConfirmation: "ATT_HANDLE_VALUE_CFM, 30 s (Core Vol 3, Part F, 3.3.3)"
        case .pairing: "pairing, 30 s (Core Vol 3, Part H, 3.4)"
        case .encryption: "the end of the encryption procedure"
        case .sdu: "data on an L2CAP channel"
        case .serialData: "octets on a serial port"
        }
    }
}

extension HostError.PeerFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .rejected(let what, let code): "\(what) ended with \(code)"
        case .att(let request, let handle, let code):
            "\(request) on handle \(Hex.number(handle)) answered with \(code)"
        case .parametersRejected: "the central rejected the connection parameters"
        case .timedOut(let awaited): "no answer from the peer: \(awaited)"
        case .disconnected(let reason): "disconnected: \(reason)"
        case .pairingFailed(let reason): "the peer ended the pairing: \(reason)"
        case .pairingRefused(let reason): "pairing ended by this side: \(reason)"
        case .noLinkKey(let impediment): "the pairing over LE gives no link key for BR/EDR: \(impediment.text)"
        case .channel(let end): "the L2CAP channel \(end)"
        case .notReconfigured(let result): "the peer did not take the channels' new limits: \(result)"
        case .serviceDiscovery(let failure): "service discovery: \(failure.text)"
        case .serialPort(let end): "the serial port \(end.text)"
        case .malformed(let malformation): "malformed: \(malformation)"
        }
    }
}

extension KeyDerivationPolicy.Impediment {
    fileprivate var text: String {
        switch self {
        case .notAgreed: "the peer does not offer one (LinkKey in its key distribution, Core Vol 3, Part H, 3.6.1)"
        case .notSecureConnections: "that takes Secure Connections"
        case .notAESCCM: "the link is not encrypted with AES-CCM"
        case .tooShort: "the key is too short"
        case .noPublicIdentity: "one of the two has no public address"
        case .weaker: "the key that is there is worth more"
        }
    }
}

extension ChannelEnd: CustomStringConvertible {
    public var description: String {
        switch self {
        case .byPeer: "was ended by the peer"
        case .byThisSide: "was ended by this side"
        case .refused(let result): "was refused: \(result)"
        case .creditBasedRefused(let result): "was refused: \(result)"
        case .rejected(let reason): "was not understood by the peer: \(reason)"
        case .timedOut: "timed out"
        case .notConfigured(let result): "could not be configured: \(result)"
        case .violated: "was ended because the peer broke its rules"
        case .creditBasedViolated(let fault): "was ended because the peer broke its rules: \(fault)"
        }
    }
}

extension SDPFailure {
    fileprivate var text: String {
        switch self {
        case .refused(let code): "the server refused with \(Hex.number(code.rawValue))"
        case .malformed: "the response cannot be read"
        case .endless: "the response does not end"
        case .timedOut: "the server did not answer"
        }
    }
}

extension RFCOMMEnd {
    fileprivate var text: String {
        switch self {
        case .local: "was closed by this side"
        case .remote: "was closed by the peer"
        case .refused: "was refused"
        case .timedOut: "timed out"
        case .violation: "was closed because the peer broke RFCOMM's rules"
        }
    }
}

extension HostError.Malformation: CustomStringConvertible {
    public var description: String {
        switch self {
        case .pdu(let error): error.description
        case .phys(let tx, let rx): "LE_Read_PHY: PHYs \(tx) and \(rx)"
        case .buffers(let octets, let count): "LE_Read_Buffer_Size: \(count) buffers of \(octets) octets; at least one of 27 is needed"
        case .response(let response, let request): "\(response) as the response to \(request)"
        case .errorResponse(let about, let request):
            "ATT_ERROR_RSP about \(about) as the response to \(request)"
        case .searchStandsStill(let start, let last): "handle \(Hex.number(last)) in a search from \(Hex.number(start))"
        case .declaration(let type, let octets): "declaration \(type) of \(octets) octets"
        case .preparedValueDiffers(let handle):
            "ATT_PREPARE_WRITE_RSP for handle \(Hex.number(handle)) differs from the request (Core Vol 3, Part G, 4.9.5)"
        case .noClientConfiguration(let characteristic):
            "characteristic \(Hex.number(characteristic)) has no Client Characteristic Configuration (Core Vol 3, Part G, 3.3.3.3)"
        }
    }
}

extension HostError.EnvironmentFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .transport(let error): error.description
        case .commandTimeOut(let opcode): "the controller did not answer command \(Hex.number(opcode))"
        case .controllerCrashed(let code): "the controller has told of a hardware error (\(Hex.number(code))) and does not answer any more"
        case .timedOut(let awaited): "timed out: \(awaited)"
        case .closed: "the host was closed"
        }
    }
}
