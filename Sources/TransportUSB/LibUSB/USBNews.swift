import BBPackets
import BBTiming
import BBTransport

/// Events from the thread of a dongle.
enum USBNews: Sendable {
    case packet(HCIPacket, Microseconds)
    case lost(TransportError)
    case portWasReset
    /// The IN transfers are submitted; data can arrive.
    case listening
    /// The voice interface has been set, or setting it has failed.
    case voice(Result<VoiceAlternate?, VoiceProblem>)
    /// The mode has been selected: true for Bulk Serialization mode. The text says why the device has refused it.
    case mode(Result<Bool, USBModeRefusal>)
    /// A control request has ended.
    case control(id: Int, USBRequestResult)
    /// The transfers of Bulk Serialization mode are not packets any more.
    case lostFraming(String)
    /// An endpoint halts again each time it is cleared; its pipe is unusable.
    case haltedForGood(UInt8)
}

/// Events that the loop has not taken yet, in order.
struct USBNewsQueue {
    private static let longest = 8_192
    private var items: [USBNews] = []
    private var isAnnounced = false
    /// Number of events without a place.
    private(set) var dropped = 0

    mutating func append(_ item: USBNews) { items.append(item) }

    /// False, and counted, if the queue is full.
    mutating func hasPlace() -> Bool {
        guard items.count >= Self.longest else { return true }
        dropped += 1
        return false
    }

    mutating func take() -> [USBNews] {
        defer { items = [] }
        isAnnounced = false
        return items
    }

    /// True once after each `take` if there are events.
    mutating func mustAnnounce() -> Bool {
        guard !items.isEmpty, !isAnnounced else { return false }
        isAnnounced = true
        return true
    }
}
