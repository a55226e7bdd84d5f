import BBPackets

/// Features of a hands-free unit: AT+BRSF. HFP 1.8, 4.35.1.
public struct HFPHandsFreeFeatures: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let echoCanceling = HFPHandsFreeFeatures(rawValue: 1 << 0)
    public static let threeWayCalling = HFPHandsFreeFeatures(rawValue: 1 << 1)
    public static let callerIdentification = HFPHandsFreeFeatures(rawValue: 1 << 2)
    public static let voiceRecognition = HFPHandsFreeFeatures(rawValue: 1 << 3)
    public static let remoteVolume = HFPHandsFreeFeatures(rawValue: 1 << 4)
    public static let enhancedCallStatus = HFPHandsFreeFeatures(rawValue: 1 << 5)
    public static let enhancedCallControl = HFPHandsFreeFeatures(rawValue: 1 << 6)
    public static let codecNegotiation = HFPHandsFreeFeatures(rawValue: 1 << 7)
    public static let indicators = HFPHandsFreeFeatures(rawValue: 1 << 8)
    /// eSCO settings S4.
    public static let eSCOSettingsS4 = HFPHandsFreeFeatures(rawValue: 1 << 9)
}

/// Features of an audio gateway: +BRSF. HFP 1.8, 4.35.1.
public struct HFPAudioGatewayFeatures: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let threeWayCalling = HFPAudioGatewayFeatures(rawValue: 1 << 0)
    public static let echoCanceling = HFPAudioGatewayFeatures(rawValue: 1 << 1)
    public static let voiceRecognition = HFPAudioGatewayFeatures(rawValue: 1 << 2)
    public static let inBandRing = HFPAudioGatewayFeatures(rawValue: 1 << 3)
    public static let voiceTag = HFPAudioGatewayFeatures(rawValue: 1 << 4)
    public static let rejectsCalls = HFPAudioGatewayFeatures(rawValue: 1 << 5)
    public static let enhancedCallStatus = HFPAudioGatewayFeatures(rawValue: 1 << 6)
    public static let enhancedCallControl = HFPAudioGatewayFeatures(rawValue: 1 << 7)
    public static let extendedErrors = HFPAudioGatewayFeatures(rawValue: 1 << 8)
    public static let codecNegotiation = HFPAudioGatewayFeatures(rawValue: 1 << 9)
    public static let indicators = HFPAudioGatewayFeatures(rawValue: 1 << 10)
    /// eSCO settings S4.
    public static let eSCOSettingsS4 = HFPAudioGatewayFeatures(rawValue: 1 << 11)
}

/// Codec of synchronous links. HFP 1.8, 4.11.2.
public struct HFPCodec: OpenEnum {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let cvsd: HFPCodec = 1
    public static let mSBC: HFPCodec = 2
}

/// Reason for a missing service level connection.
public enum HFPFailure: Error, Sendable, Hashable {
    /// A command was answered with an error.
    case refused(String)
    case malformed(String)
    case timedOut(String)
}

public enum HFPAction: Sendable, Hashable {
    /// Send octets on the RFCOMM connection.
    case send([UInt8])
    /// The service level connection is established. HFP 1.8, 4.2.
    case connected
    case failed(HFPFailure)
    /// An indicator of the gateway, by name.
    case indicator(String, Int)
    /// The codec of the next synchronous link is negotiated.
    case codec(HFPCodec)
    /// A command from the peer, for the user.
    case command(ATCommand)
    /// An unsolicited result.
    case result(ATResult)
    /// A command of the local user has completed.
    case finished(String, isAccepted: Bool)
}
