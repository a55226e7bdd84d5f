import BBPackets

extension EventMasks {
    /// The masks after HCI_Reset, which restores the defaults of all that a faulty one does not keep. Core Vol 4, Part E, 7.3.2.
    func afterReset(keeping kept: ResetKeeps) -> EventMasks {
        var masks = EventMasks()
        if kept.contains(.eventMasks) || kept.contains(.eventMask) { (masks.page1, masks.page2) = (page1, page2) }
        if kept.contains(.eventMasks) || kept.contains(.leEventMask) { masks.le = le }
        return masks
    }
}
