import Packets

/// Signal identifiers. AVDTP 1.3, 8.5.
public enum AVDTPSignal: UInt8, Sendable, Hashable, CaseIterable {
    case discover = 0x01
    case getCapabilities, setConfiguration, getConfiguration, reconfigure, open, start, close, suspend, abort
    case securityControl, getAllCapabilities, delayReport
}

/// Reason for rejecting a command. AVDTP 1.3, 8.20.6; A2DP 1.3, 5.1.3 from 0xC1 on.
public struct AVDTPErrorCode: OpenEnum, Error {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let badLength: AVDTPErrorCode = 0x11
    public static let badEndpoint: AVDTPErrorCode = 0x12
    public static let endpointInUse: AVDTPErrorCode = 0x13
    public static let endpointNotInUse: AVDTPErrorCode = 0x14
    public static let badServiceCategory: AVDTPErrorCode = 0x17
    public static let badPayloadFormat: AVDTPErrorCode = 0x18
    public static let notSupportedCommand: AVDTPErrorCode = 0x19
    public static let invalidCapabilities: AVDTPErrorCode = 0x1A
    public static let unsupportedConfiguration: AVDTPErrorCode = 0x29
    public static let badState: AVDTPErrorCode = 0x31
    public static let invalidCodecType: AVDTPErrorCode = 0xC1
    public static let invalidSamplingFrequency: AVDTPErrorCode = 0xC3
    public static let notSupportedSamplingFrequency: AVDTPErrorCode = 0xC4
    public static let invalidChannelMode: AVDTPErrorCode = 0xC5
    public static let notSupportedChannelMode: AVDTPErrorCode = 0xC6
    public static let invalidSubbands: AVDTPErrorCode = 0xC7
    public static let notSupportedSubbands: AVDTPErrorCode = 0xC8
    public static let invalidAllocationMethod: AVDTPErrorCode = 0xC9
    public static let notSupportedAllocationMethod: AVDTPErrorCode = 0xCA
    public static let invalidMinimumBitpool: AVDTPErrorCode = 0xCB
    public static let notSupportedMinimumBitpool: AVDTPErrorCode = 0xCC
    public static let invalidMaximumBitpool: AVDTPErrorCode = 0xCD
    public static let notSupportedMaximumBitpool: AVDTPErrorCode = 0xCE
    public static let invalidBlockLength: AVDTPErrorCode = 0xDD
}

/// A service category. AVDTP 1.3, 8.21.
public struct AVDTPCategory: OpenEnum {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let mediaTransport: AVDTPCategory = 1
    public static let reporting: AVDTPCategory = 2
    public static let recovery: AVDTPCategory = 3
    public static let contentProtection: AVDTPCategory = 4
    public static let headerCompression: AVDTPCategory = 5
    public static let multiplexing: AVDTPCategory = 6
    public static let mediaCodec: AVDTPCategory = 7
    public static let delayReporting: AVDTPCategory = 8

    /// Categories of AVDTP 1.2, which Get Capabilities is limited to. AVDTP 1.3, 8.7.
    var isBasic: Bool { (1...7).contains(rawValue) }
    var isKnown: Bool { (1...8).contains(rawValue) }
    /// Categories that Reconfigure may change. AVDTP 1.3, 8.11.
    var isOfApplication: Bool { self == .mediaCodec || self == .contentProtection }
}

/// A service capability, or its configured value: a category and its octets. AVDTP 1.3, 8.21.
public struct AVDTPCapability: Sendable, Hashable {
    public var category: AVDTPCategory
    public var octets: [UInt8]

    public init(_ category: AVDTPCategory, _ octets: [UInt8] = []) { (self.category, self.octets) = (category, octets) }

    /// Audio with a codec. AVDTP 1.3, 8.21.5.
    public static func audioCodec(_ type: UInt8, _ information: [UInt8]) -> AVDTPCapability {
        AVDTPCapability(.mediaCodec, [0, type] + information)
    }

    public static func sbc(_ capabilities: SBCCapabilities) -> AVDTPCapability {
        audioCodec(SBCCapabilities.codecType, capabilities.octets)
    }

    /// The SBC information elements, if the codec is SBC.
    public var sbc: SBCCapabilities? {
        guard category == .mediaCodec, octets.count == 2 + SBCCapabilities.octetCount, octets[0] >> 4 == 0,
            octets[1] == SBCCapabilities.codecType
        else { return nil }
        return SBCCapabilities(Array(octets.dropFirst(2)))
    }

    static func octets(_ capabilities: [AVDTPCapability]) -> [UInt8] {
        capabilities.flatMap { [$0.category.rawValue, UInt8(truncatingIfNeeded: $0.octets.count)] + $0.octets.prefix(255) }
    }

    static func list(_ reader: inout ByteReader) throws(PDUError) -> [AVDTPCapability] {
        var list: [AVDTPCapability] = []
        while reader.remaining > 0 {
            let category = AVDTPCategory(try reader.u8("Service Category"))
            let length = Int(try reader.u8("Length Of Service Capability"))
            list.append(AVDTPCapability(category, try reader.bytes(length, "Service Capability")))
        }
        return list
    }
}

/// Information about a stream end point in the response to Discover. AVDTP 1.3, 8.6.2.
public struct AVDTPEndpointInformation: Sendable, Hashable {
    /// 1...62.
    public var seid: UInt8
    public var isInUse: Bool
    /// 0: audio.
    public var mediaType: UInt8
    public var isSink: Bool

    public init(seid: UInt8, isInUse: Bool = false, mediaType: UInt8 = 0, isSink: Bool) {
        (self.seid, self.isInUse, self.mediaType, self.isSink) = (seid, isInUse, mediaType, isSink)
    }

    var octets: [UInt8] { [seid << 2 | (isInUse ? 2 : 0), mediaType << 4 | (isSink ? 8 : 0)] }
}

/// A command with its parameters. AVDTP 1.3, 8.6 to 8.19.
public enum AVDTPCommand: Sendable, Hashable {
    case discover
    case getCapabilities(UInt8)
    case getAllCapabilities(UInt8)
    /// SEIDs of acceptor and initiator, and the configuration.
    case setConfiguration(acceptor: UInt8, initiator: UInt8, [AVDTPCapability])
    case getConfiguration(UInt8)
    case reconfigure(UInt8, [AVDTPCapability])
    case open(UInt8)
    case start([UInt8])
    case close(UInt8)
    case suspend([UInt8])
    case abort(UInt8)
    case securityControl(UInt8, [UInt8])
    /// Delay in units of 0.1 ms.
    case delayReport(UInt8, UInt16)

    public var signal: AVDTPSignal {
        switch self {
        case .discover: .discover
        case .getCapabilities: .getCapabilities
        case .getAllCapabilities: .getAllCapabilities
        case .setConfiguration: .setConfiguration
        case .getConfiguration: .getConfiguration
        case .reconfigure: .reconfigure
        case .open: .open
        case .start: .start
        case .close: .close
        case .suspend: .suspend
        case .abort: .abort
        case .securityControl: .securityControl
        case .delayReport: .delayReport
        }
    }

    public var payload: [UInt8] {
        switch self {
        case .discover: []
        case .getCapabilities(let seid), .getAllCapabilities(let seid), .getConfiguration(let seid), .open(let seid), .close(let seid),
            .abort(let seid):
            [seid << 2]
        case .setConfiguration(let acceptor, let initiator, let list): [acceptor << 2, initiator << 2] + AVDTPCapability.octets(list)
        case .reconfigure(let seid, let list): [seid << 2] + AVDTPCapability.octets(list)
        case .start(let seids), .suspend(let seids): seids.map { $0 << 2 }
        case .securityControl(let seid, let octets): [seid << 2] + octets
        case .delayReport(let seid, let delay): [seid << 2, UInt8(delay >> 8), UInt8(delay & 0xFF)]
        }
    }

    /// Parses the parameters; trailing octets are an error.
    public init(_ signal: AVDTPSignal, _ payload: [UInt8]) throws(AVDTPErrorCode) {
        var reader = ByteReader(payload.span.bytes)
        do throws(PDUError) {
            switch signal {
            case .discover: self = .discover
            case .getCapabilities: self = .getCapabilities(try reader.seid())
            case .getAllCapabilities: self = .getAllCapabilities(try reader.seid())
            case .setConfiguration:
                let acceptor = try reader.seid()
                self = .setConfiguration(acceptor: acceptor, initiator: try reader.seid(), try AVDTPCapability.list(&reader))
            case .getConfiguration: self = .getConfiguration(try reader.seid())
            case .reconfigure: self = .reconfigure(try reader.seid(), try AVDTPCapability.list(&reader))
            case .open: self = .open(try reader.seid())
            case .start: self = .start(try reader.seids())
            case .close: self = .close(try reader.seid())
            case .suspend: self = .suspend(try reader.seids())
            case .abort: self = .abort(try reader.seid())
            case .securityControl: self = .securityControl(try reader.seid(), reader.rest())
            case .delayReport: self = .delayReport(try reader.seid(), try reader.u16be("Delay"))
            }
        } catch { throw .badLength }
        guard reader.remaining == 0 else { throw .badLength }
    }
}

/// The response to a command.
public enum AVDTPResponse: Sendable, Hashable {
    case accepted
    case endpoints([AVDTPEndpointInformation])
    case capabilities([AVDTPCapability])
    case security([UInt8])
    /// Rejected, with the end point or category in error if the response contains it.
    case rejected(AVDTPErrorCode, about: UInt8? = nil)
    /// The peer does not know the signal.
    case notKnown
    /// The response is malformed.
    case malformed
    case timedOut

    var kind: AVDTPMessage.Kind {
        switch self {
        case .rejected: .reject
        case .notKnown: .generalReject
        case .accepted, .endpoints, .capabilities, .security, .malformed, .timedOut: .accept
        }
    }

    var payload: [UInt8] {
        switch self {
        case .endpoints(let list): list.flatMap(\.octets)
        case .capabilities(let list): AVDTPCapability.octets(list)
        case .security(let octets): octets
        case .rejected(let code, let about): (about.map { [$0] } ?? []) + [code.rawValue]
        case .accepted, .notKnown, .malformed, .timedOut: []
        }
    }

    /// Parses the response to a command.
    init(_ message: AVDTPMessage, to command: AVDTPCommand) {
        do throws(PDUError) {
            var reader = ByteReader(message.payload.span.bytes)
            switch message.kind {
            case .accept: self = try Self.accepted(&reader, command.signal)
            case .reject: self = try Self.rejected(&reader, command.signal)
            case .generalReject, .command: self = .notKnown
            }
        } catch { self = .malformed }
    }

    private static func accepted(_ reader: inout ByteReader, _ signal: AVDTPSignal) throws(PDUError) -> AVDTPResponse {
        switch signal {
        case .discover:
            var list: [AVDTPEndpointInformation] = []
            while reader.remaining > 0 {
                let first = try reader.u8("SEID")
                let second = try reader.u8("Media Type")
                list.append(.init(seid: first >> 2, isInUse: first & 2 != 0, mediaType: second >> 4, isSink: second & 8 != 0))
            }
            return .endpoints(list)
        case .getCapabilities, .getAllCapabilities, .getConfiguration: return .capabilities(try AVDTPCapability.list(&reader))
        case .securityControl: return .security(reader.rest())
        case .setConfiguration, .reconfigure, .open, .start, .close, .suspend, .abort, .delayReport: return .accepted
        }
    }

    private static func rejected(_ reader: inout ByteReader, _ signal: AVDTPSignal) throws(PDUError) -> AVDTPResponse {
        switch signal {
        case .setConfiguration, .reconfigure:
            let category = try reader.u8("Service Category")
            return .rejected(AVDTPErrorCode(try reader.u8("Error Code")), about: category)
        case .start, .suspend:
            let seid = try reader.u8("SEID") >> 2
            return .rejected(AVDTPErrorCode(try reader.u8("Error Code")), about: seid)
        case .discover, .getCapabilities, .getAllCapabilities, .getConfiguration, .open, .close, .abort, .securityControl, .delayReport:
            return .rejected(AVDTPErrorCode(try reader.u8("Error Code")))
        }
    }
}

extension ByteReader {
    fileprivate mutating func seid() throws(PDUError) -> UInt8 { try u8("SEID") >> 2 }

    /// One or more SEIDs.
    fileprivate mutating func seids() throws(PDUError) -> [UInt8] {
        var list = [try seid()]
        while remaining > 0 { list.append(try seid()) }
        return list
    }
}
