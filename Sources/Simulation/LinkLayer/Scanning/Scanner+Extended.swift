import BBPackets

/// Extended advertising events: AuxPtr on a primary channel, auxiliary packet, chain, and AUX_SCAN_REQ. Core Vol 6, Part B, 4.4.3.
extension Scanner {
    func heardExtended(_ pdu: AdvertisingPDU, _ reception: Reception) -> Bool {
        guard let header = ExtendedHeader(pdu) else { return false }
        var report = AdvertisingReport(rssi: reception.rssi)
        report.primaryPHY = reception.phy.phy
        report.isConnectable = header.mode == .connectable
        report.isScannable = header.mode == .scannable
        report.advertiser = header.advertiser
        report.target = header.target
        report.isDirected = header.target != nil
        report.sid = header.dataInfo?.sid
        report.txPower = header.txPower
        guard let pointer = header.auxiliaryPointer else {
            reportWithoutAuxiliary(report, header)
            return false
        }
        let event = makeEvent(Event(report: report, dataInfo: header.dataInfo))
        listener.follow(pointer, from: reception.start, event: event)
        return false
    }

    private func reportWithoutAuxiliary(_ report: AdvertisingReport, _ header: ExtendedHeader) {
        var report = report
        guard header.mode == .neither, passes(&report) else { return }
        let key = DuplicateFilter.Key(
            advertiser: report.device?.address, dataInfo: header.dataInfo, isScanResponse: false, isDirected: report.isDirected)
        if isNew(key) { delegate.scanner(self, heard: report) }
    }

    /// Handles AUX_ADV_IND or AUX_CHAIN_IND. Returns true if AUX_SCAN_REQ is being sent.
    func heardAuxiliary(_ pdu: AdvertisingPDU, _ reception: Reception, event number: Int) -> Bool {
        guard var event = events[number], pdu.type == .extended, let header = ExtendedHeader(pdu) else {
            close(number, status: .truncated)
            return false
        }
        if let info = header.dataInfo, let expected = event.dataInfo, info != expected {
            close(number, status: .truncated)
            return false
        }
        event.report.rssi = reception.rssi
        if let info = header.syncInfo, let advertiser = header.advertiser, let sid = header.dataInfo?.sid {
            delegate.scanner(self, heard: info, of: advertiser, sid: sid, in: reception)
        }
        if event.key == nil, !open(&event, header, reception) {
            events[number] = nil
            return false
        }
        deliver(&event, header, reception, number)
        let asks = event.report.isScannable && !event.report.isScanResponse && settings.activePHYs.contains(event.report.primaryPHY)
        guard asks, let advertiser = event.report.advertiser, let device = event.report.device, mayAsk(device.address, event.dataInfo)
        else { return false }
        let asking = makeEvent(Event(report: event.report, dataInfo: event.dataInfo))
        request = (advertiser, event.report, asking)
        listener.beginExchange(scanRequest(to: advertiser, event.report), after: reception)
        return true
    }

    /// Handles fields that only the first auxiliary packet carries. Returns false if the event must not be reported.
    private func open(_ event: inout Event, _ header: ExtendedHeader, _ reception: Reception) -> Bool {
        event.report.secondaryPHY = reception.phy.phy
        event.report.isConnectable = header.mode == .connectable
        event.report.isScannable = header.mode == .scannable
        event.report.advertiser = header.advertiser ?? event.report.advertiser
        event.report.target = header.target ?? event.report.target
        event.report.isDirected = event.report.target != nil
        event.report.txPower = header.txPower ?? event.report.txPower
        event.report.sid = header.dataInfo?.sid ?? event.report.sid
        event.report.periodicInterval = header.syncInfo?.interval ?? .zero
        event.dataInfo = header.dataInfo ?? event.dataInfo
        guard passes(&event.report) else { return false }
        let key = key(of: event)
        event.key = key
        event.isKnown = !isNew(key)
        return !event.isKnown || event.report.isScannable
    }

    private func key(of event: Event) -> DuplicateFilter.Key {
        DuplicateFilter.Key(
            advertiser: event.report.device?.address, dataInfo: event.dataInfo, isScanResponse: event.report.isScanResponse,
            isDirected: event.report.isDirected)
    }

    /// True if AUX_SCAN_REQ should be sent; with duplicate filtering, not for data already reported.
    private func mayAsk(_ advertiser: DeviceAddress, _ info: AdvertisingDataInfo?) -> Bool {
        let key = DuplicateFilter.Key(advertiser: advertiser, dataInfo: info, isScanResponse: true, isDirected: false)
        if settings.duplicates != .all, duplicates.contains(key) { return false }
        return backoff.mayRequest()
    }

    /// Reports one packet's data and follows the chain if it continues.
    private func deliver(_ event: inout Event, _ header: ExtendedHeader, _ reception: Reception, _ number: Int) {
        event.report.data = header.data
        guard let pointer = header.auxiliaryPointer else {
            event.report.status = .complete
            events[number] = nil
            if !event.isKnown { delegate.scanner(self, heard: event.report) }
            return
        }
        event.report.status = .moreToCome
        event.isOpen = true
        events[number] = event
        delegate.scanner(self, heard: event.report)
        listener.follow(pointer, from: reception.start, event: number)
    }

    /// Handles a packet after AUX_SCAN_REQ. Returns true if it is the expected AUX_SCAN_RSP.
    func heardAuxiliaryResponse(_ pdu: AdvertisingPDU, _ reception: Reception, event number: Int, from advertiser: DeviceAddress) -> Bool {
        guard var event = events[number], pdu.type == .extended, let header = ExtendedHeader(pdu), header.advertiser == advertiser else {
            return false
        }
        event.report.isScanResponse = true
        event.report.rssi = reception.rssi
        event.report.secondaryPHY = reception.phy.phy
        event.report.txPower = header.txPower ?? event.report.txPower
        let key = key(of: event)
        event.key = key
        guard isNew(key) else {
            events[number] = nil
            return true
        }
        deliver(&event, header, reception, number)
        return true
    }

    /// Ends an event whose next packet did not arrive. If incomplete data was reported, reports it as truncated.
    func close(_ number: Int, status: AdvertisingReport.DataStatus) {
        guard var event = events.removeValue(forKey: number) else { return }
        if let key = event.key { duplicates.remove(key) }
        guard event.isOpen else { return }
        event.report.status = status
        event.report.data = []
        delegate.scanner(self, heard: event.report)
    }
}
