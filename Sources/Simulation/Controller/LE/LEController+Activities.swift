import BBBluetoothCrypto
import BBPackets

extension LEController: AdvertiserDelegate {
    func advertiser(_ advertiser: Advertiser, accepts address: DeviceAddress, filtered: Bool) -> Bool {
        guard let device = identify(address) else { return false }
        let parameters = advertiser.set.parameters
        if parameters.properties.directed { return [device.address, address].contains(parameters.peer) || address == advertiser.target }
        return !filtered || settings.acceptList.contains(device.address)
    }

    func privateAddresses(of advertiser: Advertiser) -> (own: DeviceAddress?, target: DeviceAddress?) {
        let parameters = advertiser.set.parameters
        guard parameters.own.isResolvable else { return (nil, nil) }
        let own = privateAddress(parameters.own, towards: parameters.peer)
        guard parameters.properties.directed else { return (own, nil) }
        return (own, settings.resolving.target(for: parameters.peer, at: controller.loop.now, &secrets))
    }

    /// Channels that the host has not classified as bad. Core Vol 4, Part E, 7.8.19.
    func secondaryChannels(for advertiser: Advertiser) -> [UInt8] { ChannelMap(settings.channelMap).used }

    func advertiser(_ advertiser: Advertiser, scanRequestFrom address: DeviceAddress) {
        let scanner = identify(address) ?? KnownDevice(address: address)
        emit(
            HCIEvents.LEScanRequestReceived(
                advertisingHandle: advertiser.set.handle, scannerAddressType: scanner.type, scannerAddress: scanner.address.bdADDR))
    }

    func advertiser(_ advertiser: Advertiser, addressFor initiator: DeviceAddress) -> DeviceAddress {
        guard configuration.choices.answersPrivately, let device = identify(initiator) else { return advertiser.ownAddress }
        return settings.resolving.local(for: device.address, at: controller.loop.now, &secrets) ?? advertiser.ownAddress
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
        guard let device = identify(address) else { return false }
        if let peer = initiator.settings.peer { return [device.address, address].contains(peer) }
        return settings.acceptList.contains(device.address) && !links.contains { $0.peer == device.address }
    }

    func initiator(_ initiator: Initiator, isOwn address: DeviceAddress, calledBy advertiser: DeviceAddress?) -> Bool {
        isOwn(address, initiator.settings.ownAddress, calledBy: advertiser)
    }

    func initiator(_ initiator: Initiator, addressFor advertiser: DeviceAddress) -> DeviceAddress {
        guard initiator.settings.own.isResolvable, let device = identify(advertiser) else { return initiator.settings.ownAddress }
        return privateAddress(initiator.settings.own, towards: device.address) ?? initiator.settings.ownAddress
    }

    func initiator(_ initiator: Initiator, knows answerer: DeviceAddress, as advertiser: DeviceAddress) -> Bool {
        guard answerer != advertiser, let device = identify(answerer) else { return answerer == advertiser }
        return device.address == identify(advertiser)?.address
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
    func scanner(_ scanner: Scanner, identifies address: DeviceAddress) -> KnownDevice? { identify(address) }

    func scanner(_ scanner: Scanner, accepts device: KnownDevice?) -> Bool { settings.acceptList.contains(device?.address) }

    func scanner(_ scanner: Scanner, isOwn address: DeviceAddress, calledBy advertiser: DeviceAddress?) -> Bool {
        isOwn(address, scanner.settings.ownAddress, calledBy: advertiser)
    }

    func scanner(_ scanner: Scanner, addressFor device: KnownDevice) -> DeviceAddress {
        privateAddress(settings.scan.own, towards: device.address) ?? scanner.settings.ownAddress
    }

    func scannerTimedOut(_ scanner: Scanner) {
        scanning.remove(scanner)
        reports.flush()
        emit(HCIEvents.LEScanTimeout())
    }

    func scanner(_ scanner: Scanner, heard report: AdvertisingReport) {
        if scanner.settings.isExtended { return tellExtended(report) }
        guard let type = report.legacyReportType, let advertiser = report.device else { return }
        if let target = report.target, !report.isForOwnAddress { return tellDirected(report, advertiser, target) }
        reports.add(
            HCIEvents.LEAdvertisingReport.Report(
                eventType: type, addressType: advertiser.type, address: advertiser.address.bdADDR, data: report.data, rssi: rssi(of: report)
            ))
    }

    /// 127 if the RSSI is not available.
    private func rssi(of report: AdvertisingReport) -> Int8 {
        configuration.choices.withholdsRSSI ? 127 : settings.pathCompensation.atAntenna(report.rssi)
    }

    private func tellDirected(_ report: AdvertisingReport, _ advertiser: KnownDevice, _ target: DeviceAddress) {
        emit(
            HCIEvents.LEDirectedAdvertisingReport(reports: [
                .init(
                    eventType: 0x01, addressType: advertiser.type, address: advertiser.address.bdADDR,
                    directAddressType: .randomDevice, directAddress: target.bdADDR, rssi: rssi(of: report))
            ]))
    }

    /// Splits data that is too long for one event over several events, all but the last with status "incomplete, more data to come".
    private func tellExtended(_ report: AdvertisingReport) {
        var row = HCIEvents.LEExtendedAdvertisingReport.Report()
        row.addressType = report.device?.type ?? .anonymous
        row.address = report.device?.address.bdADDR ?? 0
        row.primaryPHY = report.primaryPHY.rawValue
        row.secondaryPHY = report.secondaryPHY?.rawValue ?? 0
        row.advertisingSID = report.sid ?? 0xFF
        row.txPower = report.txPower ?? 127
        row.rssi = rssi(of: report)
        row.periodicAdvertisingInterval = UInt16(clamping: report.periodicInterval.rawValue / 1_250)
        if let target = report.target {
            // A local private address is reported as its identity address. Core Vol 4, Part E, 7.7.65.13.
            let isPrivate = settings.resolving.isEnabled && settings.resolving.isLocal(target, towards: report.device?.address)
            let identity = settings.scan.own.kind == .public ? configuration.address : settings.randomAddress ?? target
            let own = isPrivate ? KnownDevice(address: identity, isResolved: true) : KnownDevice(address: target)
            row.directAddressType = report.isForOwnAddress ? own.type : .unresolvedRandom
            row.directAddress = own.address.bdADDR
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
