import BBBluetoothCrypto
import BBCases
import BBHCI
import BBHost
import BBPackets
import BBTiming

/// The addresses of a case's ends, and their keys before they took other identities.
struct CaseIdentities {
    /// The address and its type of each side, for the cases.
    private(set) var values: [Side: CaseValue] = [:]
    private let plan: AddressPlan
    /// The public addresses of the devices.
    private var publicAddresses: Set<BDADDR> = []
    private var secrets: SecretSource
    private var first: [Side: (address: DeviceAddress, keys: KeyStore)] = [:]

    init(_ plan: AddressPlan, on loop: RunLoop) {
        self.plan = plan
        secrets = SecretSource(seed: plan.seed, label: "addresses", on: loop)
    }

    /// Chooses the address of an end whose controller has a public address.
    ///
    /// - Parameter wanted: nil for the address of the run's settings.
    mutating func choose(_ wanted: OwnAddress?, for end: Endpoint, publicAddress: BDADDR) -> DeviceAddress {
        let drawn = secrets.next()
        let doubt = PublicAddressDoubt(
            publicAddress, others: publicAddresses, origin: end.knowledge?.originOfSharedAddress(publicAddress))
        publicAddresses.insert(publicAddress)
        var choice = wanted ?? plan.own[end.side] ?? .automatic
        if choice == .automatic, doubt != nil || plan.isStranger && end.side == .tester { choice = .drawn }
        return choice.address(ofPublic: publicAddress) { drawn }
    }

    mutating func note(_ address: BDADDR, isRandom: Bool, of side: Side) {
        values[side] = .record(CaseRecord([("address", .text(address.description)), ("type", .number(isRandom ? 1 : 0))]))
    }

    /// Keeps the first identity of a side.
    mutating func keep(_ address: DeviceAddress?, _ keys: KeyStore, of side: Side) {
        if first[side] == nil, let address { first[side] = (address, keys) }
    }

    /// The identity of a side before it took another one; nil if it had no other.
    func first(of side: Side) -> (address: DeviceAddress, keys: KeyStore)? { first[side] }
}
