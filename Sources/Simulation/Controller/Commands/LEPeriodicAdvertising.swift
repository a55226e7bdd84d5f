import BBPackets

/// Periodic advertising commands. Core Vol 4, Part E, 7.8.61 to 7.8.63.
extension LEController {
    static func periodicAdvertisingCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LESetPeriodicAdvertisingParameters.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LESetPeriodicAdvertisingData.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LESetPeriodicAdvertisingEnable.self, within(.extended) { try $0.execute($1) })
    }

    func execute(_ command: HCICommands.LESetPeriodicAdvertisingParameters) throws(CommandRefusal) {
        let index = try indexOfSet(command.advertisingHandle)
        var set = settings.sets[index]
        try Check.that(set.maySendPeriodically)
        try Check.that(train(set.handle) == nil && set.periodic?.isEnabled != true, else: .disallowed)
        let intervals = (command.periodicAdvertisingIntervalMinMicroseconds, command.periodicAdvertisingIntervalMaxMicroseconds)
        try Check.that(intervals.0 <= intervals.1)
        set.periodic = PeriodicAdvertising(
            intervals: intervals.0...intervals.1, includesTxPower: command.periodicAdvertisingProperties & 0x40 != 0,
            data: set.periodic?.data ?? AdvertisingData())
        try checkTrainFits(set)
        settings.sets[index] = set
    }

    func execute(_ command: HCICommands.LESetPeriodicAdvertisingData) throws(CommandRefusal) {
        let index = try indexOfSet(command.advertisingHandle)
        var set = settings.sets[index]
        guard var periodic = set.periodic else { throw .disallowed }
        let fragment = command.advertisingData
        try checkOperation(command.operation, fragment, periodic)
        switch command.operation {
        case .unchanged: break
        case .complete: periodic.data.replace(fragment)
        case .first: periodic.data.first(fragment)
        default: try Check.that(periodic.data.append(fragment, isLast: command.operation == .last))
        }
        set.periodic = periodic
        do throws(CommandRefusal) {
            try Check.that(periodic.data.count <= configuration.maxAdvertisingDataLength, else: .memoryExceeded)
            try checkTrainFits(set)
        } catch {
            settings.sets[index].periodic?.data.discard()
            train(set.handle)?.content.data = []
            throw error
        }
        settings.sets[index] = set
        guard !configuration.quirks.periodic.contains(.keepsTrainData), let content = set.periodicContent else { return }
        train(set.handle)?.content = content
    }

    private func checkOperation(_ operation: AdvertisingDataOperation, _ fragment: [UInt8], _ periodic: PeriodicAdvertising)
        throws(CommandRefusal)
    {
        switch operation {
        case .complete: return
        case .unchanged: try Check.that(periodic.isEnabled && periodic.data.count > 0 && fragment.isEmpty)
        default:
            try Check.that(!periodic.isEnabled, else: .disallowed)
            try Check.that(!fragment.isEmpty)
        }
    }

    /// Checks that the data with all fragments so far fits into the longest interval, or into that of a running train.
    private func checkTrainFits(_ set: AdvertisingSet) throws(CommandRefusal) {
        guard let periodic = set.periodic, var content = set.periodicContent else { return }
        content.data = periodic.data.whole
        let intervals = train(set.handle).map { $0.course.interval...$0.course.interval } ?? periodic.intervals
        try Check.that(content.interval(in: intervals) != nil, else: .packetTooLong)
    }

    func execute(_ command: HCICommands.LESetPeriodicAdvertisingEnable) throws(CommandRefusal) {
        let index = try indexOfSet(command.advertisingHandle)
        var set = settings.sets[index]
        // The bit for ADI needs Periodic Advertising ADI Support.
        try Check.that(command.enable & 2 == 0, else: .unsupportedValue)
        let isEnabling = command.enable & 1 == 1
        guard set.periodic != nil else {
            if isEnabling { throw .disallowed }
            return
        }
        if isEnabling { try Check.that(set.maySendPeriodically && set.periodic?.data.isComplete == true, else: .disallowed) }
        if isEnabling { try checkTrainFits(set) }
        guard set.periodic?.isEnabled != isEnabling else { return }
        set.periodic?.isEnabled = isEnabling
        // A scanner that filters duplicates hears of the train only with a new DID. Core Vol 6, Part B, 4.4.2.11.
        set.did = newDID(besides: set.did)
        settings.sets[index] = set
        refreshAdvertiser(of: set)
        if isEnabling, advertiser(set.handle) != nil { startTrain(of: set) }
        if !isEnabling { stopTrain(set.handle) }
    }
}
