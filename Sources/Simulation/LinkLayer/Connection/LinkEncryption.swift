import BluetoothCrypto
import Packets
import Timing

/// The encryption of a link at one end: its session key, the directions that use it, and their packet counters. Core Vol 6, Part B, 5.1.3; Part E.
struct LinkEncryption {
    /// What one side adds to a session: SKD_C and IV_C, or SKD_P and IV_P, in the order of the air.
    struct Half: Equatable {
        var skd: [UInt8]
        var iv: [UInt8]
    }

    /// What both sides know of a session.
    struct Session: Equatable {
        var longTermKey: UInt128
        var central: Half
        var peripheral: Half

        fileprivate var cipher: LinkCipher {
            let skd = UInt128(littleEndianOctets: central.skd + peripheral.skd)
            return LinkCipher(sessionKey: AESKey(longTermKey).encrypt(skd), iv: central.iv + peripheral.iv)
        }
    }

    enum Step: Equatable {
        /// This side has told its half; the next session has another.
        case halfTold
        /// The key of what is sent and received from now on, with its counters at zero.
        case session(Session)
        /// Which directions are encrypted.
        case directions(sent: Bool, received: Bool)
    }

    private let isCentral: Bool
    private let source: String
    private let seed: UInt64
    private var halvesTold = 0
    private var cipher: LinkCipher?
    private(set) var isSentEncrypted = false
    private(set) var isReceivedEncrypted = false
    /// packetCounter of either direction. Core Vol 6, Part B, 2.4; Part E, 2.1.
    private var sentCounter: UInt64 = 0
    private var receivedCounter: UInt64 = 0

    init(_ parameters: ConnectionParameters, seed: UInt64) {
        isCentral = parameters.role == .central
        source = "session \(parameters.accessAddress) \(parameters.role)"
        self.seed = seed
    }

    /// Whether both directions are encrypted.
    var isOn: Bool { isSentEncrypted && isReceivedEncrypted }
    /// The octets that a PDU has beside its payload.
    var sentMICLength: Int { isSentEncrypted ? LinkCipher.micLength : 0 }
    var receivedMICLength: Int { isReceivedEncrypted ? LinkCipher.micLength : 0 }

    /// This side's half of the next session, from a random stream of its own.
    var half: Half {
        var random = RandomSource(seed: seed, label: "\(source) \(halvesTold)")
        return Half(skd: random.octets(8), iv: random.octets(4))
    }

    mutating func apply(_ step: Step) {
        switch step {
        case .halfTold: halvesTold += 1
        case .session(let session):
            cipher = session.cipher
            (sentCounter, receivedCounter) = (0, 0)
        case .directions(let sent, let received): (isSentEncrypted, isReceivedEncrypted) = (sent, received)
        }
    }

    /// Encrypts a PDU that is sent for the first time; an empty one stays empty.
    mutating func seal(_ pdu: inout OutgoingPDU) {
        guard isSentEncrypted, !pdu.payload.isEmpty, !pdu.isForcedClear, let cipher else { return }
        pdu.clear = pdu.payload
        pdu.payload = cipher.seal(Array(pdu.payload), counter: sentCounter, fromCentral: isCentral, header: pdu.llid)[...]
        sentCounter += 1
    }

    /// The payload of a PDU that has come for the first time; nil when its MIC is wrong.
    mutating func open(_ pdu: AirPDU) -> ArraySlice<UInt8>? {
        guard isReceivedEncrypted, let cipher else { return pdu.payload }
        let payload = cipher.open(Array(pdu.payload), counter: receivedCounter, fromCentral: !isCentral, header: pdu.header)
        guard let payload else { return nil }
        receivedCounter += 1
        return payload[...]
    }
}
