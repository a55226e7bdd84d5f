import BBHCI
import BBPackets

/// Logs and dumps of the chip's firmware, sent on the bulk pipe or as vendor events outside any connection.
enum DebugData: Equatable {
    case log
    /// A dump after a firmware crash.
    case dump

    /// Connection handle of logs and dumps of Qualcomm chips. A connection could have it, too.
    private static let logHandle: ConnectionHandle = 0x0EDC
    private static let dumpHandle: ConnectionHandle = 0x0EDD
    /// Highest connection handle. Core Vol 4, Part E, 5.4.2.
    private static let lastHandle: ConnectionHandle = 0x0EFF
    /// First octet of a core dump of Realtek chips.
    private static let coreDump: UInt8 = 0x34
    static let realtek: (company: UInt16, vendor: UInt16) = (0x005D, 0x0BDA)

    /// Returns nil for data of a connection.
    init?(data packet: HCIPacket, isOpen: (ConnectionHandle) -> Bool) {
        guard packet.kind == .acl, let header = packet.aclHeader else { return nil }
        let isMarked = header.boundary == .first && header.broadcast == 0
        switch header.handle {
        case Self.dumpHandle where isMarked && !isOpen(Self.dumpHandle): self = .dump
        case Self.logHandle where isMarked && !isOpen(Self.logHandle): self = .log
        case let handle where handle.rawValue > Self.lastHandle.rawValue: self = .log
        default: return nil
        }
    }

    /// Returns nil for any other event.
    init?(event packet: HCIPacket, isRealtek: Bool) {
        guard isRealtek, packet.eventCode == HCIEvents.VendorSpecific.code, packet.parameters.first == Self.coreDump else { return nil }
        self = .dump
    }
}
