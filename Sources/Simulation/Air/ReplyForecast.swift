import Packets

/// The end of a link that answers within a connection event.
protocol ReplyForecast: AnyObject {
    /// How long it takes from the end of a packet to the end of the answer, gap included.
    ///
    /// - Parameter nextExpected: NESN of the packet.
    func replyTime(after nextExpected: UInt8) -> Microseconds
}

/// An idealisation, and the only thing that a central gets to know of its peer other than by packets: how long the very next answer will be. `EventFilling.actual` fills events by it to the last microsecond, which a
/// real central may miss by one exchange; `.reserveMax` does without.
struct ReplyForecasts {
    /// Whoever adds itself removes itself before it goes.
    private struct Entry {
        unowned let source: any ReplyForecast
        let identity: ObjectIdentifier
    }

    private var entries: [UInt32: Entry] = [:]

    mutating func add(_ source: any ReplyForecast, for accessAddress: UInt32) {
        entries[accessAddress] = Entry(source: source, identity: ObjectIdentifier(source))
    }

    mutating func remove(_ source: ObjectIdentifier, for accessAddress: UInt32) {
        if entries[accessAddress]?.identity == source { entries[accessAddress] = nil }
    }

    /// Nil when nobody on this air answers.
    func time(on accessAddress: UInt32, after nextExpected: UInt8) -> Microseconds? {
        entries[accessAddress]?.source.replyTime(after: nextExpected)
    }
}
