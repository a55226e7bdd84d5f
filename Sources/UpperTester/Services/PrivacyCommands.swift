import BBBTP
import BBHost
import BBPackets
import BBTiming

extension GAPState {
    /// Own_Address_Type of a command.
    static let nonResolvable: UInt8 = 2
    /// T_GAP(private_addr_int). Core Vol 3, Part C, Appendix A.
    static let privateAddressTime = Microseconds.seconds(900)
}

extension BTPHandlers {
    /// Option of Start Directed Advertising: events of high duty cycle.
    private static let isHighDuty: UInt16 = 1 << 0

    /// Private addresses and directed advertising, of the service GAP.
    mutating func addPrivacy() {
        on(BTPCommands.GAPSetPrivacy.self) { server, command in
            if command.privacy == 0 {
                try await server.host.disablePrivacy()
            } else if server.host.privateAddress == nil {
                try await server.host.enablePrivacy()
            }
            server.gap.set(.privacy, command.privacy)
            return BTPResponses.GAPSetPrivacy(currentSettings: server.gap.settings)
        }
        on(BTPCommands.GAPStartDirectedAdvertising.self) { server, command in
            guard let kind = DeviceAddress.Kind(rawValue: command.addressType) else { throw BTPError.fail }
            let peer = DeviceAddress(command.address, kind: kind)
            try await server.direct(to: peer, isHighDuty: command.options & Self.isHighDuty != 0)
            return BTPResponses.GAPStartDirectedAdvertising(currentSettings: server.gap.settings)
        }
    }
}

extension BTPServer {
    /// Advertises to one peer. A host with privacy does so only to a bonded peer whose controller resolves addresses. Core Vol 3, Part C,
    /// 10.7.1.1.
    fileprivate func direct(to peer: DeviceAddress, isHighDuty: Bool) async throws {
        guard gap.advertising == nil else { throw BTPError.fail }
        var bond = host.keys[PeerIdentity(peer)] ?? Bond(peer)
        if quirks.directsUnresolved { bond.resolvesAddresses = true }
        guard host.privateAddress == nil || bond.resolvesAddresses == true else { throw BTPError.fail }
        _ = try await host.advertise(host.directedAdvertising(to: bond, isHighDuty: isHighDuty)) { [gap] set in
            gap.advertising = set
            gap.settings.insert(.advertising)
        }
    }

    /// With privacy, asks a bonded peer whether its controller resolves addresses.
    func learnResolution(of link: Connection) {
        guard host.privateAddress != nil, link.role == .peripheral, let bond = link.bond, bond.resolvesAddresses == nil else { return }
        start { _ = try? await link.readCentralAddressResolution() }
    }

    /// Lets a set have a non-resolvable private address, which is not for connectable mode. Core Vol 3, Part C, 10.7.1.
    func hide(_ settings: inout AdvertisingSettings) throws {
        guard !settings.properties.contains(.connectable) else { throw BTPError.fail }
        (settings.ownAddressType, settings.randomAddress) = (.randomDevice, host.drawNonResolvableAddress())
    }

    /// Changes the address of a set in time. Core Vol 3, Part C, 10.7.3.
    func changeAddress(of set: AdvertisingSet, _ settings: AdvertisingSettings) {
        guard !quirks.keepsPrivateAddress else { return }
        start { [unowned self] in
            var (set, settings) = (set, settings)
            while true {
                try await host.loop.sleep(for: GAPState.privateAddressTime)
                guard gap.advertising === set, set.isRunning else { break }
                try await set.stop()
                try hide(&settings)
                set = try await host.advertise(settings) { [gap] in gap.advertising = $0 }
            }
        }
    }
}
