import BBPackets
import BBTiming

/// Commands for syncs with periodic advertising trains. Core Vol 4, Part E, 7.8.67 to 7.8.73.
extension LEController {
    static func periodicSyncCommands(_ rows: inout CommandRows<LEController>) {
        rows.start(HCICommands.LEPeriodicAdvertisingCreateSync.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LEPeriodicAdvertisingCreateSyncCancel.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LEPeriodicAdvertisingTerminateSync.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LEAddDeviceToPeriodicAdvertiserList.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LERemoveDeviceFromPeriodicAdvertiserList.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LEClearPeriodicAdvertiserList.self, within(.extended) { try $0.execute($1) })
        rows.complete(HCICommands.LEReadPeriodicAdvertiserListSize.self, within(.extended, readsOnly: true) { try $0.execute($1) })
    }

    func execute(_ command: HCICommands.LEPeriodicAdvertisingCreateSync) throws(CommandRefusal) {
        try Check.that(settings.syncRequest == nil && command.syncCTEType & 0x1F != 0x1F, else: .disallowed)
        // Reports that are off at first need LE_Set_Periodic_Advertising_Receive_Enable, which this controller lacks.
        try Check.that(command.options & 2 == 0, else: CommandRefusal(status: .connectionFailedToBeEstablished))
        // The filter for duplicates needs Periodic Advertising ADI Support.
        try Check.that(command.options & 4 == 0, else: .unsupportedValue)
        var request = SyncRequest(skip: Int(command.skip), timeout: command.syncTimeoutMicroseconds)
        request.needsTone = command.syncCTEType & 0x10 != 0
        if command.options & 1 == 0 {
            let advertiser = DeviceAddress(command.advertiserAddressType, command.advertiserAddress)
            request.advertiser = PeriodicAdvertiserList.Entry(advertiser: advertiser, sid: command.advertisingSID)
            let isKnown = sync(with: advertiser, command.advertisingSID) != nil
            try Check.that(!isKnown, else: CommandRefusal(status: .connectionAlreadyExists))
        }
        try Check.that(syncs.running.count < configuration.maxSyncs, else: .memoryExceeded)
        settings.syncRequest = request
    }

    func execute(_ command: HCICommands.LEPeriodicAdvertisingCreateSyncCancel) throws(CommandRefusal) {
        try Check.that(settings.syncRequest != nil, else: .disallowed)
        for sync in syncs.running where !sync.isEstablished { syncs.stop(sync) }
        endSyncRequest(.operationCancelledByHost)
    }

    func execute(_ command: HCICommands.LEPeriodicAdvertisingTerminateSync) throws(CommandRefusal) {
        guard let sync = syncs.running.first(where: { $0.isEstablished && $0.handle == command.syncHandle }) else {
            throw .unknownAdvertisingSet
        }
        syncs.stop(sync)
    }

    // MARK: List

    func execute(_ command: HCICommands.LEAddDeviceToPeriodicAdvertiserList) throws(CommandRefusal) {
        try checkPeriodicListIsFree()
        let entry = Self.entry(command.advertiserAddressType, command.advertiserAddress, command.advertisingSID)
        try Check.that(!settings.periodicAdvertisers.contains(entry))
        try Check.that(!settings.periodicAdvertisers.isFull, else: .memoryExceeded)
        settings.periodicAdvertisers.add(entry)
    }

    func execute(_ command: HCICommands.LERemoveDeviceFromPeriodicAdvertiserList) throws(CommandRefusal) {
        try checkPeriodicListIsFree()
        let entry = Self.entry(command.advertiserAddressType, command.advertiserAddress, command.advertisingSID)
        try Check.that(settings.periodicAdvertisers.remove(entry), else: .unknownAdvertisingSet)
    }

    func execute(_ command: HCICommands.LEClearPeriodicAdvertiserList) throws(CommandRefusal) {
        try checkPeriodicListIsFree()
        settings.periodicAdvertisers.clear()
    }

    func execute(_ command: HCICommands.LEReadPeriodicAdvertiserListSize) throws(CommandRefusal)
        -> HCICommands.LEReadPeriodicAdvertiserListSize.Return
    {
        .init(status: .success, periodicAdvertiserListSize: UInt8(clamping: settings.periodicAdvertisers.capacity))
    }

    private static func entry(_ type: AddressType, _ address: BDADDR, _ sid: UInt8) -> PeriodicAdvertiserList.Entry {
        PeriodicAdvertiserList.Entry(advertiser: DeviceAddress(type, address), sid: sid)
    }

    /// Fails while LE_Periodic_Advertising_Create_Sync is pending, when the list must not be changed. Core Vol 4, Part E, 7.8.70.
    private func checkPeriodicListIsFree() throws(CommandRefusal) {
        try Check.that(settings.syncRequest == nil, else: .disallowed)
    }
}

/// A pending LE_Periodic_Advertising_Create_Sync.
struct SyncRequest {
    /// The train's advertiser; nil for any in the list.
    var advertiser: PeriodicAdvertiserList.Entry?
    /// Events that may be skipped after each one that was heard.
    var skip: Int
    var timeout: Microseconds
    /// Excludes trains without a Constant Tone Extension, which no train of this air has.
    var needsTone = false

    init(skip: Int, timeout: Microseconds) {
        self.skip = skip
        self.timeout = timeout
    }
}
