import HCI
import Packets

/// What comes on the bulk pipe, or as a vendor's event, and belongs to no connection: logs and dumps of the chip's firmware.
enum DebugData: Equatable {
    case log
    /// The firmware has crashed and tells of it.
    case dump

    /// Handles by which Qualcomm's chips mark their logs and dumps. They could be a connection's.
    private static let logHandle: ConnectionHandle = 0x0EDC
    private static let dumpHandle: ConnectionHandle = 0x0EDD
    /// Core Vol 4, Part E, 5.4.2.
    private static let lastHandle: ConnectionHandle = 0x0EFF
    /// How a core dump of Realtek's chips begins.
    private static let coreDump: UInt8 = 0x34
    static let realtek: (company: UInt16, vendor: UInt16) = (0x005D, 0x0BDA)

    /// Nil for a connection's data.
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

    /// Nil for any other event.
    init?(event packet: HCIPacket, isRealtek: Bool) {
        guard isRealtek, packet.eventCode == HCIEvents.VendorSpecific.code, packet.parameters.first == Self.coreDump else { return nil }
        self = .dump
    }
}
