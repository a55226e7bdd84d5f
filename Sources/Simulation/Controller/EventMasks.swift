import BBPackets

/// Event masks set by the host. The initial values are those of Core Vol 4, Part E, 7.3.1, 7.3.69 and 7.8.1.
struct EventMasks {
    /// All events of the first specification versions.
    var page1 = EventMask(rawValue: 0x0000_1FFF_FFFF_FFFF)
    var page2: EventMaskPage2 = []
    var le: LEEventMask = [
        .leConnectionComplete, .leAdvertisingReport, .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete, .leLongTermKeyRequest,
    ]

    func pass<Event: HCIEvent>(_ event: Event.Type) -> Bool {
        switch Event.maskPosition {
        case .page1(let bit): page1.rawValue >> UInt64(bit) & 1 == 1
        case .page2(let bit): page2.rawValue >> UInt64(bit) & 1 == 1
        case .le(let bit): page1.contains(.leMeta) && le.rawValue >> UInt64(bit) & 1 == 1
        case .unmaskable: true
        }
    }

    /// The masks after HCI_Reset, which restores the defaults of all that a faulty one does not keep. Core Vol 4, Part E, 7.3.2.
    func afterReset(keeping kept: ResetKeeps) -> EventMasks {
        var masks = EventMasks()
        if kept.contains(.eventMasks) || kept.contains(.eventMask) { (masks.page1, masks.page2) = (page1, page2) }
        if kept.contains(.eventMasks) || kept.contains(.leEventMask) { masks.le = le }
        return masks
    }
}
