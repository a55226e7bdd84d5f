import BBPackets

/// State of one connection event. Core Vol 6, Part B, 4.5.1 and 4.5.6.
struct ConnectionEvent {
    /// Reason why an event ended, for statistics.
    enum Ending {
        /// No further exchange fitted before the next anchor point or another use of the radio.
        case full
        /// Neither device had more data.
        case empty
        /// The configured number of exchanges was reached.
        case atLimit
        /// No reply, or two corrupted packets, arrived.
        case silent
    }

    let channel: ChannelIndex
    /// The next anchor point of this link.
    var nextAnchor: Microseconds
    private(set) var exchanges = 0
    /// Number of exchanges that no longer fitted, as an injected fault.
    private(set) var extraExchanges = 0
    private(set) var hasHeardIntact = false
    var hasMoreToSend = false
    /// MD of the last received packet; true if that packet was corrupted.
    private(set) var peerHasMore = false
    private var consecutiveErrors = 0

    init(channel: ChannelIndex, nextAnchor: Microseconds) {
        self.channel = channel
        self.nextAnchor = nextAnchor
    }

    /// Two consecutive packets with a bad CRC end an event. Core Vol 6, Part B, 4.5.6.
    var hasFailed: Bool { consecutiveErrors >= 2 }

    mutating func countExchange(isExtra: Bool = false) {
        exchanges += 1
        if isExtra { extraExchanges += 1 }
    }

    mutating func heardCorrupt() {
        consecutiveErrors += 1
        peerHasMore = true
    }

    mutating func heardIntact(_ header: UInt8) {
        consecutiveErrors = 0
        hasHeardIntact = true
        peerHasMore = header & 0x10 != 0
    }
}

extension LinkStatistics {
    mutating func count(_ ending: ConnectionEvent.Ending) {
        switch ending {
        case .full: endedFull += 1
        case .empty: endedEmpty += 1
        case .atLimit: endedAtLimit += 1
        case .silent: endedSilent += 1
        }
    }
}
