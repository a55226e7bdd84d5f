import Packets

/// Creating connections. Core Vol 4, Part E, 7.8.12, 7.8.13 and 7.8.66.
extension CommandTable {
    mutating func addLEInitiating() {
        start(HCICommands.LECreateConnection.self, 26, 4) { (controller, command) throws(CommandFailure) in
            try controller.use(.legacy)
            try controller.createConnection(command)
        }
        perform(HCICommands.LECreateConnectionCancel.self, 26, 5) { (controller, _) throws(CommandFailure) in
            guard let initiator = controller.initiator else { throw .disallowed }
            initiator.stop()
            controller.initiator = nil
            controller.tellNotConnected(.unknownConnectionIdentifier, role: .central, peer: initiator.settings.peer)
        }
        start(HCICommands.LEExtendedCreateConnection.self, 37, 7) { (controller, command) throws(CommandFailure) in
            try controller.use(.extended)
            try controller.createConnection(command)
        }
    }
}

extension Controller {
    fileprivate func createConnection(_ command: HCICommands.LECreateConnection) throws(CommandFailure) {
        let windows = try Check.windows(.le1M, interval: command.leScanInterval, window: command.leScanWindow, longest: 0x4000)
        let link = try Check.link(
            intervalMin: command.connectionIntervalMin, intervalMax: command.connectionIntervalMax, latency: command.maxLatency,
            timeout: command.supervisionTimeout, minCE: command.minCELength, maxCE: command.maxCELength)
        let usesList = try Check.flag(command.initiatorFilterPolicy)
        let peer = usesList ? nil : try Check.peerAddress(command.peerAddressType, command.peerAddress, identities: true)
        let kind = try Check.ownAddressKind(command.ownAddressType)
        try initiate(windows: [windows], links: [.le1M: Self.linkRequest(link)], peer: peer, ownAddressKind: kind, isExtended: false)
    }

    fileprivate func createConnection(_ command: HCICommands.LEExtendedCreateConnection) throws(CommandFailure) {
        let bits = command.initiatingPHYs.rawValue
        try Check.that(bits & ~configuration.allPHYs == 0, else: .unsupportedValue)
        // LE 2M alone cannot be scanned on.
        try Check.that(bits & 0b101 != 0)
        var windows: [ScanWindows] = []
        var links: [PHY: InitiatorSettings.LinkRequest] = [:]
        for (phy, row) in zip(command.initiatingPHYs.all, command.phyParameters) {
            if phy != .le2M { windows.append(try Check.windows(phy, interval: row.scanInterval, window: row.scanWindow, longest: 0xFFFF)) }
            let link = try Check.link(
                intervalMin: row.connectionIntervalMin, intervalMax: row.connectionIntervalMax, latency: row.maxLatency,
                timeout: row.supervisionTimeout, minCE: row.minCELength, maxCE: row.maxCELength)
            links[phy] = Self.linkRequest(link)
        }
        let usesList = try Check.flag(command.initiatorFilterPolicy)
        let peer = usesList ? nil : try Check.peerAddress(command.peerAddressType, command.peerAddress, identities: true)
        let kind = try Check.ownAddressKind(command.ownAddressType)
        try initiate(windows: windows, links: links, peer: peer, ownAddressKind: kind, isExtended: true)
    }

    private static func linkRequest(_ link: RequestedParameters) -> InitiatorSettings.LinkRequest {
        InitiatorSettings.LinkRequest(interval: link.intervalMax, latency: link.latency, timeout: link.timeout)
    }

    private func initiate(
        windows: [ScanWindows], links: [PHY: InitiatorSettings.LinkRequest], peer: DeviceAddress?, ownAddressKind: DeviceAddress.Kind,
        isExtended: Bool
    ) throws(CommandFailure) {
        try Check.that(initiator == nil, else: .disallowed)
        try Check.that(self.links.count < configuration.maxConnections, else: .connectionLimitExceeded)
        if let peer, self.links.contains(where: { $0.peer == peer }) { throw CommandFailure(status: .connectionAlreadyExists) }
        let address = try ownAddress(ownAddressKind)
        let initiator = Initiator(
            InitiatorSettings(
                windows: windows, links: links, ownAddress: address, peer: peer, isExtended: isExtended, channelMap: usableChannels,
                supportsAlgorithm2: configuration.features.contains(.channelSelectionAlgorithm2),
                clockAccuracy: ClockAccuracy.code(configuration.clockAccuracy)),
            radio: radio, quirks: configuration.quirks, random: makeRandomSource(), delegate: self)
        self.initiator = initiator
        initiator.start()
    }

    /// At least two channels, as a connection needs; the host may have left one only. Core Vol 6, Part B, 1.4.1.
    var usableChannels: UInt64 {
        settings.channelMap.nonzeroBitCount >= 2 ? settings.channelMap : settings.channelMap | (settings.channelMap & 1 == 0 ? 1 : 2)
    }
}
