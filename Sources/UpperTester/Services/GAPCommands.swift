import BBBTP
import BBHost
import BBPackets

extension BTPHandlers {
    mutating func addGAP() {
        on(BTPCommands.GAPReadControllerIndexList.self) { _, _ in BTPResponses.GAPReadControllerIndexList(controllerIndex: [0]) }
        on(BTPCommands.GAPReadControllerInformation.self) { server, _ in
            let name = [UInt8](server.host.database.deviceName.utf8)
            return BTPResponses.GAPReadControllerInformation(
                address: server.host.address.bdADDR,
                supportedSettings: server.classic == nil ? GAPState.supported : GAPState.supported.union(GAPState.dualMode),
                currentSettings: server.gap.settings,
                name: name, shortName: name.prefix(10) + [0])
        }
        on(BTPCommands.GAPReset.self) { server, _ in
            try await server.reset()
            return BTPResponses.GAPReset(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPSetPowered.self) { server, command in
            guard command.powered == 1 else { throw BTPError.fail }
            return BTPResponses.GAPSetPowered(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPSetConnectable.self) { server, command in
            server.gap.set(.connectable, command.connectable)
            try await server.applyModes()
            return BTPResponses.GAPSetConnectable(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPSetDiscoverable.self) { server, command in
            server.gap.set(.discoverable, command.discoverable)
            server.gap.isLimited = command.discoverable == 2
            try await server.applyModes()
            return BTPResponses.GAPSetDiscoverable(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPStartAdvertising.self) { server, command in
            try await server.advertise(command)
            return BTPResponses.GAPStartAdvertising(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPStopAdvertising.self) { server, _ in
            try await server.stopAdvertising()
            return BTPResponses.GAPStopAdvertising(currentSettings: server.gap.settings)
        }
        addConnecting()
    }

    private mutating func addConnecting() {
        does(BTPCommands.GAPStartDiscovery.self) { server, command in
            if command.flags.contains(.brEdr) { try await server.startInquiry(command.flags) }
            if command.flags.contains(.le) || !command.flags.contains(.brEdr) { try await server.startDiscovery(command.flags) }
        }
        does(BTPCommands.GAPStopDiscovery.self) { server, _ in
            try await server.stopInquiry()
            try await server.gap.scan?.stop()
            server.gap.scan = nil
        }
        does(BTPCommands.GAPConnect.self) { server, command in
            if command.addressType == BTPFrame.bredrAddress { return try await server.connectClassic(to: command.address) }
            guard let kind = DeviceAddress.Kind(rawValue: command.addressType) else { throw BTPError.fail }
            let address = DeviceAddress(command.address, kind: kind)
            try await server.gap.scan?.stop()
            server.gap.scan = nil
            server.start { [unowned host = server.host] in _ = try await host.connect(to: address) }
        }
        does(BTPCommands.GAPDisconnect.self) { server, command in
            if command.addressType == BTPFrame.bredrAddress {
                let link = try server.classicLink(command.address)
                return server.start { _ = try await link.disconnect() }
            }
            let link = try server.connection(command.addressType, command.address)
            server.start { _ = try await link.disconnect() }
        }
        does(BTPCommands.GAPConnectionParameterUpdate.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            let request = ConnectionParameterRequest(
                intervalMin: command.intervalMin, intervalMax: command.intervalMax, latency: command.latency,
                supervisionTimeout: command.supervisionTimeout)
            guard request.isLegal else { throw BTPError.fail }
            server.start {
                if link.isCentral { _ = try await link.updateParameters(request) } else { try await link.requestParameters(request) }
            }
        }
    }
}

extension GAPState {
    func set(_ setting: BTPSettings, _ value: UInt8) {
        if value == 0 { settings.remove(setting) } else { settings.insert(setting) }
    }
}

extension BTPServer {
    /// Ends connections, advertising and discovery, and removes all bonds.
    fileprivate func reset() async throws {
        try await stopAdvertising()
        try await gap.scan?.stop()
        gap.scan = nil
        for link in host.connections { _ = try? await link.disconnect() }
        for link in host.classicConnections { _ = try? await link.disconnect() }
        for bond in host.keys.all { host.keys.remove(PeerIdentity(bond.identity)) }
        for setting in [BTPSettings.connectable, .discoverable] { gap.settings.remove(setting) }
        try await stopInquiry()
        try await applyModes()
    }

    fileprivate func advertise(_ command: BTPCommands.GAPStartAdvertising) async throws {
        guard gap.advertising == nil else { throw BTPError.fail }
        // A device that is neither connectable nor discoverable may send no events. Core Vol 3, Part C, 9.2.2.2.
        if quirks.hidesSilently, gap.settings.isDisjoint(with: [.connectable, .discoverable]) { return }
        var settings = AdvertisingSettings()
        if let interval = quirks.advertisingInterval.map({ $0 * 8 / 5 }) {
            (settings.intervalMin, settings.intervalMax) = (interval, interval)
        }
        settings.data = gap.flags + (try AdvertisedFields.onAir(command.advertisingData))
        settings.scanResponse = try AdvertisedFields.onAir(command.scanResponse)
        if !gap.settings.contains(.connectable) { settings.properties = settings.scanResponse.isEmpty ? [.legacy] : [.legacy, .scannable] }
        if quirks.advertisesExtended {
            (settings.data, settings.scanResponse) = (settings.data + settings.scanResponse, [])
            settings.properties = settings.properties.intersection(.connectable)
        }
        if quirks.broadcastsPrivately, !settings.properties.contains(.connectable) {
            (settings.ownAddressType, settings.randomAddress) = (.randomDevice, UpperTesterQuirks.broadcastAddress)
        }
        if command.ownAddressType == GAPState.nonResolvable { try hide(&settings) }
        // A connection may come with the controller's answer, and ends the advertising again.
        let set = try await host.advertise(settings) { [gap] set in
            gap.advertising = set
            gap.settings.insert(.advertising)
        }
        if gap.isLimited, gap.settings.contains(.discoverable) { limit(set) }
        if command.ownAddressType == GAPState.nonResolvable { changeAddress(of: set, settings) }
    }

    /// Ends limited discoverable mode in time. Core Vol 3, Part C, 9.2.3.2.
    private func limit(_ set: AdvertisingSet) {
        start { [unowned self] in
            try await host.loop.sleep(for: GAPState.limitedTime)
            guard gap.advertising === set, set.isRunning else { return }
            try await stopAdvertising()
            send(BTPEvents.GAPNewSettings(currentSettings: gap.settings))
        }
    }

    fileprivate func stopAdvertising() async throws {
        if let set = gap.advertising, set.isRunning { try await set.stop() }
        gap.advertising = nil
        gap.settings.remove(.advertising)
        let own = host.privateAddress ?? (host.address.kind == .random ? host.address : nil)
        if let own, host.randomAddress != own { try await host.setRandomAddress(own) }
    }

    /// Starts a scan. Without the flag Observation, only discoverable devices are reported. Core Vol 3, Part C, 9.2.5 and 9.2.6.
    fileprivate func startDiscovery(_ flags: BTPDiscoveryFlags) async throws {
        guard flags.contains(.le), gap.scan == nil else { throw BTPError.fail }
        var settings = ScanSettings()
        settings.isActive = flags.contains(.active)
        settings.filtersDuplicates = true
        let discoverable: UInt8 = flags.contains(.limited) ? 0x01 : 0x03
        var found: Set<DeviceAddress> = []
        gap.scan = try await host.scan(settings) { [weak self] report in
            // A bonded device is listed under its identity. Core Vol 3, Part C, 10.7.2.1.
            guard let self, let address = report.identity?.address ?? report.address else { return }
            // The Flags are in the advertising data alone; a scan response belongs to a device that was found by them.
            if !report.isScanResponse, (report.data.flags?.rawValue ?? 0) & discoverable != 0 { found.insert(address) }
            guard flags.contains(.observation) || found.contains(address) else { return }
            send(
                BTPEvents.GAPDeviceFound(
                    addressType: address.kind.rawValue, address: address.bdADDR, rssi: report.rssi,
                    flags: report.isScanResponse ? [.rssi, .scanResponse] : [.rssi, .advertisingData], data: report.octets))
        }
    }
}
