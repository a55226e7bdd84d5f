import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Encryption state of one end of a link: session key, encrypted directions and packet counters. Core Vol 6, Part B, 5.1.3; Part E.
struct LinkEncryption {
    /// One device's contribution to a session: SKD_C and IV_C, or SKD_P and IV_P, in transmission order.
    struct Half: Equatable {
        var skd: [UInt8]
        var iv: [UInt8]

        init(skd: [UInt8], iv: [UInt8]) { (self.skd, self.iv) = (skd, iv) }

        fileprivate init(_ secrets: SecretSource) {
            var secrets = secrets
            self.init(skd: secrets.octets(8), iv: secrets.octets(4))
        }
    }

    /// A session: its long term key and both contributions.
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
        /// This device has sent its contribution; the next session uses a new one.
        case halfTold
        /// Session key for both directions from now on, with counters at 0.
        case session(Session)
        /// Encrypted directions.
        case directions(sent: Bool, received: Bool)
        /// authenticatedPayloadTO, set by the host. Core Vol 6, Part B, 5.4.
        case payloadTimeout(Microseconds)
        /// Restarts the authenticated payload timer: encryption has started, or a timeout was reported to the host.
        case payloadTimerRestarted(at: Microseconds)
        /// Number of PDUs to send with a wrong MIC, as an injected fault.
        case spoils(Int)
    }

    private let isCentral: Bool
    private let quirks: EncryptionQuirks
    private let secrets: SecretSource
    private var halvesTold = 0
    /// This device's contribution to the next session.
    private(set) var half: Half
    private var cipher: LinkCipher?
    private(set) var isSentEncrypted = false
    private(set) var isReceivedEncrypted = false
    /// packetCounter of each direction. Core Vol 6, Part B, 2.4; Part E, 2.1.
    private var sentCounter: UInt64 = 0
    private var receivedCounter: UInt64 = 0
    /// Time of the last received PDU with a valid MIC.
    private(set) var lastAuthenticated = Microseconds.zero
    /// authenticatedPayloadTO. Core Vol 6, Part B, 5.4.
    private(set) var payloadTimeout: Microseconds = 30_000_000
    private var spoils = 0
    private var sealedPackets = PacketPool(4)
    private var openedPackets = PacketPool(64)

    /// - Parameter secrets: source of this device's contributions on this link.
    init(_ parameters: ConnectionParameters, secrets: SecretSource, quirks: EncryptionQuirks = []) {
        self.quirks = quirks
        isCentral = parameters.role == .central
        self.secrets = secrets
        half = Half(secrets.stream("session 0"))
    }

    /// True if both directions are encrypted.
    var isOn: Bool { isSentEncrypted && isReceivedEncrypted }
    /// MIC length of sent PDUs; 0 if not encrypted.
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

    /// True if a retransmission is encrypted again, as an injected fault.
    var sealsAgain: Bool { quirks.contains(.countsRetransmissions) }

    /// True if a repeated PDU is decrypted as a new one, as an injected fault.
    var opensRepetitions: Bool { isReceivedEncrypted && quirks.contains(.opensRepetitions) }

    /// Encrypts a new PDU; an empty PDU is not changed.
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

    /// Decrypts the payload of a new PDU; nil if the MIC is wrong.
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
