import BBPackets
import BBTiming

/// An input as a sequence of packets, each with an action octet, a two-octet length, and the packet.
struct Frames {
    /// Action on a packet: destination, kind, and pause after it.
    struct Action: RawRepresentable {
        var rawValue: UInt8

        /// The end that it concerns.
        var end: Int { Int(rawValue & 1) }
        /// One of four kinds, defined by the target.
        var kind: Int { Int(rawValue >> 1 & 3) }
        /// The time until the next packet.
        var pause: Microseconds { Self.pauses[Int(rawValue >> 3 & 7)] }
        /// Two further bits.
        var extra: UInt8 { rawValue >> 6 }

        private static let pauses: [Microseconds] = [0, 0, 0, 150, 1_250, 10_000, 100_000, 600_000]

        init(rawValue: UInt8) { self.rawValue = rawValue }
        init(end: Int, kind: Int = 0, pause: Int = 0, extra: Int = 0) {
            rawValue = UInt8(end & 1 | (kind & 3) << 1 | (pause & 7) << 3 | (extra & 3) << 6)
        }
    }

    struct Frame {
        var action: Action
        var packet: [UInt8]
    }

    static let most = 64
    /// The first octet of the input, for settings of the target.
    var settings: UInt8
    var list: [Frame] = []

    init(settings: UInt8 = 0, _ list: [Frame]) {
        self.settings = settings
        self.list = list
    }

    /// Any octets are valid frames; the last may be shorter than its length.
    init(_ octets: [UInt8]) {
        settings = octets.first ?? 0
        var position = 1
        while position + 3 <= octets.count, list.count < Self.most {
            let length = Int(octets[position + 1]) | Int(octets[position + 2]) << 8
            let end = min(octets.count, position + 3 + length)
            list.append(Frame(action: Action(rawValue: octets[position]), packet: Array(octets[position + 3..<end])))
            position = end
        }
    }

    /// The encoded input with as many frames as fit.
    func octets(room: Int = .max) -> [UInt8] {
        guard room > 0 else { return [] }
        var octets = [settings]
        for frame in list {
            let length = min(frame.packet.count, 0xFFFF)
            guard octets.count + 3 + length <= room else { break }
            octets += [frame.action.rawValue, UInt8(length & 0xFF), UInt8(length >> 8)] + frame.packet.prefix(length)
        }
        return octets
    }
}
