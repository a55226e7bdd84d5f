import BBHost
import BBPackets

/// The check that BR/EDR has a public address.
enum PublicAddress {
    /// Checks that pairing over BR/EDR is possible: the bench's address is public.
    ///
    /// - Parameter chosen: the bench's address in the bonds, if there is one.
    /// - Throws: a usage error if that is not public, a failure of the bench if the controller has no public address.
    static func check(_ host: Host, chosen: DeviceAddress?) throws {
        guard host.address.kind != .public else { return }
        guard chosen == nil else {
            throw CommandFailure(
                .usage,
                "BR/EDR needs a public address, but the bonds give this device \(host.address.argument); name others by "
                    + "--bonds")
        }
        let reason = host.learned.all.first { [.addressMissing, .addressIsDefault, .addressIsShared].contains($0.kind) }?.text
        throw CommandFailure(
            .bench,
            "BR/EDR needs a public address, and this controller has none of its own" + (reason.map { ": \($0)" } ?? ""))
    }
}
