extension EventMask {
    /// Returns the bits of the events on this page, and LE Meta's if there is an LE event.
    public static func covering(_ events: [any HCIEvent.Type]) -> EventMask {
        var mask: EventMask = []
        for event in events {
            switch event.maskPosition {
            case .page1(let bit): mask.insert(EventMask(rawValue: 1 << UInt64(bit)))
            case .le: mask.insert(.leMeta)
            case .page2, .unmaskable: break
            }
        }
        return mask
    }
}

extension EventMaskPage2 {
    /// Returns the bits of the events on this page.
    public static func covering(_ events: [any HCIEvent.Type]) -> EventMaskPage2 {
        var mask: EventMaskPage2 = []
        for event in events {
            if case .page2(let bit) = event.maskPosition { mask.insert(EventMaskPage2(rawValue: 1 << UInt64(bit))) }
        }
        return mask
    }
}

extension LEEventMask {
    /// Returns the bits of the LE events.
    public static func covering(_ events: [any HCIEvent.Type]) -> LEEventMask {
        var mask: LEEventMask = []
        for event in events {
            if case .le(let bit) = event.maskPosition { mask.insert(LEEventMask(rawValue: 1 << UInt64(bit))) }
        }
        return mask
    }
}
