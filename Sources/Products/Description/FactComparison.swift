import BBPackets

/// The facts of a device that differ between its stored description and this run's survey: values, permissions, lengths, pairing and link.
/// Each is one clause of a sentence.
struct FactComparison {
    let stored: DeviceDescription
    let found: DeviceDescription

    /// True if a value that this survey has read was readable on an unencrypted link.
    private var isReadInClear: Bool { found.pairing == nil || !found.link.asks.contains("security") }

    /// - Parameter name: the characteristic, for the text.
    func differences(
        of known: DeviceDescription.Characteristic, _ now: DeviceDescription.Characteristic, _ name: String
    ) -> [String] {
        access(to: known, now, name) + value(of: known, now, name)
    }

    private func access(
        to known: DeviceDescription.Characteristic, _ now: DeviceDescription.Characteristic, _ name: String
    ) -> [String] {
        let guarded = known.protection ?? known.error.flatMap { DeviceFacts.protections.contains($0) ? $0 : nil }
        if let error = now.error {
            // Without a pairing, a protected value is refused as it was.
            guard error != guarded else { return [] }
            let code = ATTErrorCode(rawValue: error)
            if known.value != nil { return ["\(name) can no longer be read: \(code)"] }
            return known.error == nil || known.error == error ? [] : ["\(name) is refused with \(code)"]
        }
        guard now.value != nil, now.protection == nil else { return [] }
        if guarded != nil { return isReadInClear ? ["\(name) was protected and can be read in clear"] : [] }
        return known.error == nil ? [] : ["\(name) can be read"]
    }

    /// A value that is notified or indicated is expected to change.
    private func value(
        of known: DeviceDescription.Characteristic, _ now: DeviceDescription.Characteristic, _ name: String
    ) -> [String] {
        guard let old = known.value, let new = now.value, old != new else { return [] }
        if old.count != new.count { return ["the value of \(name) has \(new.count) octets, had \(old.count)"] }
        return now.properties & (Self.notify | Self.indicate) == 0 ? ["\(name) has another value"] : []
    }

    private static let (notify, indicate) = (0x10, 0x20)

    /// Differences of the pairing and of the link.
    var others: [String] {
        var clauses: [String] = []
        if let old = stored.pairing, let new = found.pairing, old != new {
            if old.isDeclined != new.isDeclined {
                clauses.append(new.isDeclined ? "it declines to pair" : "it pairs, which it declined")
            } else if new.io == nil {
                clauses.append("it does not answer Pairing_Request")
            } else {
                clauses.append("its Pairing_Response differs: \(Self.text(new)), was \(Self.text(old))")
            }
        }
        let (old, new) = (stored.link, found.link)
        if old.mtu != new.mtu { clauses.append("its ATT_MTU is \(new.mtu), was \(old.mtu)") }
        if old.dataLength != new.dataLength { clauses.append("its LL data PDUs have \(new.dataLength) octets, had \(old.dataLength)") }
        if old.phys != new.phys {
            clauses.append("its PHYs are \(new.phys.joined(separator: ", ")), were \(old.phys.joined(separator: ", "))")
        }
        let lost = old.features.filter { !new.features.contains($0) }
        if !lost.isEmpty { clauses.append("it no longer has \(lost.joined(separator: ", "))") }
        return clauses
    }

    private static func text(_ pairing: DeviceDescription.Pairing) -> String {
        ([pairing.io ?? "no answer"] + pairing.requirements + (pairing.keySize.map { ["\($0) octets"] } ?? [])).joined(separator: " ")
    }
}
