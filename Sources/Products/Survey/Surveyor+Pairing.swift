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
        pairing.take(record.response)
        return pairing
    }
}

extension DeviceDescription.Pairing {
    init(_ response: SMP.PairingResponse) { take(response) }

    mutating func take(_ response: SMP.PairingResponse?) {
        guard let response else { return }
        io = "\(response.ioCapability)"
        requirements = Self.bits.filter { response.authReq.contains($0.1) }.map(\.0)
        keySize = Int(response.maximumEncryptionKeySize)
    }

    private static let bits: [(String, AuthReq)] = [
        ("Bonding", .bonding), ("MITM", .mitm), ("SC", .sc), ("Keypress", .keypress), ("CT2", .ct2),
    ]
}
