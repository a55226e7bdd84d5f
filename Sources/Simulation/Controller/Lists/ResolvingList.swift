import BluetoothCrypto
import Packets
import Timing

/// Whose an address on the air is.
struct KnownDevice: Hashable {
    /// The identity address where it is known, else the one on the air.
    var address: DeviceAddress
    /// Whether the one on the air was a resolvable private address of this identity.
    var isResolved = false

    /// As events tell it.
    var type: AddressType { AddressType(rawValue: address.kind.rawValue | (isResolved ? 2 : 0)) }
}

/// The identities and keys by which the controller makes and resolves private addresses. Core Vol 6, Part B, 4.7 and 6; Vol 4, Part E, 7.8.38 to 7.8.45.
struct ResolvingList {
    private struct PrivateAddress {
        var address: DeviceAddress
        var made: Microseconds
        /// Where between the shortest and the longest its lifetime lies, in 65536ths.
        var share: Int64 = 0
    }

    private struct Entry {
        let peer: DeviceAddress
        /// Zero for a peer, or for this side, that uses no private addresses.
        let peerIRK: UInt128
        let localIRK: UInt128
        var mode = PrivacyMode.network
        /// What this side goes by towards the peer.
        var local: PrivateAddress?
        /// What directed advertising calls the peer.
        var target: PrivateAddress?
        /// What the peer last went by.
        var seen: DeviceAddress?
    }

    let capacity: Int
    private var entries: [Entry] = []
    /// Whether addresses are resolved; private addresses are made in either case.
    var isEnabled = false
    /// RPA_Timeout, or RPA_Timeout_Min to RPA_Timeout_Max: each address lasts as long as is drawn for it.
    var lifetime: ClosedRange<Microseconds> = .seconds(900) ... .seconds(900)
    /// Whether it resolves nothing: a planted fault.
    var isBlind = false

    init(capacity: Int) { self.capacity = capacity }

    var isFull: Bool { entries.count >= capacity }

    // MARK: The host's

    /// An identity address is public or static; no other entry has it, or the same Peer_IRK. Core Vol 4, Part E, 7.8.38.
    mutating func add(_ peer: DeviceAddress, peerIRK: UInt128, localIRK: UInt128) throws(CommandFailure) {
        try Check.that(peer.kind == .public || peer.value >> 46 == 0b11)
        try Check.that(!entries.contains { $0.peer == peer || peerIRK != 0 && $0.peerIRK == peerIRK })
        try Check.that(!isFull, else: .memoryExceeded)
        entries.append(Entry(peer: peer, peerIRK: peerIRK, localIRK: localIRK))
    }

    mutating func remove(_ peer: DeviceAddress) throws(CommandFailure) { entries.remove(at: try index(of: peer)) }

    mutating func clear() { entries.removeAll() }

    mutating func set(_ mode: PrivacyMode, of peer: DeviceAddress) throws(CommandFailure) { entries[try index(of: peer)].mode = mode }

    /// What the peer last went by, or is called in directed advertising; zero before.
    func peerAddress(of peer: DeviceAddress) throws(CommandFailure) -> DeviceAddress {
        let entry = entries[try index(of: peer)]
        return entry.seen ?? entry.target?.address ?? DeviceAddress(value: 0)
    }

    /// What this side goes by towards the peer; zero before.
    func localAddress(of peer: DeviceAddress) throws(CommandFailure) -> DeviceAddress {
        entries[try index(of: peer)].local?.address ?? DeviceAddress(value: 0)
    }

    private func index(of peer: DeviceAddress) throws(CommandFailure) -> Int {
        guard let index = entries.firstIndex(where: { $0.peer == peer }) else { throw .unknownConnection }
        return index
    }

    // MARK: Addresses that come

    /// Whose an address is; nil where a device that has a key goes by its identity, which network privacy mode does not take, whether or not addresses are resolved. Core Vol 6,
    /// Part B, 4.7 and 6.
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

    /// Whether an address is a private one of this side.
    ///
    /// - Parameter peer: the identity of the device that calls this side so: the key of its entry alone counts. Nil for the keys of all entries.
    func isLocal(_ address: DeviceAddress, towards peer: DeviceAddress? = nil) -> Bool {
        address.isResolvablePrivate
            && entries.contains { $0.localIRK != 0 && (peer ?? $0.peer) == $0.peer && address.resolves(with: $0.localIRK) }
    }

    // MARK: Addresses that go

    /// What this side goes by towards a peer, anew after the time-out; nil where it has no key for that.
    mutating func local(for peer: DeviceAddress, at now: Microseconds, _ secrets: inout SecretSource) -> DeviceAddress? {
        guard let index = entries.firstIndex(where: { $0.peer == peer && $0.localIRK != 0 }) else { return nil }
        let key = entries[index].localIRK
        return renewed(&entries[index].local, key, at: now, &secrets)
    }

    /// What directed advertising calls a peer.
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
