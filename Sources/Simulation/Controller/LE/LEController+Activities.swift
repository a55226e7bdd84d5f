import Packets

extension LEController: AdvertiserDelegate {
    func advertiser(_ advertiser: Advertiser, accepts address: DeviceAddress) -> Bool { settings.acceptList.contains(address) }

    /// Those that the host has not classified as bad. Core Vol 4, Part E, 7.8.19.
    func secondaryChannels(for advertiser: Advertiser) -> [UInt8] { ChannelMap(settings.channelMap).used }

    func advertiser(_ advertiser: Advertiser, scanRequestFrom address: DeviceAddress) {
        emit(
            HCIEvents.LEScanRequestReceived(
                advertisingHandle: advertiser.set.handle, scannerAddressType: AddressType(rawValue: address.kind.rawValue),
                scannerAddress: address.bdADDR))
    }

    func advertiser(_ advertiser: Advertiser, connected request: ConnectRequest, over link: NewLink) {
        advertising.remove(advertiser)
        guard links.count < configuration.maxConnections else { return tellTerminated(advertiser, .connectionLimitExceeded, 0) }
        let handle = connect(request, link, role: .peripheral)
        tellTerminated(advertiser, .success, handle)
    }

    func advertiser(_ advertiser: Advertiser, ended reason: ErrorCode) {
        advertising.remove(advertiser)
        if advertiser.isExtendedCommand { return tellTerminated(advertiser, reason, 0) }
        tellNotConnected(reason, role: .peripheral, peer: advertiser.set.parameters.peer)
    }

    private func tellTerminated(_ advertiser: Advertiser, _ status: ErrorCode, _ handle: ConnectionHandle) {
        guard advertiser.isExtendedCommand else { return }
        emit(
            HCIEvents.LEAdvertisingSetTerminated(
                status: status, advertisingHandle: advertiser.set.handle, connectionHandle: handle,
                numCompletedExtendedAdvertisingEvents: UInt8(clamping: advertiser.completedEvents)))
    }
}

extension LEController: InitiatorDelegate {
    func initiator(_ initiator: Initiator, accepts address: DeviceAddress) -> Bool {
        settings.acceptList.contains(address) && !links.contains { $0.peer == address }
    }

    func initiator(_ initiator: Initiator, connected request: ConnectRequest, over link: NewLink) {
        initiating.remove(initiator)
        guard links.count < configuration.maxConnections else {
            return tellNotConnected(.connectionLimitExceeded, role: .central, peer: request.advertiser)
        }
        _ = connect(request, link, role: .central)
    }
}

extension LEController: ScannerDelegate {
    func scanner(_ scanner: Scanner, accepts address: DeviceAddress?) -> Bool { settings.acceptList.contains(address) }

    func scannerTimedOut(_ scanner: Scanner) {
        scanning.remove(scanner)
        reports.flush()
        emit(HCIEvents.LEScanTimeout())
    }

    func scanner(_ scanner: Scanner, heard report: AdvertisingReport) {
        if scanner.settings.isExtended { return tellExtended(report, ownAddress: scanner.settings.ownAddress) }
        guard let type = report.legacyReportType, let advertiser = report.advertiser else { return }
        if let target = report.target, target != scanner.settings.ownAddress { return tellDirected(report, advertiser, target) }
        reports.add(
            HCIEvents.LEAdvertisingReport.Report(
                eventType: type, addressType: AddressType(rawValue: advertiser.kind.rawValue), address: advertiser.bdADDR,
                data: report.data, rssi: rssi(of: report)))
    }

    /// 127 says that it is not available.
    private func rssi(of report: AdvertisingReport) -> Int8 {
        configuration.choices.withholdsRSSI ? 127 : settings.pathCompensation.atAntenna(report.rssi)
    }

    private func tellDirected(_ report: AdvertisingReport, _ advertiser: DeviceAddress, _ target: DeviceAddress) {
        emit(
            HCIEvents.LEDirectedAdvertisingReport(reports: [
                .init(
                    eventType: 0x01, addressType: AddressType(rawValue: advertiser.kind.rawValue), address: advertiser.bdADDR,
                    directAddressType: .randomDevice, directAddress: target.bdADDR, rssi: rssi(of: report))
            ]))
    }

    /// Data that is too long for one event is told in several, all but the last with more to come.
    private func tellExtended(_ report: AdvertisingReport, ownAddress: DeviceAddress) {
        var row = HCIEvents.LEExtendedAdvertisingReport.Report()
        row.addressType = AddressType(rawValue: report.advertiser?.kind.rawValue ?? 0xFF)
        row.address = report.advertiser?.bdADDR ?? 0
        row.primaryPHY = report.primaryPHY.rawValue
        row.secondaryPHY = report.secondaryPHY?.rawValue ?? 0
        row.advertisingSID = report.sid ?? 0xFF
        row.txPower = report.txPower ?? 127
        row.rssi = rssi(of: report)
        if let target = report.target {
            row.directAddressType = target == ownAddress ? AddressType(rawValue: target.kind.rawValue) : .unresolvedRandom
            row.directAddress = target.bdADDR
        }
        var rest = report.data[...]
        repeat {
            row.data = Array(rest.prefix(229))
            rest = rest.dropFirst(229)
            var part = report
            if !rest.isEmpty { part.status = .moreToCome }
            row.eventType = part.extendedEventType
            reports.add(row)
        } while !rest.isEmpty
    }
}

extension AdvertisingReport {
    /// Event_Type of a legacy report. Core Vol 4, Part E, 7.7.65.2.
    var legacyReportType: AdvertisingReportType? {
        guard let legacyType else { return nil }
        if isScanResponse { return 0x04 }
        return switch legacyType {
        case .advInd: 0x00
        case .advDirectInd: 0x01
        case .advScanInd: 0x02
        case .advNonconnInd: 0x03
        case .scanReq, .scanRsp, .connectInd, .extended, .auxConnectRsp: nil
        }
    }
}
