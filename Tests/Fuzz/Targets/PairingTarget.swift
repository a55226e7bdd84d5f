import BBBluetoothCrypto
import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    private static let pairingLayer: LayerOfAction = { [0, 3].contains($0.kind) ? .smp : nil }

    /// Two security managers that pair, with PDUs inserted, changed and lost, users who reply anything at any time, and encryption turned
    /// on and off: no end sends endlessly, there is no level without a key, and two that complete Secure Connections pairing share the key.
    static let pairing = FuzzTarget(
        name: "pairing", layer: pairingLayer,
        seeds: {
            let pass = Frames.Frame(action: .init(end: 0, kind: 1, extra: 3), packet: [])
            let begin = [UInt8(0), 1].map { Frames.Frame(action: .init(end: Int($0), kind: 2), packet: [0]) }
            let answers = [UInt8(1), 2].map { Frames.Frame(action: .init(end: 0, kind: 2), packet: [$0, 0]) }
            return Seeds.declared(pairingLayer)
                + (UInt8(0)..<64).map { setting in
                    let turn =
                        answers + answers.map { Frames.Frame(action: .init(end: 1, kind: 2), packet: $0.packet) } + [pass, pass, pass]
                    return Frames(settings: setting * 4 + 1, [begin[Int(setting & 1)], pass] + turn + turn + turn + turn).octets()
                }
        },
        run: { input in
            let frames = Frames(input)
            var table = PairingTable(frames.settings)
            for frame in frames.list { try table.take(frame) }
            try table.check()
        })
}

/// Both ends and the PDUs in transit.
private struct PairingTable {
    private enum Mail {
        case pdu([UInt8])
        case encrypt(LongTermKey)
    }

    private var managers = [SecurityManager(), SecurityManager()]
    private var setups: [PairingSetup]
    private var results: [PairingResult?] = [nil, nil]
    private var keys: [LongTermKey?] = [nil, nil]
    private var isSilent = [false, false]
    private var mail: [(to: Int, Mail)] = []
    private var now = Microseconds(0)
    private static let addresses = [DeviceAddress(value: 0xC0_0000_0000_01, kind: .random), DeviceAddress(value: 0xB1)]

    /// - Parameter choice: two bits for each end's IO capability, then MITM, generation, keys and key size.
    init(_ choice: UInt8) {
        setups = (0..<2).map { end in
            var settings = PairingSettings()
            settings.ioCapability = IOCapability((choice >> UInt8(2 * end) & 3) + UInt8(end))
            settings.asksForMITM = choice & 0x10 != 0
            settings.supportsSecureConnections = choice & 0x20 == 0
            if choice & 0x40 != 0 { (settings.localKeys, settings.peerKeys) = ([.encKey, .idKey, .signKey], [.encKey, .idKey, .signKey]) }
            settings.maximumKeySize = choice & 0x80 == 0 ? 16 : 7
            settings.usesKeypressNotifications = true
            settings.passkey = 123_456
            return PairingSetup(
                settings: settings, isCentral: end == 0, own: Self.addresses[end], peer: Self.addresses[1 - end],
                identity: Self.addresses[end],
                identityResolvingKey: [UInt8](repeating: 1, count: 16), bond: nil, outOfBand: nil, mustWait: false,
                secrets: SecretSource(seed: UInt64(end), label: "end", on: RunLoop()), quirks: PairingQuirks())
        }
    }

    mutating func take(_ frame: Frames.Frame) throws {
        let end = frame.action.end
        now = now + frame.action.pause
        switch frame.action.kind {
        case 0: try received(frame.packet, at: end)
        case 1: for _ in 0...8 * frame.action.extra { try deliver { $0 } }
        case 2: try happens(frame.packet, at: end)
        default: try deliver { frame.packet.isEmpty ? $0 : frame.packet }
        }
    }

    private mutating func deliver(_ change: ([UInt8]) -> [UInt8]) throws {
        guard !mail.isEmpty else { return }
        let (end, item) = mail.removeFirst()
        switch item {
        case .pdu(let pdu): try received(change(pdu), at: end)
        case .encrypt(let key): try encrypt(key)
        }
    }

    private mutating func received(_ pdu: [UInt8], at end: Int) throws {
        try perform(managers[end].received(pdu, setups[end], at: now), end)
    }

    private mutating func happens(_ what: [UInt8], at end: Int) throws {
        switch what.first ?? 0 {
        case 0: try perform(managers[end].pair(setups[end], setups[end].settings ?? PairingSettings(), at: now), end)
        case 1: try perform(managers[end].answered(.passkey(what.last == 1 ? nil : 123_456), at: now), end)
        case 2: try perform(managers[end].answered(.agrees(what.last != 1), at: now), end)
        case 3:
            let level = managers[end].level
            let actions = managers[end].encryptionChanged(isOn: what.last == 1, setups[end], at: now)
            try promise(what.last != 1 || actions != nil || managers[end].level == level, "a level without a key")
            try perform(actions ?? [], end)
        case 4: try perform(managers[end].encryptionFailed(.peer(.rejected("", .pinOrKeyMissing)), at: now), end)
        case 5:
            isSilent[end] = isSilent[end] || managers[end].isBusy
            try perform(managers[end].expire(), end)
        default: _ = managers[end].key(encryptedDiversifier: 0, randomNumber: 0, of: nil)
        }
    }

    private mutating func encrypt(_ key: LongTermKey) throws {
        let answer = managers[1].key(encryptedDiversifier: key.encryptedDiversifier, randomNumber: key.randomNumber, of: nil)
        guard answer == key.value else {
            return try perform(managers[0].encryptionFailed(.peer(.rejected("", .pinOrKeyMissing)), at: now), 0)
        }
        for end in [1, 0] {
            // A central whose pairing has ended meanwhile rejects it.
            try perform(managers[end].encryptionChanged(isOn: true, setups[end], at: now) ?? [], end)
        }
    }

    private mutating func perform(_ actions: [SecurityAction], _ end: Int) throws {
        try promise(actions.count <= 12, "\(actions.count) actions at once")
        for action in actions {
            switch action {
            case .send(let pdu):
                try promise(!isSilent[end] && pdu.count <= 65, "sent after the time-out: \(Hex.octets(pdu))")
                // Another pairing starts, so the result of the last one no longer counts.
                if pdu.first == SMP.PairingPublicKey.opcode { (results[end], keys[end]) = (nil, nil) }
                mail.append((1 - end, .pdu(pdu)))
            case .encrypt(let key): mail.append((1, .encrypt(key)))
            case .completed(let result, let bond, _):
                results[end] = result
                keys[end] = bond?.localLongTermKey
                for key in [bond?.localLongTermKey, bond?.peerLongTermKey] {
                    try promise(key?.value.dropFirst(key?.size ?? 0).allSatisfy { $0 == 0 } ?? true, "a key longer than agreed")
                }
            case .failed, .ask, .keypress: break
            }
        }
        try promise((managers[end].deadline != nil) == managers[end].isBusy, "no deadline while busy, or one while idle")
        if mail.count > 64 { mail.removeFirst(mail.count - 64) }
    }

    func check() throws {
        for end in 0..<2 where managers[end].level > .none {
            try promise((7...16).contains(managers[end].keySize), "a level without a key")
        }
        if let central = results[0], let peripheral = results[1], central.isSecureConnections, peripheral.isSecureConnections,
            let one = keys[0], let other = keys[1], managers[0].level > .none, managers[1].level > .none
        {
            try promise(one == other, "two keys of Secure Connections")
        }
    }
}
