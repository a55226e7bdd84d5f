import BluetoothCrypto
import Packets
import Timing

/// The encryption of a link at one end: its session key, the directions that use it, and their packet counters. Core Vol 6, Part B, 5.1.3; Part E.
struct LinkEncryption {
    /// What one side adds to a session: SKD_C and IV_C, or SKD_P and IV_P, in the order of the air.
    struct Half: Equatable {
        var skd: [UInt8]
        var iv: [UInt8]

        init(skd: [UInt8], iv: [UInt8]) { (self.skd, self.iv) = (skd, iv) }

        fileprivate init(_ secrets: SecretSource) {
            var secrets = secrets
            self.init(skd: secrets.octets(8), iv: secrets.octets(4))
        }
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
        /// The host's authenticatedPayloadTO. Core Vol 6, Part B, 5.4.
        case payloadTimeout(Microseconds)
        /// The time of the last PDU with a MIC is taken anew: encryption has begun, or the host has been told.
        case payloadTimerRestarted(at: Microseconds)
        /// So many PDUs are yet to be sent with a wrong MIC: a planted fault.
        case spoils(Int)
    }

    private let isCentral: Bool
    private let quirks: EncryptionQuirks
    private let secrets: SecretSource
    private var halvesTold = 0
    /// This side's half of the next session.
    private(set) var half: Half
    private var cipher: LinkCipher?
    private(set) var isSentEncrypted = false
    private(set) var isReceivedEncrypted = false
    /// packetCounter of either direction. Core Vol 6, Part B, 2.4; Part E, 2.1.
    private var sentCounter: UInt64 = 0
    private var receivedCounter: UInt64 = 0
    /// When a PDU last came whose MIC was right.
    private(set) var lastAuthenticated = Microseconds.zero
    /// authenticatedPayloadTO. Core Vol 6, Part B, 5.4.
    private(set) var payloadTimeout: Microseconds = 30_000_000
    private var spoils = 0
    private var sealedPackets = PacketPool(4)
    private var openedPackets = PacketPool(64)

    /// - Parameter secrets: of this side of this link.
    init(_ parameters: ConnectionParameters, secrets: SecretSource, quirks: EncryptionQuirks = []) {
        self.quirks = quirks
        isCentral = parameters.role == .central
        self.secrets = secrets
        half = Half(secrets.stream("session 0"))
    }

    /// Whether both directions are encrypted.
    var isOn: Bool { isSentEncrypted && isReceivedEncrypted }
    /// The octets that a PDU has beside its payload.
    var sentMICLength: Int { isSentEncrypted ? LinkCipher.micLength : 0 }
    var receivedMICLength: Int { isReceivedEncrypted ? LinkCipher.micLength : 0 }

    mutating func apply(_ step: Step) {
        switch step {
        case .halfTold:
            guard !quirks.contains(.repeatsSessionHalves) else { break }
            halvesTold += 1
            half = Half(secrets.stream("session \(halvesTold)"))
        case .session(let session):
            cipher = session.cipher
            if !quirks.contains(.keepsPacketCounters) { (sentCounter, receivedCounter) = (0, 0) }
        case .directions(let sent, let received): (isSentEncrypted, isReceivedEncrypted) = (sent, received)
        case .payloadTimeout(let timeout): payloadTimeout = timeout
        case .payloadTimerRestarted(let now): lastAuthenticated = now
        case .spoils(let count): spoils = count
        }
    }

    /// Whether what is sent again is encrypted again.
    var sealsAgain: Bool { quirks.contains(.countsRetransmissions) }

    /// Encrypts a PDU that is sent for the first time; an empty one stays empty.
    mutating func seal(_ pdu: inout OutgoingPDU) {
        guard isSentEncrypted, !pdu.isForcedClear, let cipher else { return }
        let clear = pdu.clear ?? pdu.payload
        guard !clear.isEmpty || quirks.contains(.sealsEmptyPDUs) else { return }
        let (counter, fromCentral, llid) = (sentCounter, isCentral, pdu.llid)
        var sealed = sealedPackets.make {
            cipher.seal(clear.span.bytes, counter: counter, fromCentral: fromCentral, header: llid, into: &$0.bytes)
        }
        if spoils > 0 {
            spoils -= 1
            sealed[sealed.count - 1] ^= 0x01
        }
        pdu.clear = clear
        pdu.payload = sealed[...]
        sentCounter += 1
    }

    /// The payload of a PDU that has come for the first time; nil when its MIC is wrong.
    mutating func open(_ pdu: AirPDU, at now: Microseconds) -> ArraySlice<UInt8>? {
        guard isReceivedEncrypted, let cipher else { return pdu.payload }
        let (counter, fromCentral) = (receivedCounter, !isCentral)
        var isRight = false
        let payload = openedPackets.make {
            isRight = cipher.open(
                pdu.payload.span.bytes, counter: counter, fromCentral: fromCentral, header: pdu.header, into: &$0.bytes)
        }
        guard isRight || quirks.contains(.ignoresMIC) else { return nil }
        receivedCounter += 1
        lastAuthenticated = now
        return payload[...]
    }
}
