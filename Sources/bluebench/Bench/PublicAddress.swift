import Host
import Packets

/// A device is known on BR/EDR by its public address.
enum PublicAddress {
    /// - Parameter chosen: the address that the bonds give the bench, if they do.
    /// - Throws: a usage error where that is another kind of address, a failure of the bench where the controller has none.
    static func check(_ host: Host, chosen: DeviceAddress?) throws {
        guard host.address.kind != .public else { return }
        guard chosen == nil else {
            throw CommandFailure(
                .usage,
                "a device is known on BR/EDR by its public address, and the bonds give the bench \(host.address.argument); name others by "
                    + "--bonds")
        }
        let reason = host.learned.all.first { [.addressMissing, .addressIsDefault, .addressIsShared].contains($0.kind) }?.text
        throw CommandFailure(
            .bench,
            "a device is known on BR/EDR by its public address, and the controller has none of its own" + (reason.map { ": \($0)" } ?? ""))
    }
}
