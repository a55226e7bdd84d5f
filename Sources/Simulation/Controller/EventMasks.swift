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
}
