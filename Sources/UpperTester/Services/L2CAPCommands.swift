import BBBTP
import BBHost
import BBPackets

/// The credit-based channels by the identifiers that the tester uses.
final class L2CAPState {
    struct Entry {
        var psm: UInt16
        var channel: CreditBasedChannel?
        var link: Connection?
        var own: CreditBasedChannelSettings
    }

    private(set) var entries: [UInt8: Entry] = [:]

    func add(_ entry: Entry) throws -> UInt8 {
        guard let id = (UInt8(0)...31).first(where: { entries[$0] == nil }) else { throw BTPError.fail }
        entries[id] = entry
        return id
    }

    func open(_ id: UInt8, _ channel: CreditBasedChannel) { entries[id]?.channel = channel }
    func remove(_ id: UInt8) -> Entry? { entries.removeValue(forKey: id) }

    func channel(_ id: UInt8) throws -> CreditBasedChannel {
        guard let channel = entries[id]?.channel, channel.isOpen else { throw BTPError.fail }
        return channel
    }
}

extension BTPHandlers {
    /// Option of Connect: the tester returns the credits itself.
    private static let holdsCredits: UInt8 = 1 << 1
    private static let isEnhanced: UInt8 = 1 << 0

    mutating func addL2CAP() {
        on(BTPCommands.L2CAPConnect.self) { server, command in
            if command.addressType == BTPFrame.bredrAddress {
                return BTPResponses.L2CAPConnect(channelIDs: try server.connectClassic(command))
            }
            let link = try server.connection(command.addressType, command.address)
            guard (1...5).contains(command.numChannels) else { throw BTPError.fail }
            var settings = CreditBasedChannelSettings(mtu: command.mtu)
            settings.grantsCredits = command.options & Self.holdsCredits == 0
            let ids = try (0..<command.numChannels).map { _ in
                try server.l2cap.add(.init(psm: command.psm, channel: nil, link: link, own: settings))
            }
            server.start { [unowned server] in
                await server.open(ids, on: link, command.psm, settings, isEnhanced: command.options & Self.isEnhanced != 0)
            }
            return BTPResponses.L2CAPConnect(channelIDs: ids)
        }
        does(BTPCommands.L2CAPDisconnect.self) { server, command in
            if let channel = try server.classic?.channels.channel(command.channelID) { return channel.disconnect() }
            try server.l2cap.channel(command.channelID).disconnect()
        }
        does(BTPCommands.L2CAPSendData.self) { server, command in
            if let channel = try server.classic?.channels.channel(command.channelID) {
                return server.start { try await channel.send(command.data) }
            }
            let channel = try server.l2cap.channel(command.channelID)
            guard command.data.count <= channel.peerMTU else { throw BTPError.fail }
            server.start { try await channel.send(command.data) }
        }
        does(BTPCommands.L2CAPListen.self) { server, command in
            if command.transport == 0 { return try server.listenOverClassic(command) }
            guard command.transport == 1, (1...0xFF).contains(command.psm) else { throw BTPError.fail }
            try server.listen(command)
        }
        does(BTPCommands.L2CAPReconfigure.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            let channels = try command.channelIDs.map { try server.l2cap.channel($0) }
            server.start { try await link.reconfigure(channels, mtu: command.mtu, mps: min(command.mtu, 247)) }
        }
        does(BTPCommands.L2CAPCredits.self) { try $0.l2cap.channel($1.channelID).grant(1) }
    }
}

extension BTPServer {
    fileprivate func open(
        _ ids: [UInt8], on link: Connection, _ psm: UInt16, _ settings: CreditBasedChannelSettings, isEnhanced: Bool
    ) async {
        var left = ids[...]
        let opened = { [weak self] (channel: CreditBasedChannel) in
            if let id = left.popFirst() { self?.opened(id, channel) }
        }
        do {
            if isEnhanced {
                _ = try await link.openChannels(psm, count: ids.count, settings, opened: opened)
            } else {
                _ = try await link.openChannel(psm, settings, opened: opened)
            }
        } catch {}
        for id in left { closed(id, result: 1) }
        left = []
    }

    fileprivate func listen(_ command: BTPCommands.L2CAPListen) throws {
        var settings = CreditBasedChannelSettings(mtu: command.mtu)
        var isAuthorized = true
        switch command.response {
        case 0: break
        case 2: (settings.minimumSecurity, isAuthorized) = (.encrypted, false)
        case 1: settings.minimumSecurity = .authenticated
        case 3: (settings.minimumSecurity, settings.minimumKeySize) = (.encrypted, 16)
        case 4: settings.minimumSecurity = .encrypted
        case 5: settings.minimumSecurity = .secureConnections
        default: throw BTPError.fail
        }
        let arrived: (CreditBasedChannel, PeerLink) -> Void = { [weak self] channel, link in
            guard let self, case .le(let link) = link else { return }
            guard let id = try? l2cap.add(.init(psm: channel.spsm, channel: channel, link: link, own: settings)) else {
                return channel.disconnect()
            }
            opened(id, channel)
        }
        let admits = { [isAuthorized] (_: PeerLink, count: Int) -> ChannelAdmission in
            isAuthorized ? .accept(first: count) : .notAuthorized
        }
        host.listen(command.psm, settings, over: .le, admits: admits, openedBy: arrived)
    }

    private func opened(_ id: UInt8, _ channel: CreditBasedChannel) {
        l2cap.open(id, channel)
        guard let entry = l2cap.entries[id], let link = entry.link else { return }
        send(link) {
            BTPEvents.L2CAPConnected(
                channelID: id, psm: entry.psm, peerMTU: UInt16(clamping: channel.peerMTU), peerMPS: UInt16(clamping: channel.peerMPS),
                ownMTU: entry.own.mtu, ownMPS: entry.own.mps, addressType: $0, address: $1)
        }
        channel.onReceive = { [weak self] sdu in self?.send(BTPEvents.L2CAPDataReceived(channelID: id, data: sdu)) }
        start { [weak self] in
            try await channel.ended()
            self?.closed(id, result: 0)
        }
    }

    private func closed(_ id: UInt8, result: UInt16) {
        guard let entry = l2cap.remove(id), let link = entry.link else { return }
        send(link) {
            BTPEvents.L2CAPDisconnected(result: result, channelID: id, psm: entry.psm, addressType: $0, address: $1)
        }
    }
}
