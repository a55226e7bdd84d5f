import BBHost
import BBTiming
import Foundation

/// The channels that the managers of a phone publish.
final class PhoneChannels {
    private struct Published {
        let port: ServerPort
        var open: [CreditBasedChannel] = []
    }

    /// The dynamic PSMs. Core Vol 3, Part A, 4.22.
    private static let dynamic: ClosedRange<CBL2CAPPSM> = 0x80...0xFF
    private var published: [CBL2CAPPSM: Published] = [:]
    private unowned let server: PhoneServer

    init(_ server: PhoneServer) { self.server = server }

    func publish(isEncrypted: Bool, for port: ServerPort) {
        guard let psm = Self.dynamic.first(where: { published[$0] == nil }) else {
            return port.deliver { $0.delegate?.peripheralManager($0, didPublishL2CAPChannel: 0, error: CBError(.outOfSpace)) }
        }
        published[psm] = Published(port: port)
        var settings = CreditBasedChannelSettings.phone
        settings.minimumSecurity = isEncrypted ? .encrypted : .none
        server.phone.host.listen(psm, settings, openedOn: { [unowned self] in opened($0, on: $1, for: port) })
        port.deliver { $0.delegate?.peripheralManager($0, didPublishL2CAPChannel: psm, error: nil) }
    }

    private func opened(_ channel: CreditBasedChannel, on link: Connection, for port: ServerPort) {
        published[channel.spsm]?.open.append(channel)
        let (identifier, mtu, phone) = (server.identifier(of: link), link.mtu, server.phone)
        let carried = Carried(channel)
        port.deliver { manager in
            let central = manager.central(identifier, mtu: mtu)
            let made = CBL2CAPChannel(carried.value, peer: central, courier: manager.courier, phone: phone)
            manager.delegate?.peripheralManager(manager, didOpen: made, error: nil)
        }
    }

    func unpublish(_ psm: CBL2CAPPSM, for port: ServerPort) {
        guard let row = published[psm], row.port === port else {
            return port.deliver { $0.delegate?.peripheralManager($0, didUnpublishL2CAPChannel: psm, error: CBError(.invalidParameters)) }
        }
        end(psm)
        port.deliver { $0.delegate?.peripheralManager($0, didUnpublishL2CAPChannel: psm, error: nil) }
    }

    private func end(_ psm: CBL2CAPPSM) {
        server.phone.host.stopListening(psm)
        for channel in published.removeValue(forKey: psm)?.open ?? [] where channel.isOpen { channel.disconnect() }
    }

    func leave(_ port: ServerPort) {
        for (psm, row) in published where row.port === port { end(psm) }
    }

    func stop() {
        for psm in published.keys { end(psm) }
    }
}
