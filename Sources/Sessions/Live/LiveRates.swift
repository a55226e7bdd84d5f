import BBCapture
import BBPackets

/// Octets of ACL data per second, by connection and direction, of the last minutes.
struct LiveRates {
    struct Connection: Hashable {
        var interface: Int
        var handle: UInt16
    }

    struct Rate {
        /// kbit/s by second, the newest last.
        var out: [Double]
        var back: [Double]
    }

    private struct Seconds {
        /// Octets by second modulo the length.
        var out = [Int](repeating: 0, count: LiveRates.length)
        var back = [Int](repeating: 0, count: LiveRates.length)
        var last = 0

        mutating func advance(to second: Int) {
            guard second > last else { return }
            for past in max(last + 1, second - LiveRates.length + 1)...second {
                (out[past % LiveRates.length], back[past % LiveRates.length]) = (0, 0)
            }
            last = second
        }
    }

    static let length = 120
    private static let most = 32
    private var all: [Connection: Seconds] = [:]
    private var now = 0

    mutating func add(_ record: CaptureRecord, at elapsed: Int64) {
        guard case .hci(let packet, let direction) = record.content, let header = packet.aclHeader else { return }
        now = max(now, Int(clamping: max(0, elapsed)) / 1_000_000_000)
        let connection = Connection(interface: record.interface, handle: header.handle.rawValue & 0x0FFF)
        if all[connection] == nil {
            if all.count >= Self.most, let oldest = all.min(by: { $0.value.last < $1.value.last })?.key { all[oldest] = nil }
            var seconds = Seconds()
            seconds.last = now
            all[connection] = seconds
        }
        let (octets, isOut, second) = (packet.bytes.count, direction != .controllerToHost, now)
        all[connection]?.advance(to: second)
        if isOut { all[connection]?.out[second % Self.length] += octets } else { all[connection]?.back[second % Self.length] += octets }
    }

    /// The rates of the last whole seconds of connections with data in them.
    func rates(seconds: Int) -> [(connection: Connection, rate: Rate)] {
        all.compactMap { connection, octets -> (Connection, Rate)? in
            var octets = octets
            octets.advance(to: now)
            let past = (max(0, now - seconds)..<max(1, now)).map { $0 % Self.length }
            let rate = Rate(out: past.map { Double(octets.out[$0] * 8) / 1_000 }, back: past.map { Double(octets.back[$0] * 8) / 1_000 })
            return rate.out.allSatisfy { $0 == 0 } && rate.back.allSatisfy { $0 == 0 } ? nil : (connection, rate)
        }.sorted { ($0.0.interface, $0.0.handle) < ($1.0.interface, $1.0.handle) }
    }
}
