import BBBTP
import BBHost
import BBPackets
import BBTiming

/// GAP over BR/EDR, of an upper tester whose host is dual-mode.
extension BTPServer {
    /// Returns the state on BR/EDR.
    ///
    /// - Throws: `fail` if the host has LE only.
    func dualMode() throws -> ClassicState {
        guard let classic else { throw BTPError.fail }
        return classic
    }

    /// Finds the BR/EDR connection to a device.
    func classicLink(_ address: BDADDR) throws -> ClassicConnection {
        _ = try dualMode()
        guard let link = host.classicConnections.first(where: { $0.address == address }) else { throw BTPError.fail }
        return link
    }

    // MARK: Modes

    /// Sets the scans for the modes of the tester.
    func applyModes() async throws {
        guard let classic else { return }
        if !classic.isDescribed {
            try await host.describeClassic(ClassicDescription(name: host.database.deviceName))
            classic.isDescribed = true
        }
        classic.modeChanges += 1
        let isLimited = gap.isLimited && gap.settings.contains(.discoverable)
        try await host.setScan(
            isDiscoverable: gap.settings.contains(.discoverable), isConnectable: gap.settings.contains(.connectable), isLimited: isLimited)
        if isLimited, !quirks.staysDiscoverable { limit(classic, classic.modeChanges) }
    }

    /// Ends limited discoverable mode in time. Core Vol 3, Part C, 4.1.2.
    private func limit(_ classic: ClassicState, _ change: Int) {
        start { [unowned self] in
            try await host.loop.sleep(for: ClassicState.limitedTime)
            guard classic.modeChanges == change else { return }
            try await host.setScan(isDiscoverable: false, isConnectable: gap.settings.contains(.connectable))
            // Over LE the mode may go on.
            guard gap.advertising == nil else { return }
            gap.settings.remove(.discoverable)
            send(BTPEvents.GAPNewSettings(currentSettings: gap.settings))
        }
    }

    // MARK: Discovery

    /// Starts an inquiry, after which the names are read that no response has had. Core Vol 3, Part C, 6.1 to 6.4.
    func startInquiry(_ flags: BTPDiscoveryFlags) async throws {
        let classic = try dualMode()
        guard classic.inquiry == nil else { throw BTPError.fail }
        var settings = InquirySettings()
        settings.isLimited = flags.contains(.limited)
        let inquiry = try await host.inquire(settings) { [weak self] in self?.found($0, $0.data ?? AdvertisingData()) }
        classic.inquiry = inquiry
        start { [unowned self] in
            for result in try await inquiry.ended() where result.name == nil {
                guard classic.inquiry === inquiry else { return }
                do {
                    let name = try await host.name(of: result.address, found: result)
                    found(result, AdvertisingData((result.data?.elements ?? []) + [.completeLocalName(name)]))
                } catch is HostError {}
            }
        }
    }

    func stopInquiry() async throws {
        guard let classic, let inquiry = classic.inquiry else { return }
        classic.inquiry = nil
        try await inquiry.stop()
    }

    private func found(_ result: InquiryResult, _ data: AdvertisingData) {
        send(
            BTPEvents.GAPDeviceFound(
                addressType: BTPFrame.bredrAddress, address: result.address, rssi: result.rssi ?? 0,
                flags: result.rssi == nil ? .advertisingData : [.rssi, .advertisingData], data: data.octets))
    }

    // MARK: Connections

    func connectClassic(to address: BDADDR) async throws {
        _ = try dualMode()
        try await stopInquiry()
        start { [unowned host] in _ = try await host.connectClassic(to: address) }
    }

    func connected(_ link: ClassicConnection) {
        send(link) { BTPEvents.GAPDeviceConnected(addressType: $0, address: $1) }
        link.events.add { [weak self, weak link] event in if let link { self?.report(event, of: link) } }
    }

    /// Reports an event of a link; the level is that of security mode 4.
    private func report(_ event: ClassicConnectionEvent, of link: ClassicConnection) {
        switch event {
        case .secured(let level):
            send(link) {
                BTPEvents.GAPEncryptionChanged(addressType: $0, address: $1, enabled: 1, keySize: UInt8(clamping: link.encryptionKeySize))
            }
            send(link) {
                BTPEvents.GAPSecurityLevelChanged(addressType: $0, address: $1, securityLevel: UInt8(clamping: level.rawValue))
            }
        case .pairingFailed:
            send(link) {
                BTPEvents.GAPPairingFailed(addressType: $0, address: $1, reason: PairingFailedReason.unspecifiedReason.rawValue)
            }
        case .disconnected: send(link) { BTPEvents.GAPDeviceDisconnected(addressType: $0, address: $1) }
        case .paired, .derived, .derivationFailed: break
        }
    }

    // MARK: Security

    /// Bonds, or encrypts with the key of the bond.
    func pairClassic(_ address: BDADDR, to level: SecurityMode4Level = .unauthenticated, isForced: Bool = false) throws {
        let link = try classicLink(address)
        var settings = gap.pairing
        settings.minimumLevel = max(settings.minimumLevel, level.linkSecurity)
        start { [settings] in
            if isForced { try await link.pair(settings) } else { try await link.secure(to: level, isDedicated: true) }
        }
    }

    /// Deletes the link key of a device, and the bond if it has no other key.
    func unpairClassic(_ address: BDADDR) async throws {
        if let link = try? classicLink(address) { _ = try await link.disconnect() }
        let peer = PeerIdentity(DeviceAddress(address, kind: .public))
        guard var bond = host.keys[peer] else { return }
        bond.linkKey = nil
        if bond.localLongTermKey == nil, bond.peerLongTermKey == nil { host.keys.remove(peer) } else { host.keys.add(bond) }
    }
}

extension BTPHandlers {
    /// Pairing to a level of a security mode, on either transport.
    mutating func addPairingToLevel() {
        does(BTPCommands.GAPPairV2.self) { server, command in
            let isForced = command.flags & 1 == 1
            guard command.addressType != BTPFrame.bredrAddress else {
                let level = command.level == 0xFF ? SecurityMode4Level.unauthenticated : SecurityMode4Level(rawValue: Int(command.level))
                guard command.mode == 4 || command.mode == 0xFF, let level else { throw BTPError.fail }
                return try server.pairClassic(command.address, to: level, isForced: isForced)
            }
            let link = try server.connection(command.addressType, command.address)
            let level = command.level == 0xFF ? 2 : Int(command.level)
            guard command.mode == 1 || command.mode == 0xFF, (1...4).contains(level) else { throw BTPError.fail }
            let wanted = [LinkSecurity.none, .encrypted, .authenticated, .secureConnections][level - 1]
            var settings = server.gap.pairing
            settings.minimumLevel = max(settings.minimumLevel, wanted)
            server.start { [settings] in
                if isForced { try await link.pair(settings) } else { try await link.secure(to: wanted, settings) }
            }
        }
    }
}
