import BBPackets
import BBTiming

/// SyncInfo: where the next AUX_SYNC_IND of a periodic advertising train is. Core Vol 6, Part B, 2.3.4.6.
struct SyncInfo: Equatable {
    /// Time from the start of the packet with this field to the start of AUX_SYNC_IND, rounded down to the unit; 0 if it cannot be told.
    var offset: Microseconds
    /// Periodic advertising interval.
    var interval: Microseconds
    var channels: ChannelMap
    /// Sleep clock accuracy of the advertiser, in ppm.
    var clockAccuracy: Int
    var accessAddress: UInt32
    var crcInit: UInt32
    /// paEventCounter of that AUX_SYNC_IND.
    var counter: UInt16

    /// Holds the place until the train is known.
    static let unknown = SyncInfo(
        offset: .zero, interval: 7_500, channels: .all, clockAccuracy: 500, accessAddress: 0, crcInit: 0, counter: 0)

    /// The longest offset in steps of 300 us.
    private static let longestOffset: Microseconds = 300 * 8_191

    /// Time after `offset` within which AUX_SYNC_IND may start.
    var unit: Microseconds { offset < AuxiliaryPointer.longestInSmallUnits ? 30 : 300 }

    /// The offset as this field can tell it.
    static func told(_ offset: Microseconds) -> Microseconds { offset > longestOffset ? .zero : offset }
}

extension SyncInfo {
    var wire: Structures.SyncInfo {
        Structures.SyncInfo(
            syncPacketOffset: UInt16(clamping: offset.rawValue / unit.rawValue), offsetUnits: unit == 300,
            interval: UInt16(clamping: interval.rawValue / 1_250), chM: channels.bits, sca: ClockAccuracy.code(clockAccuracy),
            aa: accessAddress, crcInit: crcInit, periodicEventCounter: counter)
    }

    /// Returns nil if the interval or the channel map is out of range.
    init?(_ wire: Structures.SyncInfo) {
        let channels = ChannelMap(wire.chM)
        guard wire.interval >= 6, channels.used.count >= 2 else { return nil }
        self.init(
            offset: Microseconds(Int(wire.syncPacketOffset) * (wire.offsetUnits ? 300 : 30)),
            interval: Microseconds(Int(wire.interval) * 1_250), channels: channels,
            clockAccuracy: ClockAccuracy.partsPerMillion(wire.sca), accessAddress: wire.aa, crcInit: wire.crcInit,
            counter: wire.periodicEventCounter)
    }
}

/// A channel map that a train uses from an event on, as its ACAD announces it. Core Supplement, Part A, 1.20; Core Vol 6, Part B, 4.4.2.12.
struct PeriodicChannelMapUpdate: Equatable {
    var channels: ChannelMap
    /// paEventCounter of the first event with the new map.
    var instant: UInt16

    private static let type: UInt8 = 0x28

    /// The AD structure in ACAD.
    var octets: [UInt8] {
        [8, Self.type] + (0..<5).map { UInt8(truncatingIfNeeded: channels.bits >> UInt64(8 * $0)) }
            + [UInt8(truncatingIfNeeded: instant), UInt8(truncatingIfNeeded: instant >> 8)]
    }

    init(channels: ChannelMap, instant: UInt16) {
        self.channels = channels
        self.instant = instant
    }

    /// Finds the announcement in ACAD; nil if there is none or it is malformed.
    init?(acad: [UInt8]) {
        var rest = acad[...]
        while let length = rest.first.map(Int.init), length > 0, rest.count > length {
            let structure = rest.dropFirst().prefix(length)
            if structure.first == Self.type, length == 8 {
                let octets = Array(structure.dropFirst())
                channels = ChannelMap(octets.prefix(5).reversed().reduce(0) { $0 << 8 | UInt64($1) })
                instant = UInt16(octets[5]) | UInt16(octets[6]) << 8
                if channels.used.count < 2 { return nil }
                return
            }
            rest = rest.dropFirst(1 + length)
        }
        return nil
    }
}
