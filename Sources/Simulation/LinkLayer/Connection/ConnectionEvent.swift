import Packets

/// What is only true within one connection event. Core Vol 6, Part B, 4.5.1 and 4.5.6.
struct ConnectionEvent {
    /// Why an event ended, as far as an end counts it.
    enum Ending {
        /// No further exchange fitted before the next anchor point, or before another use of the radio.
        case full
        /// Neither side had more data.
        case empty
        /// At the configured number of exchanges.
        case atLimit
        /// No answer, or two bad packets, came.
        case silent
    }

    let channel: ChannelIndex
    /// The next anchor point of this link.
    var nextAnchor: Microseconds
    private(set) var exchanges = 0
    /// Those that no longer fitted: a planted fault.
    private(set) var extraExchanges = 0
    private(set) var hasHeardIntact = false
    var hasMoreToSend = false
    /// MD of the last packet heard; taken as set when that was corrupt.
    private(set) var peerHasMore = false
    private var consecutiveErrors = 0

    init(channel: ChannelIndex, nextAnchor: Microseconds) {
        self.channel = channel
        self.nextAnchor = nextAnchor
    }

    /// Two packets with a bad CRC in a row end an event. Core Vol 6, Part B, 4.5.6.
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
