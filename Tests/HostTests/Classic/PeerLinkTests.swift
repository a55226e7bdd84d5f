import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// A peer has one identifier on all transports, and registered listeners are notified.
@Suite struct PeerLinkTests {
    struct ReachRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var address = DeviceAddress(value: 1)
        var hasLinkKey = false
        var hasLongTermKey = false
        var features: UInt64 = 0
        var transports: [PeerTransport]
    }

    private static let reaches = [
        ReachRow(testDescription: "nothing is known", transports: [.le, .brEDR]),
        ReachRow(testDescription: "a link key alone", hasLinkKey: true, transports: [.brEDR, .le]),
        ReachRow(testDescription: "keys of both", hasLinkKey: true, hasLongTermKey: true, transports: [.le, .brEDR]),
        ReachRow(testDescription: "an LTK alone", hasLongTermKey: true, transports: [.le, .brEDR]),
        ReachRow(testDescription: "a random address", address: DeviceAddress(value: 1, kind: .random), hasLinkKey: true, transports: [.le]),
        ReachRow(testDescription: "a controller of LE alone", hasLinkKey: true, features: 1 << 37, transports: [.le]),
    ]

    @Test(arguments: reaches) func theTransportIsPicked(_ row: ReachRow) {
        var bond = Bond(row.address)
        if row.hasLinkKey { bond.linkKey = LinkKey([UInt8](1...16), .combination) }
        if row.hasLongTermKey { bond.peerLongTermKey = LongTermKey([UInt8](1...16)) }
        var controller = ControllerInformation()
        controller.features = row.features
        #expect(PeerTransport.reaching(PeerIdentity(row.address), bond, with: controller) == row.transports)
    }

    /// A peer that does not advertise is paged; each link is reported once, with the identity of the peer.
    @Test func aPeerIsReachedAndTold() throws {
        try ClassicHosts.run { hosts in
            let peer = PeerIdentity(hosts.far.controller.address)
            var all: [String] = []
            var served: [String] = []
            hosts.near.connectionEvents { all.append(Self.text($0, peer)) }
            let registration = hosts.near.connectionEvents(services: [0x110B, .genericAttribute]) { served.append(Self.text($0, peer)) }
            hosts.near.connectionEvents(services: [0x1812], peers: [PeerIdentity(DeviceAddress(value: 7))]) {
                all.append("!" + Self.text($0, peer))
            }
            var settings = ConnectSettings()
            settings.limit = .seconds(1)
            guard case .classic(let classic) = try await hosts.near.connect(to: peer, settings) else {
                throw HostError.misuse(.notConnected)
            }
            #expect(all == ["+BR/EDR"] && served.isEmpty)
            hosts.near.learned([0x110B], of: classic.peer)
            hosts.near.learned([0x110B], of: classic.peer)
            #expect(served == ["+BR/EDR"])
            #expect(try await hosts.near.connect(to: peer).acl === classic)
            _ = try await hosts.far.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("far")])))
            guard case .le(let link) = try await hosts.near.connect(to: peer, over: .le) else { throw HostError.misuse(.notConnected) }
            #expect(link.peer == peer && hosts.near.links(to: peer).count == 2)
            try await classic.disconnect()
            try await link.disconnect()
            #expect(all == ["+BR/EDR", "+LE", "-BR/EDR", "-LE"] && served == all)
            registration.stop()
            try await hosts.loop.sleep(for: .seconds(1))
            _ = try await hosts.near.connect(to: peer, over: .brEDR)
            #expect(all.last == "+BR/EDR" && served.count == 4)
            #expect(hosts.near.services(of: peer) == [0x110B])
        }
    }

    /// Services discovered on one transport count for both.
    @Test func whatLETellsIsKnownOnBREDR() throws {
        try ClassicHosts.run { hosts in
            let peer = PeerIdentity(hosts.far.controller.address)
            _ = try await hosts.far.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("far")])))
            guard case .le(let link) = try await hosts.near.connect(to: peer) else { throw HostError.misuse(.notConnected) }
            _ = try await link.gatt.discoverServices()
            var served: [String] = []
            hosts.near.connectionEvents(services: [.genericAttribute]) { served.append(Self.text($0, peer)) }
            #expect(served == ["+LE"])
            _ = try await hosts.near.connect(to: peer, over: .brEDR)
            #expect(served == ["+LE", "+BR/EDR"])
        }
    }

    private static func text(_ event: PeerEvent, _ peer: PeerIdentity) -> String {
        switch event {
        case .connected(let link): "\(link.peer == peer ? "+" : "?")\(link.transport.rawValue)"
        case .disconnected(let other, let transport): "\(other == peer ? "-" : "?")\(transport.rawValue)"
        }
    }
}
