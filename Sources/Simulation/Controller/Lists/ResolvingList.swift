import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Identity of an address received over the air.
struct KnownDevice: Hashable {
    /// The identity address if known, otherwise the received address.
    var address: DeviceAddress
    /// True if the received address was a resolvable private address of this identity.
    var isResolved = false

    /// Address type for events.
    var type: AddressType { AddressType(rawValue: address.kind.rawValue | (isResolved ? 2 : 0)) }
}

/// The resolving list: identities and IRKs used to generate and resolve private addresses. Core Vol 6, Part B, 4.7 and 6; Vol 4, Part E,
/// 7.8.38 to 7.8.45.
struct ResolvingList {
    private struct PrivateAddress {
        var address: DeviceAddress
        var made: Microseconds
        /// Position of the address lifetime between minimum and maximum, in units of 1/65536.
        var share: Int64 = 0
    }

    private struct Entry {
        let peer: DeviceAddress
        /// IRKs; 0 if the peer or the local device does not use private addresses with this entry.
        let peerIRK: UInt128
        let localIRK: UInt128
        var mode = PrivacyMode.network
        /// Local private address towards the peer.
        var local: PrivateAddress?
        /// TargetA: private address of the peer in directed advertising.
        var target: PrivateAddress?
        /// Last received address of the peer.
        var seen: DeviceAddress?
    }

    let capacity: Int
    private var entries: [Entry] = []
    /// True if address resolution is enabled; private addresses are generated in either case.
    var isEnabled = false
    /// RPA_Timeout, or RPA_Timeout_Min...RPA_Timeout_Max; the lifetime of each address is random within the range.
    var lifetime: ClosedRange<Microseconds> = .seconds(900) ... .seconds(900)
    /// True to resolve no address, as an injected fault.
    var isBlind = false
    /// True to use the Local_IRK of the first entry towards every peer, as an injected fault.
    var usesFirstLocalKey = false

    init(capacity: Int) { self.capacity = capacity }

    var isFull: Bool { entries.count >= capacity }

    // MARK: Host commands

    /// Adds an entry. An identity address is public or static; each identity address and each Peer_IRK is allowed once. Core Vol 4, Part E,
    /// 7.8.38.
    mutating func add(_ peer: DeviceAddress, peerIRK: UInt128, localIRK: UInt128) throws(CommandRefusal) {
        try Check.that(peer.kind == .public || peer.value >> 46 == 0b11)
        try Check.that(!entries.contains { $0.peer == peer || peerIRK != 0 && $0.peerIRK == peerIRK })
        try Check.that(!isFull, else: .memoryExceeded)
        entries.append(Entry(peer: peer, peerIRK: peerIRK, localIRK: localIRK))
    }

    mutating func remove(_ peer: DeviceAddress) throws(CommandRefusal) { entries.remove(at: try index(of: peer)) }

    mutating func clear() { entries.removeAll() }

    mutating func set(_ mode: PrivacyMode, of peer: DeviceAddress) throws(CommandRefusal) { entries[try index(of: peer)].mode = mode }

    /// Peer's resolvable private address in use; 0 if there is none.
    func peerAddress(of peer: DeviceAddress) throws(CommandRefusal) -> DeviceAddress {
        let entry = entries[try index(of: peer)]
        return entry.seen ?? entry.target?.address ?? DeviceAddress(value: 0)
    }

    /// Local resolvable private address towards the peer; 0 if there is none.
    func localAddress(of peer: DeviceAddress) throws(CommandRefusal) -> DeviceAddress {
        entries[try index(of: peer)].local?.address ?? DeviceAddress(value: 0)
    }

    private func index(of peer: DeviceAddress) throws(CommandRefusal) -> Int {
        guard let index = entries.firstIndex(where: { $0.peer == peer }) else { throw .unknownConnection }
        return index
    }

    // MARK: Received addresses

    /// Identity of an address. Nil if network privacy mode requires the packet to be ignored because a peer with an IRK uses its identity
    /// address; this is independent of address resolution. Core Vol 6, Part B, 4.7 and 6.
    mutating func identify(_ address: DeviceAddress) -> KnownDevice? {
        guard !isBlind else { return KnownDevice(address: address) }
        if address.isResolvablePrivate {
            guard isEnabled, let index = entries.firstIndex(where: { $0.peerIRK != 0 && address.resolves(with: $0.peerIRK) }) else {
                return KnownDevice(address: address)
            }
            entries[index].seen = address
            return KnownDevice(address: entries[index].peer, isResolved: true)
        }
        let isRefused = entries.contains { $0.peer == address && $0.peerIRK != 0 && $0.mode == .network }
        return isRefused ? nil : KnownDevice(address: address)
    }

    /// True if an address is a private address of the local device.
    ///
    /// - Parameter peer: identity of the device that used the address; only the IRK of its entry counts. Nil to check the IRKs of all
    ///   entries.
    func isLocal(_ address: DeviceAddress, towards peer: DeviceAddress? = nil) -> Bool {
        address.isResolvablePrivate
            && entries.contains { $0.localIRK != 0 && (peer ?? $0.peer) == $0.peer && address.resolves(with: $0.localIRK) }
    }

    // MARK: Sent addresses

    /// Local private address towards a peer, renewed after the timeout; nil if the entry has no local IRK.
    mutating func local(for peer: DeviceAddress, at now: Microseconds, _ secrets: inout SecretSource) -> DeviceAddress? {
        guard let index = entries.firstIndex(where: { $0.peer == peer && $0.localIRK != 0 }) else { return nil }
        let key = entries[usesFirstLocalKey ? 0 : index].localIRK
        return renewed(&entries[index].local, key, at: now, &secrets)
    }

    /// Address of a peer in directed advertising.
    mutating func target(for peer: DeviceAddress, at now: Microseconds, _ secrets: inout SecretSource) -> DeviceAddress {
        guard let index = entries.firstIndex(where: { $0.peer == peer && $0.peerIRK != 0 }) else { return peer }
        let key = entries[index].peerIRK
        return renewed(&entries[index].target, key, at: now, &secrets)
    }

    private func renewed(
        _ current: inout PrivateAddress?, _ key: UInt128, at now: Microseconds, _ secrets: inout SecretSource
    ) -> DeviceAddress {
        if let current, now - current.made < lifetime(current.share) { return current.address }
        // Neither all zeros nor all ones. Core Vol 6, Part B, 1.3.2.2.
        let prand = UInt32.random(in: 1..<0x3F_FFFF, using: &secrets)
        let address = DeviceAddress.resolvable(irk: key, prand: prand)
        let isDrawn = lifetime.lowerBound < lifetime.upperBound
        current = PrivateAddress(address: address, made: now, share: isDrawn ? .random(in: 0...65_536, using: &secrets) : 0)
        return address
    }

    private func lifetime(_ share: Int64) -> Microseconds {
        let (shortest, longest) = (lifetime.lowerBound.rawValue, lifetime.upperBound.rawValue)
        return Microseconds(shortest + (longest - shortest) * share / 65_536)
    }
}
