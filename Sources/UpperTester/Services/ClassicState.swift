import BBBTP
import BBHost
import BBPackets
import BBTiming

/// The state of an upper tester on BR/EDR.
final class ClassicState {
    let channels = ClassicChannelState()
    var inquiry: Inquiry?
    /// The number of changes of the modes: a time limit of an earlier mode ends nothing.
    var modeChanges = 0
    /// The host has its name and its class.
    var isDescribed = false

    /// The PIN for devices without Secure Simple Pairing, that of other upper testers.
    static let pin = [UInt8]("0000".utf8)
    /// T_GAP(104): the longest time in limited discoverable mode. Core Vol 3, Part C, Appendix A.
    static let limitedTime = Microseconds.seconds(60)
}

/// The channels over BR/EDR by the identifiers that the tester uses, which follow those of channels over LE.
final class ClassicChannelState {
    enum Channel {
        case basic(BasicChannel)
        case creditBased(CreditBasedChannel)
    }

    struct Entry {
        var psm: UInt16
        var mtu: UInt16
        var link: ClassicConnection
        var channel: Channel?
    }

    private static let identifiers: ClosedRange<UInt8> = 32...63
    private(set) var entries: [UInt8: Entry] = [:]

    func add(_ entry: Entry) throws -> UInt8 {
        guard let id = Self.identifiers.first(where: { entries[$0] == nil }) else { throw BTPError.fail }
        entries[id] = entry
        return id
    }

    func open(_ id: UInt8, _ channel: Channel) { entries[id]?.channel = channel }
    func remove(_ id: UInt8) -> Entry? { entries.removeValue(forKey: id) }

    /// Returns an open channel; nil if the identifier is that of a channel over LE.
    func channel(_ id: UInt8) throws -> Channel? {
        guard Self.identifiers.contains(id) else { return nil }
        guard let channel = entries[id]?.channel else { throw BTPError.fail }
        return channel
    }
}
