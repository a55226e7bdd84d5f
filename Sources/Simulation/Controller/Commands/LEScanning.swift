import BBPackets

/// Scanning commands. Core Vol 4, Part E, 7.8.10, 7.8.11, 7.8.64 and 7.8.65.
extension LEController {
    static func scanningCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LESetScanParameters.self, within(.legacy) { try $0.execute($1) })
        rows.perform(HCICommands.LESetScanEnable.self, within(.legacy) { try $0.execute($1) })
        rows.perform(HCICommands.LESetExtendedScanParameters.self, within(.extended) { try $0.execute($1) })
        rows.perform(HCICommands.LESetExtendedScanEnable.self, within(.extended) { try $0.execute($1) })
    }

    func execute(_ command: HCICommands.LESetScanParameters) throws(CommandRefusal) {
        try Check.that(scanner == nil, else: .disallowed)
        var scan = try scanRequest(command.ownAddressType, command.scanningFilterPolicy)
        scan.windows = [try Check.windows(.le1M, interval: command.leScanIntervalMicroseconds, window: command.leScanWindowMicroseconds)]
        scan.activePHYs = command.leScanType == .active ? [.le1M] : []
        settings.scan = scan
    }

    func execute(_ command: HCICommands.LESetScanEnable) throws(CommandRefusal) {
        let isEnabling = command.leScanEnable == 1
        guard isEnabling else { return stopScanning() }
        try startScanning(duplicates: try duplicateFilter(command.filterDuplicates) ? .filtered : .all, isExtended: false)
    }

    func execute(_ command: HCICommands.LESetExtendedScanParameters) throws(CommandRefusal) {
        try Check.that(scanner == nil, else: .disallowed)
        var scan = try scanRequest(command.ownAddressType, command.scanningFilterPolicy)
        (scan.windows, scan.activePHYs) = try windows(command)
        settings.scan = scan
    }

    func execute(_ command: HCICommands.LESetExtendedScanEnable) throws(CommandRefusal) {
        try setExtendedScanEnable(command)
    }

    /// Filter_Duplicates; only used if scanning is enabled.
    private func duplicateFilter(_ value: UInt8) throws(CommandRefusal) -> Bool {
        try Check.that(value <= 1)
        return value == 1
    }

    private func scanRequest(_ own: OwnAddressType, _ policy: ScanningFilterPolicy) throws(CommandRefusal)
        -> LESettings.ScanRequest
    {
        var scan = LESettings.ScanRequest()
        scan.own = try ownAddress(own)
        scan.filtersByList = policy.rawValue & 1 != 0
        scan.passesResolvableTargets = policy.rawValue & 2 != 0
        return scan
    }
}

extension LEController {
    private func windows(_ command: HCICommands.LESetExtendedScanParameters) throws(CommandRefusal) -> ([ScanWindows], Set<PHY>) {
        let bits = command.scanningPHYs.rawValue
        try Check.that(bits != 0)
        try Check.that(bits & ~(configuration.allPHYs & 0b101) == 0, else: .unsupportedValue)
        var windows: [ScanWindows] = []
        var active: Set<PHY> = []
        for (phy, row) in zip(command.scanningPHYs.all, command.phyParameters) {
            windows.append(try Check.windows(phy, interval: row.scanIntervalMicroseconds, window: row.scanWindowMicroseconds))
            if row.scanType == .active { active.insert(phy) }
        }
        return (windows, active)
    }

    private func setExtendedScanEnable(_ command: HCICommands.LESetExtendedScanEnable) throws(CommandRefusal) {
        let isEnabling = command.enable == 1
        guard isEnabling else { return stopScanning() }
        try Check.that(command.filterDuplicates <= 2)
        let duration = command.durationMicroseconds
        let period = command.periodMicroseconds
        if command.period > 0, command.duration > 0 { try Check.that(duration < period) }
        if command.filterDuplicates == 2 { try Check.that(command.period > 0 && command.duration > 0) }
        let duplicates: ScannerSettings.Duplicates = [.all, .filtered, .filteredPerPeriod][Int(command.filterDuplicates)]
        try startScanning(
            duplicates: duplicates, isExtended: true, duration: duration, period: command.duration > 0 ? period : .zero)
    }

    /// Starts scanning, or starts it again with these settings.
    private func startScanning(
        duplicates: ScannerSettings.Duplicates, isExtended: Bool, duration: Microseconds = .zero, period: Microseconds = .zero
    ) throws(CommandRefusal) {
        try checkNoTest()
        let scan = settings.scan
        let address = try address(scan.own, towards: nil, random: settings.randomAddress)
        stopScanning()
        let scanner = Scanner(
            ScannerSettings(
                windows: scan.windows, activePHYs: scan.activePHYs, ownAddress: address, filtersByList: scan.filtersByList,
                passesResolvableTargets: scan.passesResolvableTargets, duplicates: duplicates, isExtended: isExtended, duration: duration,
                period: period),
            radio: radio, quirks: configuration.quirks, random: makeRandomSource(), delegate: self)
        scanning.add(scanner)
        scanner.start()
    }

    private func stopScanning() {
        scanning.stopAll()
        reports.discard()
    }
}
