import BBBluetoothCrypto
import BBPackets
import BBTiming

@testable import BBHost

/// Two directly connected security managers, with a user who reads both displays.
struct PairingLab {
    enum Side: Sendable, Hashable {
        case central
        case peripheral
        var other: Side { self == .central ? .peripheral : .central }
    }

    /// One end.
    struct End {
        var manager = SecurityManager()
        var setup: PairingSetup
        var shown: UInt32?
        var compared: UInt32?
        var questions: [PairingQuestion] = []
        var keypresses: [Keypress] = []
        var key: LongTermKey?
        var result: PairingResult?
        var bond: Bond?
        var error: HostError?
    }

    private(set) var ends: [Side: End]
    /// PDUs in transit.
    private var mail: [(to: Side, pdu: [UInt8])] = []
    private var unanswered: [(Side, PairingQuestion)] = []
    /// Transcript: C or P and the opcode, E for encryption.
    private(set) var transcript: [String] = []
    var now = Microseconds(0)
    /// Modification of a PDU in transit.
    var onTheWay: (Side, [UInt8]) -> [[UInt8]] = { [$1] }
    /// Reply of the user instead of the correct one.
    var answer: (Side, PairingQuestion) -> PairingAnswer? = { _, _ in nil }

    static let central = DeviceAddress(value: 0xA1A2_A3A4_A5A6, kind: .random)
    static let peripheral = DeviceAddress(value: 0xB1B2_B3B4_B5B6)

    init(_ central: PairingSettings?, _ peripheral: PairingSettings?, seed: UInt64 = 1) {
        ends = [
            .central: End(setup: Self.setup(central, isCentral: true, seed: seed)),
            .peripheral: End(setup: Self.setup(peripheral, isCentral: false, seed: seed + 100)),
        ]
    }

    private static func setup(_ settings: PairingSettings?, isCentral: Bool, seed: UInt64) -> PairingSetup {
        PairingSetup(
            settings: settings, isCentral: isCentral, own: isCentral ? central : peripheral, peer: isCentral ? peripheral : central,
            identity: isCentral ? DeviceAddress(value: 0xC0_00A3_A4A5_A6, kind: .random) : peripheral,
            identityResolvingKey: [UInt8](repeating: isCentral ? 0xC1 : 0xB1, count: 16), bond: nil, outOfBand: nil, mustWait: false,
            secrets: SecretSource(seed: seed, label: "end", on: RunLoop()), quirks: PairingQuirks())
    }

    subscript(side: Side) -> End {
        get { ends[side] ?? End(setup: Self.setup(nil, isCentral: side == .central, seed: 0)) }
        set { ends[side] = newValue }
    }

    // MARK: Events

    mutating func pair(from side: Side = .central) {
        perform(self[side].manager.pair(self[side].setup, self[side].setup.settings ?? PairingSettings(), at: now), side)
        run()
    }

    mutating func inject(_ pdu: [UInt8], to side: Side) {
        mail.append((side, pdu))
        run()
    }

    mutating func expire(_ side: Side) { perform(self[side].manager.expire(), side) }

    mutating func run() {
        for _ in 0..<1_000 {
            if !mail.isEmpty {
                let (side, pdu) = mail.removeFirst()
                perform(self[side].manager.received(pdu, self[side].setup, at: now), side)
            } else if !unanswered.isEmpty {
                let (side, question) = unanswered.removeFirst()
                guard let answer = answer(side, question) ?? rightAnswer(side, question) else { continue }
                perform(self[side].manager.answered(answer, at: now), side)
            } else {
                return
            }
        }
    }

    private func rightAnswer(_ side: Side, _ question: PairingQuestion) -> PairingAnswer? {
        switch question {
        case .showPasskey: nil
        case .enterPasskey: .passkey(self[side.other].shown ?? 123_456)
        case .compare(let number): .agrees(self[side.other].compared == number)
        case .consent: .agrees(true)
        }
    }

    private mutating func perform(_ actions: [SecurityAction], _ side: Side) {
        for action in actions {
            switch action {
            case .send(let pdu):
                transcript.append((side == .central ? "C" : "P") + hex([pdu[0]]))
                for changed in onTheWay(side, pdu) { mail.append((side.other, changed)) }
            case .ask(let question): ask(question, side)
            case .keypress(let keypress): self[side].keypresses.append(keypress)
            case .encrypt(let key): encrypt(with: key)
            case .completed(let result, let bond, _):
                self[side].result = result
                self[side].bond = bond
            case .failed(let error): self[side].error = error
            }
        }
    }

    private mutating func ask(_ question: PairingQuestion, _ side: Side) {
        self[side].questions.append(question)
        switch question {
        case .showPasskey(let passkey): self[side].shown = passkey
        case .compare(let number): self[side].compared = number
        case .enterPasskey, .consent: break
        }
        unanswered.append((side, question))
    }

    private mutating func encrypt(with key: LongTermKey) {
        transcript.append("E")
        self[.central].key = key
        let answer = self[.peripheral].manager.key(
            encryptedDiversifier: key.encryptedDiversifier, randomNumber: key.randomNumber, of: self[.peripheral].setup.bond)
        guard answer == key.value else {
            perform(
                self[.central].manager.encryptionFailed(.peer(.rejected("LE_Enable_Encryption", .pinOrKeyMissing)), at: now), .central)
            return
        }
        for side in [Side.peripheral, .central] {
            perform(self[side].manager.encryptionChanged(isOn: true, self[side].setup, at: now) ?? [], side)
        }
    }
}
