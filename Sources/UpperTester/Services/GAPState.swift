import BBBTP
import BBBluetoothCrypto
import BBHost
import BBPackets
import BBTiming

/// The state of the GAP service.
final class GAPState {
    var settings: BTPSettings = [.powered, .le, .bondable, .secureConnections]
    var isLimited = false
    var pairing = PairingSettings()
    var advertising: AdvertisingSet?
    var scan: Scan?
    /// The connections on which the tester has subscribed to a value.
    var subscribers: Set<ConnectionHandle> = []
    /// Key material of encrypted advertising data; nil until the tester gives it.
    var advertisingKeys: AdvertisingKeyMaterial?
    /// The user's pending answers.
    var passkey: ((UInt32?) -> Void)?
    var comparison: ((Bool) -> Void)?
    var consent: ((Bool) -> Void)?

    /// T_GAP(lim_adv_timeout). Core Vol 3, Part C, Appendix A.
    static let limitedTime = Microseconds.seconds(180)

    static let supported: BTPSettings = [
        .powered, .connectable, .discoverable, .bondable, .le, .advertising, .secureConnections, .secureConnectionsOnly, .staticAddress,
        .privacy,
    ]

    /// The settings of a dual-mode host besides those of LE.
    static let dualMode: BTPSettings = [.brEdr, .secureSimplePairing]

    func attach(to server: BTPServer) {
        if server.classic != nil {
            settings.formUnion(Self.dualMode)
            pairing.pin = ClassicState.pin
            pairing.localKeys.insert(.linkKey)
            pairing.peerKeys.insert(.linkKey)
            pairing.supportsH7 = true
        }
        if server.host.address.kind == .random { settings.insert(.staticAddress) }
        pairing.localKeys.insert(.signKey)
        pairing.peerKeys.insert(.signKey)
        pairing = server.quirks.apply(to: pairing)
        if server.quirks.isSecureConnectionsOnly { settings.insert(.secureConnectionsOnly) }
        if server.quirks.lacksSecureConnections { settings.remove(.secureConnections) }
        server.host.pairingSettings = server.quirks.doesNotPair ? nil : pairing
        server.host.pairingDialogue = PairingDialogue(
            showPasskey: { [weak server] link, number in
                server?.send(link) { BTPEvents.GAPPasskeyDisplay(addressType: $0, address: $1, passkey: number) }
            },
            enterPasskey: { [weak self, weak server] link, answer in
                self?.passkey = answer
                server?.send(link) { BTPEvents.GAPPasskeyEntryRequest(addressType: $0, address: $1) }
            },
            compare: { [weak self, weak server] link, number, answer in
                self?.comparison = answer
                server?.send(link) { BTPEvents.GAPPasskeyConfirmRequest(addressType: $0, address: $1, passkey: number) }
            },
            consent: { [weak self, weak server] link, answer in
                // The user confirms a device that is bonded already and has not proved it by encryption. Core Vol 3, Part C, 10.3.2.
                guard link.bond != nil, (link as? Connection)?.security == LinkSecurity.none else { return answer(true) }
                self?.consent = answer
                server?.send(link) { BTPEvents.GAPPairingConsentRequest(addressType: $0, address: $1) }
            })
    }

    /// Flags in advertising data. Supplement to the Core Specification, Part A, 1.3.
    var flags: [UInt8] {
        let mode: UInt8 = settings.contains(.discoverable) ? (isLimited ? 0x01 : 0x02) : 0
        // BR/EDR Not Supported.
        return [2, ADType.flags, settings.contains(.brEdr) ? mode : mode | 0x04]
    }
}

/// AD structures in a Start Advertising command: type, length, data. On the air the length, which includes the type, is first.
enum AdvertisedFields {
    static func onAir(_ octets: [UInt8]) throws -> [UInt8] {
        var result: [UInt8] = []
        var rest = octets[...]
        while let type = rest.popFirst() {
            guard let length = rest.popFirst(), rest.count >= Int(length) else { throw BTPError.fail }
            let data = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            if type != ADType.flags { result += [length + 1, type] + data }
        }
        return result
    }
}

extension BTPServer {
    /// Sends an event about a link with the address of its peer.
    func send(_ link: ACLLink, _ event: (UInt8, BDADDR) -> some PDU) {
        let address = link.peer.address
        send(event(link is ClassicConnection ? BTPFrame.bredrAddress : address.kind.rawValue, address.bdADDR))
    }

    func connected(_ link: Connection) {
        let parameters = link.parameters
        if link.role == .peripheral, gap.settings.contains(.advertising) {
            gap.advertising = nil
            gap.settings.remove(.advertising)
            send(BTPEvents.GAPNewSettings(currentSettings: gap.settings))
        }
        link.gatt.otherValues.add { [weak self, weak link] kind, handle, value in
            guard let self, let link, !quirks.withholdsUnsubscribed || gap.subscribers.contains(link.handle) else { return }
            let data = value.withUnsafeBytes { [UInt8]($0) }
            send(link) {
                BTPEvents.GATTNotificationReceived(
                    addressType: $0, address: $1, type: kind == .notification ? 1 : 2, handle: handle, data: data)
            }
        }
        send(link) {
            BTPEvents.GAPDeviceConnected(
                addressType: $0, address: $1, connectionInterval: parameters.interval, latency: parameters.latency,
                supervisionTimeout: parameters.supervisionTimeout)
        }
        startOwnProcedures(on: link)
        link.events.add { [weak self, weak link] event in if let link { self?.report(event, of: link) } }
    }

    private func report(_ event: ConnectionEvent, of link: Connection) {
        switch event {
        case .disconnected:
            gap.subscribers.remove(link.handle)
            authorization.ended(link)
            send(link) { BTPEvents.GAPDeviceDisconnected(addressType: $0, address: $1) }
        case .parametersUpdated(let parameters):
            send(link) {
                BTPEvents.GAPConnectionParametersUpdated(
                    addressType: $0, address: $1, connectionInterval: parameters.interval, latency: parameters.latency,
                    supervisionTimeout: parameters.supervisionTimeout)
            }
        case .encryptionChanged(let isOn):
            send(link) {
                BTPEvents.GAPEncryptionChanged(
                    addressType: $0, address: $1, enabled: isOn ? 1 : 0, keySize: UInt8(clamping: link.encryptionKeySize))
            }
            if isOn {
                reportLevel(of: link)
                learnResolution(of: link)
            }
        case .paired(let result):
            let identity = result.peer.address
            if identity != link.addresses.peer {
                send(link) {
                    BTPEvents.GAPIdentityResolved(
                        addressType: $0, address: $1, identityAddressType: identity.kind.rawValue, identityAddress: identity.bdADDR)
                }
            }
        case .pairingFailed(let error):
            send(link) { BTPEvents.GAPPairingFailed(addressType: $0, address: $1, reason: Self.reason(error)) }
        case .bondLost: send(link) { BTPEvents.GAPBondLost(addressType: $0, address: $1) }
        case .phyUpdated, .dataLengthChanged, .mtuChanged: break
        }
    }

    /// Reports the level: 1 unauthenticated, 2 authenticated, 3 authenticated with LE Secure Connections.
    private func reportLevel(of link: Connection) {
        let level: UInt8 =
            switch link.security {
            case .none: 0
            case .encrypted: 1
            case .authenticated: 2
            case .secureConnections: 3
            }
        send(link) { BTPEvents.GAPSecurityLevelChanged(addressType: $0, address: $1, securityLevel: level) }
    }

    /// Reason of Pairing_Failed; Unspecified Reason for other failures. Core Vol 3, Part H, 3.5.5.
    private static func reason(_ error: HostError) -> UInt8 {
        switch error {
        case .peer(.pairingFailed(let reason)), .peer(.pairingRefused(let reason)): reason.rawValue
        default: PairingFailedReason.unspecifiedReason.rawValue
        }
    }
}
