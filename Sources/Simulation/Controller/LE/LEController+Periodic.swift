import BBPackets
import BBTiming

/// Periodic advertising trains, and syncs with the trains of others.
extension LEController {
    /// Starts the train of an enabled set whose host has enabled periodic advertising, unless it runs already.
    func startTrain(of set: AdvertisingSet) {
        guard let periodic = set.periodic, periodic.isEnabled, train(set.handle) == nil, let content = set.periodicContent,
            let interval = content.interval(in: periodic.intervals)
        else { return }
        let now = controller.loop.now
        let course = PeriodicTrain.Course(
            interval: interval, start: now + Self.leadOfTrain + Microseconds(Int64.random(in: 0...9_999, using: &random)),
            accessAddress: AccessAddress.random(&random), crcInit: UInt32(truncatingIfNeeded: random.next() & 0xFF_FFFF),
            drift: configuration.clockDrift, accuracy: configuration.clockAccuracy, power: set.parameters.txPower)
        let train = PeriodicTrain(
            set.handle, content, course, channels: channelsOfTrains, radio: radio, quirks: configuration.quirks,
            random: makeRandomSource())
        trains.add(train)
        train.start()
    }

    /// A train has at least two channels. Core Vol 6, Part B, 4.4.2.12.
    private var channelsOfTrains: ChannelMap {
        let map = ChannelMap(settings.channelMap)
        return map.used.count >= 2 ? map : .all
    }

    /// Time before the first event of a train, in which its set can announce it.
    private static let leadOfTrain: Microseconds = .milliseconds(20)

    func train(_ handle: UInt8) -> PeriodicTrain? { trains.running.first { $0.handle == handle } }

    func stopTrain(_ handle: UInt8) {
        if let train = train(handle) { trains.stop(train) }
    }

    func syncInfo(of advertiser: Advertiser, from start: Microseconds, after end: Microseconds) -> SyncInfo? {
        train(advertiser.set.handle)?.syncInfo(from: start, after: end)
    }
}

extension LEController: PeriodicSyncDelegate {
    /// Synchronises with a train that the host seeks. Core Vol 4, Part E, 7.8.67.
    func scanner(_ scanner: Scanner, heard info: SyncInfo, of advertiser: DeviceAddress, sid: UInt8, in reception: Reception) {
        guard let request = settings.syncRequest, !syncs.running.contains(where: { !$0.isEstablished }), info.offset > 0,
            let device = identify(advertiser), sync(with: device.address, sid) == nil
        else { return }
        let entry = PeriodicAdvertiserList.Entry(advertiser: device.address, sid: sid)
        let isSought = request.advertiser.map { $0 == entry } ?? settings.periodicAdvertisers.contains(entry)
        guard isSought || configuration.quirks.periodic.contains(.takesAnyTrain) else { return }
        let sync = PeriodicSync(
            unusedSyncHandle, with: PeriodicSync.Train(advertiser: device, sid: sid, phy: reception.phy.phy, info: info),
            from: reception.start, skip: request.skip, timeout: request.timeout, radio: radio, configuration: configuration, delegate: self)
        syncs.add(sync)
        sync.start()
    }

    private var unusedSyncHandle: UInt16 {
        (0...0x0EFF).first { handle in !syncs.running.contains { $0.handle == handle } } ?? 0
    }

    func sync(with advertiser: DeviceAddress, _ sid: UInt8) -> PeriodicSync? {
        syncs.running.first { $0.isEstablished && $0.train.advertiser.address == advertiser && $0.train.sid == sid }
    }

    func syncEstablished(_ sync: PeriodicSync) {
        if let request = settings.syncRequest, request.needsTone {
            syncs.stop(sync)
            // Another train of the list may have the tone. Core Vol 6, Part B, 4.4.3.4.
            if request.advertiser != nil { endSyncRequest(.unsupportedRemoteFeature) }
            return
        }
        settings.syncRequest = nil
        let train = sync.train
        emit(
            HCIEvents.LEPeriodicAdvertisingSyncEstablished(
                status: .success, syncHandle: sync.handle, advertisingSID: train.sid, advertiserAddressType: train.advertiser.type,
                advertiserAddress: train.advertiser.address.bdADDR, advertiserPHY: train.phy.rawValue,
                periodicAdvertisingInterval: UInt16(clamping: train.info.interval.rawValue / 1_250),
                advertiserClockAccuracy: ClockAccuracy.code(train.info.clockAccuracy)))
    }

    func syncFailed(_ sync: PeriodicSync) {
        syncs.remove(sync)
        endSyncRequest(.connectionFailedToBeEstablished)
    }

    /// Reports the end of a request without a sync.
    func endSyncRequest(_ status: ErrorCode) {
        settings.syncRequest = nil
        emit(HCIEvents.LEPeriodicAdvertisingSyncEstablished(status: status))
    }

    func syncLost(_ sync: PeriodicSync) {
        syncs.remove(sync)
        emit(HCIEvents.LEPeriodicAdvertisingSyncLost(syncHandle: sync.handle))
    }

    /// Splits data that is too long for one event. Core Vol 4, Part E, 7.7.65.15.
    func sync(_ sync: PeriodicSync, heard report: PeriodicReport) {
        var rest = report.data[...]
        repeat {
            let data = Array(rest.prefix(247))
            rest = rest.dropFirst(247)
            let status = rest.isEmpty ? report.status : .moreToCome
            emit(
                HCIEvents.LEPeriodicAdvertisingReport(
                    syncHandle: sync.handle, txPower: report.txPower ?? 127,
                    rssi: configuration.choices.withholdsRSSI ? 127 : settings.pathCompensation.atAntenna(report.rssi), cteType: 0xFF,
                    dataStatus: status.rawValue, data: data))
        } while !rest.isEmpty
    }
}
