import BBPackets

/// The peer that replies within a connection event.
protocol ReplyForecast: AnyObject {
    /// Time from the end of a packet to the end of its reply, including T_IFS.
    ///
    /// - Parameter nextExpected: NESN of the packet.
    func replyTime(after nextExpected: UInt8) -> Microseconds
}

/// Durations of the next replies, by access address. This is an idealization: it is the only thing that a central learns about its peer
/// other than from packets. `EventFilling.actual` uses it to fill events to the microsecond, where a real central may stop one exchange
/// earlier; `.reserveMax` does not use it.
struct ReplyForecasts {
    /// A peer without a strong reference: it removes its entry before it is destroyed.
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

    /// The duration of the next reply; nil if no peer replies on this access address.
    func time(on accessAddress: UInt32, after nextExpected: UInt8) -> Microseconds? {
        entries[accessAddress]?.source.replyTime(after: nextExpected)
    }
}
