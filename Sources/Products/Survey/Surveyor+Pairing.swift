import BBHost
import BBPackets

extension Surveyor {
    /// Sends a Pairing Request. Core Vol 3, Part H, 3.5.
    ///
    /// - Parameter isComplete: false to end the pairing after the answer.
    package func pairing(
        on link: Connection, _ settings: PairingSettings = PairingSettings(), isComplete: Bool = false
    ) async throws -> DeviceDescription.Pairing {
        let record = PairingRecord()
        let observer = link.pduObservers.add { [unowned link] direction, channel, payload in
            guard channel == CID.smp else { return }
            let isAnswered = record.response != nil
            record.add(direction, payload.octets)
            if !isComplete, !isAnswered, record.response != nil { link.cancelPairing() }
        }
        defer { link.pduObservers.remove(observer) }
        var pairing = DeviceDescription.Pairing()
        do {
            if link.security == .none { _ = try await link.pair(settings) }
        } catch HostError.peer(let fault) where record.response == nil || isComplete {
            let failure = record.failure(fault)
            pairing.isDeclined = (failure as? PairingFault)?.cause == .declined
            guard pairing.isDeclined else { throw failure }
        } catch HostError.peer(.pairingRefused) {}
        guard let response = record.response else { return pairing }
        pairing.io = "\(response.ioCapability)"
        pairing.requirements = Self.requirements.filter { response.authReq.contains($0.1) }.map(\.0)
        pairing.keySize = Int(response.maximumEncryptionKeySize)
        return pairing
    }

    private static let requirements: [(String, AuthReq)] = [
        ("Bonding", .bonding), ("MITM", .mitm), ("SC", .sc), ("Keypress", .keypress), ("CT2", .ct2),
    ]
}
