import Packets

/// Scanning. Core Vol 4, Part E, 7.8.10, 7.8.11, 7.8.64 and 7.8.65.
extension CommandTable {
    mutating func addLEScanning() {
        perform(HCICommands.LESetScanParameters.self, 26, 2) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            try Check.that(controller.scanner == nil, else: .disallowed)
            var scan = try Self.scanRequest(command.ownAddressType, command.scanningFilterPolicy)
            try Check.that(command.leScanType.rawValue <= 1)
            scan.windows = [try Check.windows(.le1M, interval: command.leScanInterval, window: command.leScanWindow, longest: 0x4000)]
            scan.activePHYs = command.leScanType == .active ? [.le1M] : []
            controller.settings.scan = scan
        }
        perform(HCICommands.LESetScanEnable.self, 26, 3) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            let isEnabling = try Check.flag(command.leScanEnable)
            guard isEnabling else { return controller.stopScanning() }
            try controller.startScanning(duplicates: try Check.flag(command.filterDuplicates) ? .filtered : .all, isExtended: false)
        }
        perform(HCICommands.LESetExtendedScanParameters.self, 37, 5) { (controller, command) throws(CommandFailure) in
            try controller.use(.extended)
            try Check.that(controller.scanner == nil, else: .disallowed)
            var scan = try Self.scanRequest(command.ownAddressType, command.scanningFilterPolicy)
            (scan.windows, scan.activePHYs) = try controller.windows(command)
            controller.settings.scan = scan
        }
        perform(HCICommands.LESetExtendedScanEnable.self, 37, 6) { (controller, command) throws(CommandFailure) in
            try controller.use(.extended)
            try controller.setExtendedScanEnable(command)
        }
    }

    private static func scanRequest(_ own: OwnAddressType, _ policy: ScanningFilterPolicy) throws(CommandFailure)
        -> HostSettings.ScanRequest
    {
        var scan = HostSettings.ScanRequest()
        scan.ownAddressKind = try Check.ownAddressKind(own)
        try Check.that(policy.rawValue <= 3)
        scan.filtersByList = policy.rawValue & 1 != 0
        scan.passesResolvableTargets = policy.rawValue & 2 != 0
        return scan
    }
}

extension Controller {
    fileprivate func windows(_ command: HCICommands.LESetExtendedScanParameters) throws(CommandFailure) -> ([ScanWindows], Set<PHY>) {
        let bits = command.scanningPHYs.rawValue
        try Check.that(bits != 0)
        try Check.that(bits & ~(configuration.allPHYs & 0b101) == 0, else: .unsupportedValue)
        var windows: [ScanWindows] = []
        var active: Set<PHY> = []
        for (phy, row) in zip(command.scanningPHYs.all, command.phyParameters) {
            try Check.that(row.scanType.rawValue <= 1)
            windows.append(try Check.windows(phy, interval: row.scanInterval, window: row.scanWindow, longest: 0xFFFF))
            if row.scanType == .active { active.insert(phy) }
        }
        return (windows, active)
    }

    fileprivate func setExtendedScanEnable(_ command: HCICommands.LESetExtendedScanEnable) throws(CommandFailure) {
        let isEnabling = try Check.flag(command.enable)
        guard isEnabling else { return stopScanning() }
        try Check.that(command.filterDuplicates <= 2)
        let duration = Microseconds(Int(command.duration) * 10_000)
        let period = Microseconds(Int(command.period) * 1_280_000)
        if command.period > 0, command.duration > 0 { try Check.that(duration < period) }
        if command.filterDuplicates == 2 { try Check.that(command.period > 0 && command.duration > 0) }
        let duplicates: ScannerSettings.Duplicates = [.all, .filtered, .filteredPerPeriod][Int(command.filterDuplicates)]
        try startScanning(
            duplicates: duplicates, isExtended: true, duration: duration, period: command.duration > 0 ? period : .zero)
    }

    /// Enabling what is enabled begins anew.
    fileprivate func startScanning(
        duplicates: ScannerSettings.Duplicates, isExtended: Bool, duration: Microseconds = .zero, period: Microseconds = .zero
    ) throws(CommandFailure) {
        let scan = settings.scan
        let address = try ownAddress(scan.ownAddressKind)
        stopScanning()
        let scanner = Scanner(
            ScannerSettings(
                windows: scan.windows, activePHYs: scan.activePHYs, ownAddress: address, filtersByList: scan.filtersByList,
                passesResolvableTargets: scan.passesResolvableTargets, duplicates: duplicates, isExtended: isExtended, duration: duration,
                period: period),
            radio: radio, quirks: configuration.quirks, random: makeRandomSource(), delegate: self)
        self.scanner = scanner
        scanner.start()
    }

    fileprivate func stopScanning() {
        scanner?.stop()
        scanner = nil
    }
}
