import BBBTP
import BBHost
import BBPackets

extension BTPHandlers {
    /// Pairing, which belongs to the GAP service.
    mutating func addPairing() {
        on(BTPCommands.GAPSetBondable.self) { server, command in
            server.gap.set(.bondable, command.bondable)
            server.change { $0.isBonding = command.bondable != 0 }
            return BTPResponses.GAPSetBondable(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPSetSecureConnectionsOnly.self) { server, command in
            server.gap.set(.secureConnectionsOnly, command.secureConnectionsOnly)
            server.change()
            return BTPResponses.GAPSetSecureConnectionsOnly(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPSetSecureConnections.self) { server, command in
            server.gap.set(.secureConnections, command.secureConnections)
            server.change { $0.supportsSecureConnections = command.secureConnections != 0 }
            return BTPResponses.GAPSetSecureConnections(currentSettings: server.gap.settings)
        }
        does(BTPCommands.GAPSetIOCapability.self) { server, command in
            guard command.ioCapability <= 4 else { throw BTPError.fail }
            server.change {
                $0.ioCapability = IOCapability(rawValue: command.ioCapability)
                $0.asksForMITM = command.ioCapability != 3
            }
        }
        does(BTPCommands.GAPSetMITM.self) { server, command in server.change { $0.asksForMITM = command.mitm != 0 } }
        does(BTPCommands.GAPSetMinimumKeySize.self) { server, command in
            guard (7...16).contains(command.keySize) else { throw BTPError.fail }
            server.change { $0.minimumKeySize = Int(command.keySize) }
        }
        does(BTPCommands.GAPPair.self) { server, command in
            if command.addressType == BTPFrame.bredrAddress { return try server.pairClassic(command.address) }
            let link = try server.connection(command.addressType, command.address)
            let hasKey = link.isCentral && server.host.keys[link.peer]?.peerLongTermKey != nil
            server.start { if hasKey { try await link.encrypt() } else { _ = try await link.pair() } }
        }
        does(BTPCommands.GAPUnpair.self) { server, command in
            if command.addressType == BTPFrame.bredrAddress { return try await server.unpairClassic(command.address) }
            guard let kind = DeviceAddress.Kind(rawValue: command.addressType) else { throw BTPError.fail }
            let address = DeviceAddress(command.address, kind: kind)
            if let link = try? server.connection(command.addressType, command.address) { _ = try await link.disconnect() }
            _ = server.host.keys.remove(PeerIdentity(address))
        }
        addAnswers()
        addOutOfBand()
    }

    private mutating func addAnswers() {
        does(BTPCommands.GAPPasskeyEntry.self) { server, command in
            guard let answer = server.gap.passkey else { throw BTPError.fail }
            server.gap.passkey = nil
            answer(command.passkey)
        }
        does(BTPCommands.GAPPasskeyConfirm.self) { server, command in
            guard let answer = server.gap.comparison else { throw BTPError.fail }
            server.gap.comparison = nil
            answer(command.match != 0)
        }
        does(BTPCommands.GAPPairingConsent.self) { server, command in
            guard let answer = server.gap.consent else { throw BTPError.fail }
            server.gap.consent = nil
            answer(command.consent != 0)
        }
    }

    private mutating func addOutOfBand() {
        on(BTPCommands.GAPReadOOBLocalData.self) { server, _ in
            let data = server.host.makeOutOfBandData()
            return BTPResponses.GAPReadOOBLocalData(random: data.random ?? [], confirm: data.confirm ?? [])
        }
        does(BTPCommands.GAPSetOOBRemoteData.self) { server, command in
            server.change { $0.outOfBandData = OutOfBandData(confirm: command.confirm, random: command.random) }
        }
        does(BTPCommands.GAPSetOOBLegacyData.self) { server, command in
            server.change { $0.outOfBandData = OutOfBandData(temporaryKey: command.temporaryKey) }
        }
    }
}

extension BTPServer {
    /// Changes the pairing settings. A host that pairs by LE Secure Connections alone demands authentication if it has an input or an
    /// output for it. Core Vol 3, Part C, 10.2.1, 10.2.4 and 10.3.1.
    fileprivate func change(_ change: (inout PairingSettings) -> Void = { _ in }) {
        change(&gap.pairing)
        gap.pairing.requiresSecureConnections = gap.settings.contains(.secureConnectionsOnly)
        gap.pairing.isSecureConnectionsOnly = gap.pairing.requiresSecureConnections && gap.pairing.ioCapability != .noInputNoOutput
        gap.pairing = quirks.insisting(gap.pairing)
        if !quirks.doesNotPair { host.pairingSettings = gap.pairing }
    }
}
