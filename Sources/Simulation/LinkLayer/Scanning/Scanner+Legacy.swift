import BBPackets

/// Legacy advertisements, and responses to SCAN_REQ. Core Vol 6, Part B, 4.4.3.
extension Scanner {
    /// Returns true if SCAN_REQ is being sent.
    func heardLegacy(_ pdu: AdvertisingPDU, _ reception: Reception) -> Bool {
        guard let advertiser = pdu.sender, reception.phy == .le1M else { return false }
        let isDirected = pdu.type == .advDirectInd
        guard !isDirected || pdu.payload.count == 12 else { return false }
        var report = AdvertisingReport(rssi: reception.rssi)
        report.legacyType = pdu.type
        report.isConnectable = pdu.type == .advInd || isDirected
        report.isScannable = pdu.type == .advInd || pdu.type == .advScanInd
        report.isDirected = isDirected
        report.advertiser = advertiser
        if isDirected { report.target = pdu.receiver } else { report.data = pdu.advertisingData }
        guard passes(&report), let device = report.device?.address else { return false }
        if isNew(key(of: device, isScanResponse: false, isDirected: isDirected)) { delegate.scanner(self, heard: report) }
        return report.isScannable && mayRequest(device, on: .le1M) && ask(advertiser, reception, report)
    }

    private func key(of advertiser: DeviceAddress, isScanResponse: Bool, isDirected: Bool = false) -> DuplicateFilter.Key {
        DuplicateFilter.Key(advertiser: advertiser, dataInfo: nil, isScanResponse: isScanResponse, isDirected: isDirected)
    }

    /// True if SCAN_REQ should be sent; with duplicate filtering, not to an advertiser whose response was already reported.
    private func mayRequest(_ advertiser: DeviceAddress, on phy: PHY) -> Bool {
        guard settings.activePHYs.contains(phy) else { return false }
        if settings.duplicates != .all, duplicates.contains(key(of: advertiser, isScanResponse: true)) { return false }
        return backoff.mayRequest()
    }

    private func ask(_ advertiser: DeviceAddress, _ reception: Reception, _ report: AdvertisingReport) -> Bool {
        request = (advertiser, report, nil)
        listener.beginExchange(scanRequest(to: advertiser, report), after: reception)
        return true
    }

    /// Handles a packet after SCAN_REQ. Returns true if it is the expected response.
    func heardScanResponse(_ pdu: AdvertisingPDU, _ reception: Reception, _ advertiser: DeviceAddress, _ asked: AdvertisingReport) -> Bool {
        guard pdu.type == .scanRsp, pdu.sender == advertiser else { return false }
        var report = asked
        report.isScanResponse = true
        report.rssi = reception.rssi
        report.data = pdu.advertisingData
        if isNew(key(of: asked.device?.address ?? advertiser, isScanResponse: true)) { delegate.scanner(self, heard: report) }
        return true
    }
}
