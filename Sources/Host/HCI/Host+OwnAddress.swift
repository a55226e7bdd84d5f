import BluetoothCrypto
import HCI
import Packets

extension Host {
    /// Selects the own address. A controller without a public address rejects commands that need one, and a shared address would be
    /// mistaken for another device's. Core Vol 4, Part E, 7.4.6 and 7.8.5.
    func takeAddress() async throws {
        let own = controller.address.bdADDR
        let isAutomatic = addressChoice == .automatic
        let doubt = PublicAddressDoubt(
            own, others: othersAddresses, origin: knowledge?.originOfSharedAddress(own), isKnownShared: workarounds.hasSharedAddress)
        let choice = isAutomatic && doubt != nil ? OwnAddress.drawn : addressChoice
        address = choice.address(ofPublic: own) { addresses.next() }
        guard address.kind == .random else { return }
        if isAutomatic, let doubt {
            context.learned.note(doubt.kind, "\(doubt.text(own)): it goes by a static random address")
        }
        try await setRandomAddress(address)
    }
}
