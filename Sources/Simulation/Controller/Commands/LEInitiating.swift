import BBPackets

/// LE connection creation. Core Vol 4, Part E, 7.8.12, 7.8.13 and 7.8.66.
extension LEController {
    static func initiatingCommands(_ rows: inout CommandRows<LEController>) {
        rows.start(HCICommands.LECreateConnection.self, within(.legacy) { try $0.execute($1) })
        rows.perform(HCICommands.LECreateConnectionCancel.self) { try $0.execute($1) }
        rows.start(HCICommands.LEExtendedCreateConnection.self, within(.extended) { try $0.execute($1) })
    }

    func execute(_ command: HCICommands.LECreateConnection) throws(CommandRefusal) {
        try createConnection(command)
    }

    func execute(_ command: HCICommands.LECreateConnectionCancel) throws(CommandRefusal) {
        guard let initiator = initiator else { throw .disallowed }
        initiating.stopAll()
        tellNotConnected(.unknownConnectionIdentifier, role: .central, peer: initiator.settings.peer)
    }

    func execute(_ command: HCICommands.LEExtendedCreateConnection) throws(CommandRefusal) {
        try createConnection(command)
    }
}

extension LEController {
    private func createConnection(_ command: HCICommands.LECreateConnection) throws(CommandRefusal) {
        let windows = try Check.windows(.le1M, interval: command.leScanIntervalMicroseconds, window: command.leScanWindowMicroseconds)
        let link = try Check.link(
            RequestedParameters(
                intervalMin: command.connectionIntervalMin, intervalMax: command.connectionIntervalMax, latency: command.maxLatency,
                timeout: command.supervisionTimeout),
            longest: command.connectionIntervalMaxMicroseconds, supervision: command.supervisionTimeoutMicroseconds,
            eventLengths: (command.minCELength, command.maxCELength))
        let usesList = command.initiatorFilterPolicy == 1
        let peer = usesList ? nil : try Check.peer(command.peerAddressType, command.peerAddress)
        let own = try ownAddress(command.ownAddressType)
        try initiate(windows: [windows], links: [.le1M: linkRequest(link)], peer: peer, own: own, isExtended: false)
    }

    private func createConnection(_ command: HCICommands.LEExtendedCreateConnection) throws(CommandRefusal) {
        // Since Core 6.0, policies 2 and 3 are about decision PDUs, which this controller has not.
        let hasDecisions = configuration.version >= CoreVersions.core60
        try Check.that(command.initiatorFilterPolicy <= 1, else: hasDecisions ? .unsupportedValue : .invalidParameters)
        let bits = command.initiatingPHYs.rawValue
        try Check.that(bits & ~configuration.allPHYs == 0, else: .unsupportedValue)
        // LE 2M cannot be the only scanning PHY.
        try Check.that(bits & 0b101 != 0)
        var windows: [ScanWindows] = []
        var links: [PHY: InitiatorSettings.LinkRequest] = [:]
        for (phy, row) in zip(command.initiatingPHYs.all, command.phyParameters) {
            if phy != .le2M {
                try Check.that(row.scanInterval >= 4 && row.scanWindow >= 4)
                windows.append(try Check.windows(phy, interval: row.scanIntervalMicroseconds, window: row.scanWindowMicroseconds))
            }
            let link = try Check.link(
                RequestedParameters(
                    intervalMin: row.connectionIntervalMin, intervalMax: row.connectionIntervalMax, latency: row.maxLatency,
                    timeout: row.supervisionTimeout),
                longest: row.connectionIntervalMaxMicroseconds, supervision: row.supervisionTimeoutMicroseconds,
                eventLengths: (row.minCELength, row.maxCELength))
            links[phy] = linkRequest(link)
        }
        // A connection may be made on a PHY without parameters of its own; those of the first PHY then apply.
        let first = command.initiatingPHYs.all.first.flatMap { links[$0] }
        for phy in PHYs(rawValue: configuration.allPHYs).all where links[phy] == nil { links[phy] = first }
        let usesList = command.initiatorFilterPolicy == 1
        let peer = usesList ? nil : try Check.peer(command.peerAddressType, command.peerAddress)
        let own = try ownAddress(command.ownAddressType)
        try initiate(windows: windows, links: links, peer: peer, own: own, isExtended: true)
    }

    private func linkRequest(_ link: RequestedParameters) -> InitiatorSettings.LinkRequest {
        let isShort = configuration.choices.usesShortestInterval
        return InitiatorSettings.LinkRequest(
            interval: isShort ? link.intervalMin : link.intervalMax, latency: link.latency, timeout: link.timeout)
    }

    private func initiate(
        windows: [ScanWindows], links: [PHY: InitiatorSettings.LinkRequest], peer: DeviceAddress?, own: OwnAddress,
        isExtended: Bool
    ) throws(CommandRefusal) {
        try Check.that(initiator == nil, else: .disallowed)
        try checkNoTest()
        try Check.that(self.links.count < configuration.maxConnections, else: .connectionLimitExceeded)
        let address = try address(own, towards: peer, random: settings.randomAddress)
        // Another address of its own makes it another device to the peer.
        let isDouble = self.links.contains { $0.peer == peer && (own.isResolvable || $0.connection.parameters.ownAddress == address) }
        if isDouble { throw CommandRefusal(status: .connectionAlreadyExists) }
        let initiator = Initiator(
            InitiatorSettings(
                windows: windows, links: links, ownAddress: address, own: own, peer: peer, isExtended: isExtended,
                channelMap: usableChannels,
                supportsAlgorithm2: configuration.features.contains(.channelSelectionAlgorithm2),
                clockAccuracy: ClockAccuracy.code(configuration.clockAccuracy)),
            radio: radio, quirks: configuration.quirks, random: makeRandomSource(), delegate: self)
        initiating.add(initiator)
        initiator.start()
    }

    /// Channels for new connections. A connection needs at least two, even if the host allows only one. Core Vol 6, Part B, 1.4.1.
    var usableChannels: UInt64 {
        let wanted = (configuration.choices.ignoresHostChannels ? ChannelMap.all.bits : settings.channelMap) & channels.usable
        return wanted.nonzeroBitCount >= 2 ? wanted : wanted | (wanted & 1 == 0 ? 1 : 2)
    }
}
