import BBBTP
import BBHost
import BBPackets

/// L2CAP channels over BR/EDR: in basic mode, and credit-based in enhanced mode for an SPSM. Core Vol 3, Part A, 4.2 and 4.25.
extension BTPServer {
    /// The dynamic SPSMs, none of which is a PSM that an application may use.
    private static let spsms: ClosedRange<UInt16> = 0x0080...0x00FF

    /// Opens channels; events report the end.
    func connectClassic(_ command: BTPCommands.L2CAPConnect) throws -> [UInt8] {
        let link = try classicLink(command.address)
        guard (1...(Self.spsms.contains(command.psm) ? 5 : 1)).contains(command.numChannels) else { throw BTPError.fail }
        let state = try dualMode().channels
        let ids = try (0..<command.numChannels).map { _ in
            try state.add(.init(psm: command.psm, mtu: command.mtu, link: link, channel: nil))
        }
        start { [unowned self] in await open(ids, on: link, command.psm, mtu: command.mtu) }
        return ids
    }

    private func open(_ ids: [UInt8], on link: ClassicConnection, _ psm: UInt16, mtu: UInt16) async {
        var left = ids[...]
        let opened = { [weak self] (channel: ClassicChannelState.Channel) in if let id = left.popFirst() { self?.opened(id, channel) } }
        do {
            if Self.spsms.contains(psm) {
                _ = try await link.openChannels(psm, count: ids.count, CreditBasedChannelSettings(mtu: mtu)) { opened(.creditBased($0)) }
            } else {
                opened(.basic(try await link.openBasicChannel(psm, mtu: mtu)))
            }
        } catch {}
        for id in left { closed(id, result: 1) }
        left = []
    }

    /// Accepts channels on links with the security that the response for others demands: security mode 4 level 1 for Accept.
    func listenOverClassic(_ command: BTPCommands.L2CAPListen) throws {
        _ = try dualMode()
        let level: SecurityMode4Level =
            switch command.response {
            case 0: .low
            case 4: .unauthenticated
            case 1: .authenticated
            case 5: .secureConnections
            default: throw BTPError.fail
            }
        let (psm, mtu) = (command.psm, command.mtu)
        guard Self.spsms.contains(psm) else {
            return host.listenOverClassic(psm, mtu: mtu, level: level) { [weak self] channel, link in
                self?.arrived(.basic(channel), psm, mtu, link)
            }
        }
        var settings = CreditBasedChannelSettings(mtu: mtu)
        settings.minimumSecurity = level.linkSecurity
        host.listen(psm, settings, over: .brEDR) { [weak self] channel, link in
            if case .classic(let link) = link { self?.arrived(.creditBased(channel), psm, mtu, link) }
        }
    }

    private func arrived(_ channel: ClassicChannelState.Channel, _ psm: UInt16, _ mtu: UInt16, _ link: ClassicConnection) {
        let entry = ClassicChannelState.Entry(psm: psm, mtu: mtu, link: link, channel: nil)
        guard let id = try? dualMode().channels.add(entry) else { return channel.disconnect() }
        opened(id, channel)
    }

    private func opened(_ id: UInt8, _ channel: ClassicChannelState.Channel) {
        guard let state = classic?.channels, let entry = state.entries[id] else { return channel.disconnect() }
        state.open(id, channel)
        send(entry.link) {
            BTPEvents.L2CAPConnected(
                channelID: id, psm: entry.psm, peerMTU: channel.peerMTU, peerMPS: channel.peerMPS, ownMTU: entry.mtu, ownMPS: entry.mtu,
                addressType: $0, address: $1)
        }
        channel.start(
            received: { [weak self] in self?.send(BTPEvents.L2CAPDataReceived(channelID: id, data: $0)) },
            ended: { [weak self] in self?.closed(id, result: 0) })
    }

    private func closed(_ id: UInt8, result: UInt16) {
        guard let entry = classic?.channels.remove(id) else { return }
        send(entry.link) {
            BTPEvents.L2CAPDisconnected(result: result, channelID: id, psm: entry.psm, addressType: $0, address: $1)
        }
    }
}

extension ClassicChannelState.Channel {
    fileprivate var peerMTU: UInt16 {
        switch self {
        case .basic(let channel): channel.sendMTU
        case .creditBased(let channel): UInt16(clamping: channel.peerMTU)
        }
    }

    fileprivate var peerMPS: UInt16 {
        switch self {
        case .basic(let channel): channel.sendMTU
        case .creditBased(let channel): UInt16(clamping: channel.peerMPS)
        }
    }

    fileprivate func start(received: @escaping ([UInt8]) -> Void, ended: @escaping () -> Void) {
        switch self {
        case .basic(let channel): channel.start(received: received) { _ in ended() }
        case .creditBased(let channel):
            channel.onReceive = received
            channel.closed.add { _ in ended() }
        }
    }

    func send(_ sdu: [UInt8]) async throws {
        switch self {
        case .basic(let channel): try await channel.send(sdu)
        case .creditBased(let channel): try await channel.send(sdu)
        }
    }

    func disconnect() {
        switch self {
        case .basic(let channel): channel.disconnect()
        case .creditBased(let channel): channel.disconnect()
        }
    }
}
