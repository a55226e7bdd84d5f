import BBPackets

/// Merges what two processes have changed in one bond file since both knew the same content.
extension KeyStore.Content {
    /// The changes of both sides, which belong to the same kind of time. The side that writes second is `ours`.
    static func merged(base: Self, ours: Self, theirs: Self) -> Self {
        var merged = Self(isOfVirtualTime: ours.isOfVirtualTime)
        // Peers know the identity that was stored first.
        merged.identityAddress = merge(base.identityAddress, ours: ours.identityAddress, first: theirs.identityAddress)
        merged.identityResolvingKey = merge(base.identityResolvingKey, ours: ours.identityResolvingKey, first: theirs.identityResolvingKey)
        for peer in Set(ours.entries.keys).union(theirs.entries.keys) {
            merged.entries[peer] = KeyStore.Entry.merged(
                base: base.entries[peer], ours: ours.entries[peer], theirs: theirs.entries[peer])
        }
        // An address belongs to one device only: that of the latest pairing.
        for (peer, entry) in ours.entries where entry.bond.pairing != base.entries[peer]?.bond.pairing {
            for (other, known) in merged.entries where other != peer && known.bond.addressOnAir == entry.bond.addressOnAir {
                merged.entries[other]?.bond.addressOnAir = nil
            }
        }
        return merged
    }

    private static func merge<Value: Equatable>(_ base: Value, ours: Value, first: Value) -> Value { first == base ? ours : first }
}

extension KeyStore.Entry {
    /// The entry of one peer; nil if it is removed.
    ///
    /// A new pairing counts more than anything else, then a removal, then a change of what belongs to the same keys.
    static func merged(base: Self?, ours: Self?, theirs: Self?) -> Self? {
        if ours == base { return theirs }
        if theirs == base { return ours }
        guard let ours, let theirs else {
            let kept = ours ?? theirs
            return kept?.bond.pairing == base?.bond.pairing && kept?.bond.linkKey == base?.bond.linkKey ? nil : kept
        }
        let known = base ?? Self(bond: Bond(ours.bond.identity))
        var merged = ours
        if ours.bond.pairing == theirs.bond.pairing {
            merged.addChanges(of: theirs, since: known)
        } else if ours.bond.pairing == known.bond.pairing {
            merged = theirs
        }
        merged.bond.linkKey = ours.bond.linkKey == known.bond.linkKey ? theirs.bond.linkKey : ours.bond.linkKey
        return merged
    }

    /// Takes over what the other side has changed and this one has not; both have the same keys.
    private mutating func addChanges(of other: Self, since base: Self) {
        if client == base.client { client = other.client }
        if database == base.database { database = other.database }
        if bond.resolvesAddresses == base.bond.resolvesAddresses { bond.resolvesAddresses = other.bond.resolvesAddresses }
        if bond.addressOnAir == base.bond.addressOnAir { bond.addressOnAir = other.bond.addressOnAir }
        // A counter never goes back: a number must not be used or accepted twice. Core Vol 3, Part H, 2.4.5.
        bond.localSigningKey?.raise(to: other.bond.localSigningKey)
        bond.peerSigningKey?.raise(to: other.bond.peerSigningKey)
    }
}

extension SigningKey {
    fileprivate mutating func raise(to other: SigningKey?) { counter = max(counter, other?.counter ?? 0) }
}

extension Bond {
    /// The part that is the result of one pairing over LE; the rest may change later.
    fileprivate var pairing: Bond {
        var pairing = self
        (pairing.addressOnAir, pairing.resolvesAddresses, pairing.linkKey) = (nil, nil, nil)
        pairing.localSigningKey?.counter = 0
        pairing.peerSigningKey?.counter = 0
        return pairing
    }
}
