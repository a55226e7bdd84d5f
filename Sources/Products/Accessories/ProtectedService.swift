import BBHost
import BBPackets
import BBTiming

/// The protected service of the accessory of docs/guide/accessory.md, with the characteristic by which a client configures its pairing.
final class ProtectedService {
    private let host: Host
    private let loop: RunLoop
    private let conduct: AccessoryConduct
    private var user = PairingUser(passkey: nil)
    private var tasks: [Activity<Void>] = []
    private var extra: PublishedService?
    private var handles: [UInt16: UInt16] = [:]
    /// Completes a pending passkey request.
    private var waiting: ((UInt32?) -> Void)?

    private static let values: [UInt16: [UInt8]] = [0x11: [0x11], 0x12: [0x12], 0x13: [0x13], 0x14: [0x14], 0x15: [0x15], 0x18: [0x18]]

    init(_ host: Host, loop: RunLoop, conduct: AccessoryConduct) {
        self.host = host
        self.loop = loop
        self.conduct = conduct
        host.pairingDialogue = dialogue
        if conduct.hasNoIRK { host.keys.identityResolvingKey = [UInt8](repeating: 0, count: 16) }
        restore()
    }

    func stop() async {
        for task in tasks { task.cancel() }
        for task in tasks { await task.ended() }
        tasks.removeAll()
    }

    /// Restores the state of a new connection; bonds remain.
    func restore() {
        user = PairingUser(passkey: nil)
        waiting = nil
        host.pairingSettings = conduct.pairing
        for (digits, value) in Self.values { if let handle = handles[digits] { host.database[handle] = value } }
    }

    /// Requests security, or ends the link after a failed pairing, if its conduct requires that.
    func connected(_ link: Connection) {
        if conduct.leavesAfterFailure {
            link.events.add { [weak self, weak link] event in
                guard case .pairingFailed = event, let self, let link else { return }
                leave(link)
            }
        }
        if conduct.leavesUnencrypted, link.bond != nil { leave(link) { link.security == .none } }
        guard conduct.asksForSecurity else { return }
        tasks.append(
            loop.start { [self] in
                try await loop.sleep(for: conduct.delay)
                _ = try? await link.pair()
            })
    }

    private func leave(_ link: Connection, if holds: @escaping () -> Bool = { true }) {
        tasks.append(
            loop.start { [self] in
                try await loop.sleep(for: conduct.delay)
                if holds() { _ = try? await link.disconnect(.authenticationFailure) }
            })
    }

    /// Answers after the user's delay, as given by its conduct.
    private func answerLater(_ answer: @escaping () -> Void) {
        guard conduct.userTakes > .zero else { return answer() }
        tasks.append(
            loop.start { [self] in
                try await loop.sleep(for: conduct.userTakes)
                answer()
            })
    }

    private var dialogue: PairingDialogue {
        PairingDialogue(
            showPasskey: { [weak self] _, number in self?.user.sees(number) },
            enterPasskey: { [weak self] _, answer in
                guard let passkey = self?.user.passkey else {
                    self?.waiting = answer
                    return
                }
                self?.answerLater { answer(passkey) }
            },
            compare: { [weak self] _, number, answer in
                self?.user.sees(number)
                self?.answerLater { answer(self?.user.agrees ?? false) }
            },
            consent: { [weak self] _, answer in self?.answerLater { answer(self?.user.agrees ?? false) } })
    }

    // MARK: Attributes

    func publish() {
        let service = host.database.add(ServiceDefinition(ReferenceAccessory.uuid(0x10), characteristics: characteristics))
        for digits in Self.values.keys { handles[digits] = service[ReferenceAccessory.uuid(digits)]?.value }
        restore()
    }

    private var characteristics: [CharacteristicDefinition] {
        var encrypted = Self.value(0x11, [.read, .write, .readEncrypted, .writeEncrypted])
        encrypted.properties.insert(.writeWithoutResponse)
        var long = Self.value(0x14, [.read, .write, .readEncrypted, .writeEncrypted])
        long.minimumKeySize = 16
        var notifier = CharacteristicDefinition(ReferenceAccessory.uuid(0x19), properties: .notify, permissions: [])
        notifier.configurationPermissions = [.read, .write, .writeEncrypted]
        return [
            encrypted,
            Self.value(0x12, [.read, .write, .readAuthenticated, .writeAuthenticated]),
            Self.value(0x13, [.read, .write, .readSecureConnections, .writeSecureConnections]), long,
            Self.value(0x15, [.read, .write, .readAuthorized, .writeAuthorized]),
            CharacteristicDefinition(
                ReferenceAccessory.uuid(0x16), properties: .read, onRead: { [unowned self] _ in .value(Self.octets(user.shown ?? .max)) }),
            CharacteristicDefinition(
                ReferenceAccessory.uuid(0x17), properties: .write,
                onWrite: { [unowned self] access, value in control(access.connection, value.withUnsafeBytes { Array($0) }) }),
            CharacteristicDefinition(
                ReferenceAccessory.uuid(0x18), properties: [.read, .signedWrite], permissions: [.read, .write, .writeSigned], value: [0x18],
                maximumLength: 8),
            notifier,
        ]
    }

    private static func value(_ digits: UInt16, _ permissions: AttributePermissions) -> CharacteristicDefinition {
        CharacteristicDefinition(
            ReferenceAccessory.uuid(digits), properties: [.read, .write], permissions: permissions, value: values[digits] ?? [],
            maximumLength: 8)
    }

    private static func octets(_ number: UInt32) -> [UInt8] { [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> $0) } }

    // MARK: The characteristic Pairing

    private func control(_ link: Connection?, _ value: [UInt8]) -> ATTErrorCode? {
        guard let opcode = value.first else { return ATTErrorCode(0x0D) }
        let parameters = Array(value.dropFirst())
        let lengths: [UInt8: Int] = [1: 6, 2: 4, 3: 0, 4: 0, 5: 1, 6: 3, 7: 16]
        guard let length = lengths[opcode] else { return ATTErrorCode(0x80) }
        guard parameters.count == length, let link else { return ATTErrorCode(0x0D) }
        if opcode == 1, !conduct.isAble(settings(parameters)) { return Self.notAble }
        perform(opcode, parameters, on: link)
        return nil
    }

    /// The application error of docs/guide/accessory.md for an unsupported feature.
    private static let notAble = ATTErrorCode(0x81)

    private func perform(_ opcode: UInt8, _ parameters: [UInt8], on link: Connection) {
        switch opcode {
        case 1: host.pairingSettings = settings(parameters)
        case 2: enter(parameters.reversed().reduce(0) { $0 << 8 | UInt32($1) })
        case 3: tasks.append(loop.start { _ = try? await link.pair() })
        case 4: for bond in host.keys.all { host.keys.remove(PeerIdentity(bond.identity)) }
        case 5: user.agrees = parameters[0] != 0
        case 6: changeDatabase(isLarger: parameters[0] != 0, after: UInt16(parameters[1]) | UInt16(parameters[2]) << 8)
        default: host.pairingSettings?.outOfBandData = OutOfBandData(temporaryKey: parameters)
        }
    }

    private func settings(_ parameters: [UInt8]) -> PairingSettings {
        var settings = PairingSettings()
        let requirements = AuthReq(rawValue: parameters[1])
        settings.ioCapability = IOCapability(rawValue: parameters[0])
        settings.isBonding = requirements.contains(.bonding)
        settings.asksForMITM = requirements.contains(.mitm)
        settings.supportsSecureConnections = requirements.contains(.sc)
        settings.usesKeypressNotifications = requirements.contains(.keypress)
        settings.minimumKeySize = max(7, min(16, Int(parameters[2])))
        settings.maximumKeySize = max(settings.minimumKeySize, min(16, Int(parameters[3])))
        settings.localKeys = KeyDistribution(rawValue: parameters[4] & 7)
        settings.peerKeys = settings.localKeys
        settings.minimumLevel = [.encrypted, .authenticated, .secureConnections][min(2, Int(parameters[5]))]
        settings.passkey = user.passkey
        return settings
    }

    private func enter(_ passkey: UInt32) {
        user.passkey = passkey
        host.pairingSettings?.passkey = passkey
        waiting?(passkey)
        waiting = nil
    }

    private func changeDatabase(isLarger: Bool, after milliseconds: UInt16) {
        tasks.append(
            loop.start { [self] in
                try await loop.sleep(for: .milliseconds(Int(milliseconds)))
                changeDatabase(isLarger: isLarger)
            })
    }

    private func changeDatabase(isLarger: Bool) {
        defer {
            if conduct.restartsAtChanges { for link in host.connections { tasks.append(loop.start { _ = try? await link.disconnect() }) } }
        }
        if let service = extra { host.database.remove(service) }
        extra = nil
        guard isLarger else { return }
        extra = host.database.add(
            ServiceDefinition(
                ReferenceAccessory.uuid(0x20),
                characteristics: [CharacteristicDefinition(ReferenceAccessory.uuid(0x21), properties: .read, value: [0x21])]))
    }
}
