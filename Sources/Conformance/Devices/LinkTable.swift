import Packets

/// What one end's HCI has said about its connections: which there are, the length of a connection event and of an advertising event.
struct LinkTable {
    /// Handles of connections that an event has told of.
    private(set) var handles: Set<UInt16> = []
    /// Of the connection that was made or updated last.
    private(set) var connectionInterval: Microseconds?
    /// The longest that was asked for last, advDelay included.
    private(set) var advertisingInterval: Microseconds?

    /// Takes what is of use from an event or a command.
    mutating func note(_ packet: HCIPacket) {
        let bytes = packet.parameters
        if packet.kind == .event, packet.eventCode == 0x3E, let subevent = bytes.first {
            let at: (status: Int, interval: Int)? =
                switch subevent {
                case 0x01: (1, 12)
                case 0x03: (1, 4)
                case 0x0A, 0x29: (1, 24)
                default: nil
                }
            if let at, bytes.count >= at.interval + 2, bytes[at.status] == 0 {
                connectionInterval = Microseconds(Int(Self.little(bytes, at.interval, 2)) * 1_250)
            }
        }
        if packet.kind == .event { noteHandle(packet.eventCode ?? 0, bytes) }
        if packet.kind == .command {
            if packet.commandOpcode == 0x0C03 { handles = [] }
            let advDelay: Microseconds = .milliseconds(10)
            if packet.commandOpcode == 0x2006, bytes.count >= 4 {
                advertisingInterval = Microseconds(Int(Self.little(bytes, 2, 2)) * 625) + advDelay
            } else if packet.commandOpcode == 0x2036 || packet.commandOpcode == 0x207F, bytes.count >= 9 {
                advertisingInterval = Microseconds(Int(Self.little(bytes, 6, 3)) * 625) + advDelay
            }
        }
    }

    private mutating func noteHandle(_ code: UInt8, _ bytes: [UInt8]) {
        switch code {
        case 0x03 where bytes.count >= 3 && bytes[0] == 0: handles.insert(Self.handle(bytes, 1))
        case 0x05 where bytes.count >= 3 && bytes[0] == 0: handles.remove(Self.handle(bytes, 1))
        case 0x3E where bytes.count >= 4 && [0x01, 0x0A, 0x29].contains(bytes[0]) && bytes[1] == 0: handles.insert(Self.handle(bytes, 2))
        default: break
        }
    }

    private static func handle(_ bytes: [UInt8], _ at: Int) -> UInt16 { UInt16(little(bytes, at, 2) & 0x0FFF) }

    private static func little(_ bytes: [UInt8], _ at: Int, _ count: Int) -> UInt32 {
        (0..<count).reversed().reduce(0) { $0 << 8 | UInt32(bytes[at + $1]) }
    }
}
