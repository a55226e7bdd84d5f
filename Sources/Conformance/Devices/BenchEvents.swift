import BBCases
import BBPackets

/// The events that a bench enables: all declared ones, so that cases can expect them, but of the later versions of an event only those that
/// the cases' names include. An enabled [v2] replaces its [v1]. Core Vol 4, Part E, 7.3.1 and 7.8.1.
enum BenchEvents {
    static let page1 = positions.reduce(into: EventMask()) { mask, position in
        switch position {
        case .page1(let bit): mask.insert(EventMask(rawValue: 1 << UInt64(bit)))
        case .le: mask.insert(.leMeta)
        case .page2, .unmaskable: break
        }
    }

    static let le = positions.reduce(into: LEEventMask()) { mask, position in
        if case .le(let bit) = position { mask.insert(LEEventMask(rawValue: 1 << UInt64(bit))) }
    }

    private static let positions = PDUCatalog.all.filter { $0.layer == .hciEvents && isTaken($0.name) }.map(\.maskPosition)

    private static func isTaken(_ name: String) -> Bool {
        !name.hasSuffix("]") || AlternativeEvents.all.values.contains { $0.contains(name) }
    }
}
