import BBPackets

/// Signal identifiers. AVDTP 1.3, 8.5.
public enum AVDTPSignal: UInt8, Sendable, Hashable, CaseIterable {
    case discover = 0x01
    case getCapabilities, setConfiguration, getConfiguration, reconfigure, open, start, close, suspend, abort
    case securityControl, getAllCapabilities, delayReport
}

/// The reason for rejecting a command. AVDTP 1.3, 8.20.6; A2DP 1.3, 5.1.3 from 0xC1 on.
extension AVDTPReason: Error {}

extension AVDTPService {
    /// Categories of AVDTP 1.2, which Get Capabilities is limited to. AVDTP 1.3, 8.7.
    var isBasic: Bool { (1...7).contains(rawValue) }
    var isKnown: Bool { (1...8).contains(rawValue) }
    /// Categories that Reconfigure may change. AVDTP 1.3, 8.11.
    var isOfApplication: Bool { self == .mediaCodec || self == .contentProtection }
}

/// A service capability, or its configured value: a category and its octets. AVDTP 1.3, 8.21.
public struct AVDTPCapability: Sendable, Hashable {
    public var category: AVDTPService
    public var octets: [UInt8]

    public init(_ category: AVDTPService, _ octets: [UInt8] = []) { (self.category, self.octets) = (category, octets) }

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

    fileprivate init(_ row: some CapabilityRow) { self.init(row.serviceCategory, row.capability) }

    fileprivate func row<Row: CapabilityRow>() -> Row {
        Row(serviceCategory: category, capability: Array(octets.prefix(Int(UInt8.max))))
    }
}

/// A row of the signals that carry capabilities, each of which declares its own.
private protocol CapabilityRow {
    var serviceCategory: AVDTPService { get }
    var capability: [UInt8] { get }
    init(serviceCategory: AVDTPService, capability: [UInt8])
}

extension AVDTP.SetConfigurationCmd.ServiceCapability: CapabilityRow {}
extension AVDTP.ReconfigureCmd.ServiceCapability: CapabilityRow {}
extension AVDTP.GetCapabilitiesRsp.ServiceCapability: CapabilityRow {}

/// Information about a stream end point in the response to Discover. AVDTP 1.3, 8.6.2.
public struct AVDTPEndpointInformation: Sendable, Hashable {
    /// 1...62.
    public var seid: UInt8
    public var isInUse: Bool
    /// Media type; 0 is audio.
    public var mediaType: UInt8
    public var isSink: Bool

    public init(seid: UInt8, isInUse: Bool = false, mediaType: UInt8 = 0, isSink: Bool) {
        (self.seid, self.isInUse, self.mediaType, self.isSink) = (seid, isInUse, mediaType, isSink)
    }

    fileprivate init(_ row: AVDTP.DiscoverRsp.StreamEndPoint) {
        self.init(seid: row.seid, isInUse: row.inUse, mediaType: row.mediaType, isSink: row.tsep)
    }

    fileprivate var row: AVDTP.DiscoverRsp.StreamEndPoint { .init(inUse: isInUse, seid: seid, tsep: isSink, mediaType: mediaType) }
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
        case .discover: AVDTP.DiscoverCmd().parameters
        case .getCapabilities(let seid): AVDTP.GetCapabilitiesCmd(acpSEID: seid).parameters
        case .getAllCapabilities(let seid): AVDTP.GetAllCapabilitiesCmd(acpSEID: seid).parameters
        case .setConfiguration(let acceptor, let initiator, let list):
            AVDTP.SetConfigurationCmd(acpSEID: acceptor, intSEID: initiator, serviceCapabilities: list.map { $0.row() }).parameters
        case .getConfiguration(let seid): AVDTP.GetConfigurationCmd(acpSEID: seid).parameters
        case .reconfigure(let seid, let list):
            AVDTP.ReconfigureCmd(acpSEID: seid, serviceCapabilities: list.map { $0.row() }).parameters
        case .open(let seid): AVDTP.OpenCmd(acpSEID: seid).parameters
        case .start(let seids): AVDTP.StartCmd(streamEndPoints: seids.map { .init(acpSEID: $0) }).parameters
        case .close(let seid): AVDTP.CloseCmd(acpSEID: seid).parameters
        case .suspend(let seids): AVDTP.SuspendCmd(streamEndPoints: seids.map { .init(acpSEID: $0) }).parameters
        case .abort(let seid): AVDTP.AbortCmd(acpSEID: seid).parameters
        case .securityControl(let seid, let octets):
            AVDTP.SecurityControlCmd(acpSEID: seid, contentProtectionData: octets).parameters
        case .delayReport(let seid, let delay): AVDTP.DelayReportCmd(acpSEID: seid, delay: delay).parameters
        }
    }

    /// Parses the parameters; trailing octets are an error.
    public init(_ signal: AVDTPSignal, _ payload: [UInt8]) throws(AVDTPReason) {
        do throws(PDUError) { self = try Self.command(signal, payload) } catch { throw .badLength }
        switch self {
        case .start(let seids), .suspend(let seids): if seids.isEmpty { throw .badLength }
        default: break
        }
    }

    private static func command(_ signal: AVDTPSignal, _ payload: [UInt8]) throws(PDUError) -> AVDTPCommand {
        switch signal {
        case .discover:
            _ = try AVDTP.DiscoverCmd(parameters: payload)
            return .discover
        case .getCapabilities: return .getCapabilities(try AVDTP.GetCapabilitiesCmd(parameters: payload).acpSEID)
        case .getAllCapabilities: return .getAllCapabilities(try AVDTP.GetAllCapabilitiesCmd(parameters: payload).acpSEID)
        case .setConfiguration:
            let pdu = try AVDTP.SetConfigurationCmd(parameters: payload)
            return .setConfiguration(
                acceptor: pdu.acpSEID, initiator: pdu.intSEID, pdu.serviceCapabilities.map { AVDTPCapability($0) })
        case .getConfiguration: return .getConfiguration(try AVDTP.GetConfigurationCmd(parameters: payload).acpSEID)
        case .reconfigure:
            let pdu = try AVDTP.ReconfigureCmd(parameters: payload)
            return .reconfigure(pdu.acpSEID, pdu.serviceCapabilities.map { AVDTPCapability($0) })
        case .open: return .open(try AVDTP.OpenCmd(parameters: payload).acpSEID)
        case .start: return .start(try AVDTP.StartCmd(parameters: payload).streamEndPoints.map(\.acpSEID))
        case .close: return .close(try AVDTP.CloseCmd(parameters: payload).acpSEID)
        case .suspend: return .suspend(try AVDTP.SuspendCmd(parameters: payload).streamEndPoints.map(\.acpSEID))
        case .abort: return .abort(try AVDTP.AbortCmd(parameters: payload).acpSEID)
        case .securityControl:
            let pdu = try AVDTP.SecurityControlCmd(parameters: payload)
            return .securityControl(pdu.acpSEID, pdu.contentProtectionData)
        case .delayReport:
            let pdu = try AVDTP.DelayReportCmd(parameters: payload)
            return .delayReport(pdu.acpSEID, pdu.delay)
        }
    }
}

/// The response to a command.
public enum AVDTPResponse: Sendable, Hashable {
    case accepted
    case endpoints([AVDTPEndpointInformation])
    case capabilities([AVDTPCapability])
    case security([UInt8])
    /// Rejected, with the end point or category in error if the response contains it.
    case rejected(AVDTPReason, about: UInt8? = nil)
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

    /// The parameters of the response to a signal.
    func payload(to signal: AVDTPSignal) -> [UInt8] {
        switch self {
        case .endpoints(let list): AVDTP.DiscoverRsp(streamEndPoints: list.map(\.row)).parameters
        case .capabilities(let list): AVDTP.GetCapabilitiesRsp(serviceCapabilities: list.map { $0.row() }).parameters
        case .security(let octets): AVDTP.SecurityControlRsp(contentProtectionData: octets).parameters
        case .rejected(let code, let about): Self.rejection(code, about ?? 0, of: signal)
        case .accepted, .notKnown, .malformed, .timedOut: []
        }
    }

    /// The parameters of a reject. All signals not listed have only the reason in theirs.
    private static func rejection(_ code: AVDTPReason, _ about: UInt8, of signal: AVDTPSignal) -> [UInt8] {
        switch signal {
        case .setConfiguration: AVDTP.SetConfigurationRej(serviceCategory: AVDTPService(about), errorCode: code).parameters
        case .reconfigure: AVDTP.ReconfigureRej(serviceCategory: AVDTPService(about), errorCode: code).parameters
        case .start: AVDTP.StartRej(acpSEID: about, errorCode: code).parameters
        case .suspend: AVDTP.SuspendRej(acpSEID: about, errorCode: code).parameters
        case .discover, .getCapabilities, .getAllCapabilities, .getConfiguration, .open, .close, .abort, .securityControl, .delayReport:
            AVDTP.OpenRej(errorCode: code).parameters
        }
    }

    /// Parses the response to a command; octets after the last known field are ignored.
    init(_ message: AVDTPMessage, to command: AVDTPCommand) {
        do throws(PDUError) {
            switch message.kind {
            case .accept: self = try Self.accepted(message.payload, command.signal)
            case .reject: self = try Self.rejected(message.payload, command.signal)
            case .generalReject, .command: self = .notKnown
            }
        } catch { self = .malformed }
    }

    private static func accepted(_ payload: [UInt8], _ signal: AVDTPSignal) throws(PDUError) -> AVDTPResponse {
        switch signal {
        case .discover: .endpoints(try AVDTP.DiscoverRsp(prefixOf: payload).streamEndPoints.map { AVDTPEndpointInformation($0) })
        case .getCapabilities, .getAllCapabilities, .getConfiguration:
            .capabilities(try AVDTP.GetCapabilitiesRsp(prefixOf: payload).serviceCapabilities.map { AVDTPCapability($0) })
        case .securityControl: .security(try AVDTP.SecurityControlRsp(prefixOf: payload).contentProtectionData)
        case .setConfiguration, .reconfigure, .open, .start, .close, .suspend, .abort, .delayReport: .accepted
        }
    }

    private static func rejected(_ payload: [UInt8], _ signal: AVDTPSignal) throws(PDUError) -> AVDTPResponse {
        switch signal {
        case .setConfiguration, .reconfigure:
            let pdu = try AVDTP.SetConfigurationRej(prefixOf: payload)
            return .rejected(pdu.errorCode, about: pdu.serviceCategory.rawValue)
        case .start, .suspend:
            let pdu = try AVDTP.StartRej(prefixOf: payload)
            return .rejected(pdu.errorCode, about: pdu.acpSEID)
        case .discover, .getCapabilities, .getAllCapabilities, .getConfiguration, .open, .close, .abort, .securityControl, .delayReport:
            return .rejected(try AVDTP.OpenRej(prefixOf: payload).errorCode)
        }
    }
}
