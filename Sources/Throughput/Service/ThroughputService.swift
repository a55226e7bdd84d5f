import BBPackets

/// The GATT service of throughput measurements. See docs/guide/throughput-service.md.
public enum ThroughputService {
    public static let service = uuid(0x0200)
    /// Notifies packets of the server.
    public static let source = uuid(0x0201)
    /// Receives packets of the client, by write command or write request.
    public static let sink = uuid(0x0202)
    /// Receives commands, by write request.
    public static let control = uuid(0x0203)
    /// Returns the counters of the current flow.
    public static let counters = uuid(0x0204)
    /// SPSM of the L2CAP channels that our own server publishes; a dynamic one. Core Vol 3, Part A, 4.22.
    public static let spsm: UInt16 = 0x00B1

    /// Returns the UUID B1BExxxx-7E57-4ACC-9D3A-0B5E55ED0001 with a number in place of xxxx.
    private static func uuid(_ number: UInt16) -> BluetoothUUID {
        BluetoothUUID(long: 0xB1BE_0000_7E57_4ACC_9D3A_0B5E_55ED_0001 | UInt128(number) << 96)
    }

    /// Commands written to the control point.
    public enum Command: Sendable, Hashable {
        /// Sends `count` notifications (0: until stopped) of `length` octets (0: the maximum of the MTU).
        case start(length: UInt16, count: UInt32)
        /// Stops sending.
        case stop
        /// Resets the counters of the sink and of the channels; the next packet of each is number 0.
        case reset
        /// Sends `count` SDUs (0: until stopped) of `length` octets (0: the longest of full K-frames) on each open channel.
        case startChannels(length: UInt16, count: UInt32)

        public var octets: [UInt8] {
            switch self {
            case .start(let length, let count): [0x01] + Octets.little(length) + Octets.little(count)
            case .stop: [0x02]
            case .reset: [0x03]
            case .startChannels(let length, let count): [0x04] + Octets.little(length) + Octets.little(count)
            }
        }

        /// - Throws: the ATT error for the response: 0x80 for an unknown opcode, 0x0D for a wrong length.
        public init(octets: [UInt8]) throws(Refusal) {
            guard let opcode = octets.first else { throw .wrongLength }
            switch opcode {
            case 0x01 where octets.count == 7:
                self = .start(length: UInt16(Octets.number(octets[1..<3])), count: UInt32(Octets.number(octets[3..<7])))
            case 0x02 where octets.count == 1: self = .stop
            case 0x03 where octets.count == 1: self = .reset
            case 0x04 where octets.count == 7:
                self = .startChannels(length: UInt16(Octets.number(octets[1..<3])), count: UInt32(Octets.number(octets[3..<7])))
            case 0x01, 0x02, 0x03, 0x04: throw .wrongLength
            default: throw .unknownOpcode
            }
        }
    }

    /// Reason for rejecting a command; the raw value is the ATT error code.
    public enum Refusal: UInt8, Error, Sendable {
        case wrongLength = 0x0D
        case unknownOpcode = 0x80
        /// Start was written before notifications were enabled.
        case notSubscribed = 0x81
        /// Start of channels was written while no channel is open.
        case noChannel = 0x82
    }

    /// The server's counters: seven 32-bit numbers.
    public struct Counters: Sendable, Hashable {
        /// Number of notifications or SDUs queued.
        public var sent: UInt32 = 0
        public var received: UInt32 = 0
        public var octets: UInt32 = 0
        public var lost: UInt32 = 0
        public var duplicated: UInt32 = 0
        public var reordered: UInt32 = 0
        public var corrupted: UInt32 = 0

        public init() {}

        public init(sent: UInt32, _ tally: FlowTally) {
            self.sent = sent
            received = UInt32(truncatingIfNeeded: tally.packets)
            octets = UInt32(truncatingIfNeeded: tally.octets)
            lost = UInt32(truncatingIfNeeded: tally.lost)
            duplicated = UInt32(truncatingIfNeeded: tally.duplicated)
            reordered = UInt32(truncatingIfNeeded: tally.reordered)
            corrupted = UInt32(truncatingIfNeeded: tally.corrupted)
        }

        public var octetString: [UInt8] { [sent, received, octets, lost, duplicated, reordered, corrupted].flatMap { Octets.little($0) } }

        /// Returns nil for fewer than 28 octets; further octets belong to later versions.
        public init?(octets string: [UInt8]) {
            guard string.count >= 28 else { return nil }
            let numbers = (0..<7).map { UInt32(Octets.number(string[(4 * $0)..<(4 * $0 + 4)])) }
            (sent, received, octets, lost) = (numbers[0], numbers[1], numbers[2], numbers[3])
            (duplicated, reordered, corrupted) = (numbers[4], numbers[5], numbers[6])
        }
    }
}

/// Little-endian numbers.
enum Octets {
    static func little<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) -> [UInt8] {
        (0..<(Value.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> Value(8 * $0)) }
    }

    static func number(_ octets: some BidirectionalCollection<UInt8>) -> UInt64 { octets.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
