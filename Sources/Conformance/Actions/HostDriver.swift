import BBBluetoothCrypto
import BBCases
import BBHost
import BBPackets
import BBProducts
import BBTiming

/// The bench's host on an endpoint: an accessory at the subject, or the host that runs the tester's actions.
final class HostDriver {
    let host: Host
    let loop: RunLoop
    private var accessory: (any Accessory)?
    var links: [UInt16: Connection] = [:]
    /// The BR/EDR connections by handle.
    var classicLinks: [UInt16: ClassicConnection] = [:]
    /// The simulated user who answers the host's questions during pairing.
    var user = PairingUser(passkey: nil)
    /// Questions wait for `answer pairing`.
    var userWaits = false
    private var questions: [(PairingUser) -> Void] = []

    private init(_ host: Host, loop: RunLoop) {
        self.host = host
        self.loop = loop
    }

    /// The attributes of a host that is no accessory. That of the subject can encrypt its advertising data.
    private static func plainDatabase(of side: Side, on loop: RunLoop) -> GATTDatabase {
        var secrets = SecretSource(seed: 2, label: "advertising keys", on: loop)
        return GATTDatabase(
            deviceName: "Bluebench Tester", hasEnhancedBearers: side == .subject,
            advertisingKeys: side == .subject ? AdvertisingKeyMaterial(drawnFrom: &secrets) : nil)
    }

    /// Starts a host on an end of the case.
    ///
    /// - Parameters:
    ///   - kind: the kind of accessory.
    ///   - accessory: the accessory's differences from the default; nil for no accessory.
    ///   - keys: the stored keys; nil for a host without bonds.
    static func start(
        on end: Endpoint, loop: RunLoop, kind: AccessoryKind = .reference, accessory conduct: AccessoryConduct?,
        faults: [QuirkSetting], rewrites: [Fault.Rewrite], keys: KeyStore? = nil
    )
        async throws
        -> HostDriver
    {
        let database = conduct != nil ? kind.database : plainDatabase(of: end.side, on: loop)
        // Two hosts with the same seed would generate the same keys.
        let host = Host(loop: loop, transport: end, database: database, seed: end.side == .tester ? 1 : 2)
        if let keys { host.keys = keys }
        host.knowledge = end.knowledge
        if let address = end.address, address.kind == .random { host.addressChoice = .fixed(address) }
        let driver = HostDriver(host, loop: loop)
        do {
            _ = try await host.start()
        } catch let error as HostError {
            throw StepFailure(.environment, "the host of the \(end.side.rawValue) does not start: \(error)")
        }
        host.quirks = try FaultRules.hostQuirks(faults, rewrites)
        host.pairingDialogue = driver.dialogue
        host.newConnections.add { [weak driver] link in driver?.links[link.handle.rawValue] = link }
        host.newClassicConnections.add { [weak driver] link in driver?.classicLinks[link.handle.rawValue] = link }
        if let conduct {
            let accessory = kind.make(host, conduct: conduct)
            driver.accessory = accessory
            await accessory.start()
        }
        return driver
    }

    /// The stored keys, which persist without power: bonds and the host's own identity.
    var storedKeys: KeyStore {
        let kept = KeyStore()
        kept.identityResolvingKey = host.keys.identityResolvingKey
        kept.identityAddress = host.keys.identityAddress
        for bond in host.keys.all { kept.add(bond) }
        return kept
    }

    private var dialogue: PairingDialogue {
        PairingDialogue(
            showPasskey: { [weak self] _, number in self?.user.sees(number) },
            enterPasskey: { [weak self] _, answer in self?.ask { answer($0.passkey) } },
            compare: { [weak self] _, number, answer in
                self?.user.sees(number)
                self?.ask { answer($0.agrees) }
            },
            consent: { [weak self] _, answer in self?.ask { answer($0.agrees) } })
    }

    private func ask(_ question: @escaping (PairingUser) -> Void) {
        if userWaits { questions.append(question) } else { question(user) }
    }

    /// Answers the questions that wait, and later ones at once.
    func answerPairing(passkey: UInt32, agrees: Bool) {
        (user.passkey, user.agrees, userWaits) = (passkey, agrees, false)
        let waiting = questions
        questions = []
        for question in waiting { question(user) }
    }

    func stop() async {
        await accessory?.stop()
        accessory = nil
        host.close()
    }
}
