import BBBluetoothCrypto
import BBPackets
import BBTraffic

/// Decrypts the encrypted links of an air capture. Core Vol 6, Part B, 5.1.3; Part E.
public struct AirDecryption {
    private let keys: AirKeys
    private var links: [UInt32: LinkDecryption] = [:]
    private static let mostLinks = 1_024

    public init(keys: AirKeys) { self.keys = keys }

    /// Decrypts a frame, removes its MIC and marks it as decrypted. Returns it unchanged if it is unencrypted or no key fits.
    ///
    /// Frames must be passed in the order of the capture.
    public mutating func open(_ frame: AirFrame) -> AirFrame {
        guard !frame.isBroken, let pdu = frame.pdu else { return frame }
        switch pdu.kind {
        case .data where pdu.direction != .unknown: return open(frame, pdu)
        case .advertising, .auxiliary:
            // A connection starts unencrypted, even with the access address of an earlier one.
            if pdu.accessAddress == AirFrame.advertisingAccessAddress, let request = frame.connectRequest(pdu) {
                links[request.llData.aa]?.begin()
            }
        case .data, .isochronous: break
        }
        return frame
    }

    private mutating func open(_ frame: AirFrame, _ pdu: AirFrame.PDU) -> AirFrame {
        let accessAddress = pdu.accessAddress
        if links[accessAddress] == nil, links.count >= Self.mostLinks { links.removeAll() }
        let keys = keys
        let clear = links[accessAddress, default: LinkDecryption()].open(pdu, frame.bytes[pdu.payload]) {
            keys.keys(accessAddress, session: $0, encryptedDiversifier: $1, randomNumber: $2)
        }
        return clear.map { frame.decrypted(pdu, to: $0) } ?? frame
    }
}

/// One link: the session created by its control PDUs, and the packet counters of both directions.
private struct LinkDecryption {
    /// One sender.
    private struct Side {
        /// SKD and IV from LL_ENC_REQ or LL_ENC_RSP.
        var half: (skd: [UInt8], iv: [UInt8])?
        var isEncrypted = false
        var counter: UInt64 = 0
        var sequenceNumber: UInt8?
        /// Decrypted content of the last PDU, reused for a retransmission.
        var clear: [UInt8]?
    }

    /// The keys for a session number (starting with 0), EDIV and Rand.
    typealias Keys = (Int, UInt16, UInt64) -> [UInt128]

    private var central = Side()
    private var peripheral = Side()
    /// Ciphers of the candidate keys; the first encrypted packet determines the right one.
    private var ciphers: [LinkCipher] = []
    private var name: (encryptedDiversifier: UInt16, randomNumber: UInt64) = (0, 0)
    private var sessions = 0

    /// Maximum number of missing packets before decryption is given up.
    private static let mostMissing: UInt64 = 16

    /// Starts a new connection.
    mutating func begin() {
        (central, peripheral) = (Side(), Side())
        ciphers = []
    }

    /// Decrypts a PDU of a link, which has a direction.
    ///
    /// - Returns: the payload of an encrypted PDU; nil if it cannot be decrypted.
    mutating func open(_ pdu: AirFrame.PDU, _ payload: ArraySlice<UInt8>, _ keys: Keys) -> [UInt8]? {
        let fromCentral = pdu.direction == .forth
        var side = fromCentral ? central : peripheral
        guard side.sequenceNumber != pdu.sequenceNumber else { return payload.isEmpty ? nil : side.clear }
        side.sequenceNumber = pdu.sequenceNumber
        side.clear = side.isEncrypted && !payload.isEmpty ? decrypt(payload, pdu.header, fromCentral, &side.counter) : nil
        let clear = side.clear
        if fromCentral { central = side } else { peripheral = side }
        if pdu.isControl, !side.isEncrypted || clear != nil { note(clear ?? Array(payload), fromCentral, keys) }
        return clear
    }

    private mutating func decrypt(_ payload: ArraySlice<UInt8>, _ header: UInt8, _ fromCentral: Bool, _ counter: inout UInt64) -> [UInt8]? {
        let payload = Array(payload)
        for cipher in ciphers {
            for missing in 0...Self.mostMissing {
                let clear = cipher.open(payload, counter: counter + missing, fromCentral: fromCentral, header: header)
                guard let clear else { continue }
                counter += missing + 1
                if ciphers.count > 1 { ciphers = [cipher] }
                return clear
            }
        }
        // None of several keys fits.
        if ciphers.count > 1 { ciphers = [] }
        return nil
    }

    private mutating func note(_ control: [UInt8], _ fromCentral: Bool, _ keys: Keys) {
        let parameters = control.dropFirst()
        var reader = ByteReader(parameters.span.bytes)
        guard let opcode = control.first, let message = try? LLControl.Message(opcode: opcode, from: &reader) else { return }
        switch message {
        case .encReq(let pdu) where fromCentral:
            central.half = (pdu.skdCentral, pdu.ivCentral)
            name = (pdu.ediv, pdu.rand)
        case .encRsp(let pdu) where !fromCentral: peripheral.half = (pdu.skdPeripheral, pdu.ivPeripheral)
        case .startEncReq where !fromCentral: begin(keys(sessions, name.encryptedDiversifier, name.randomNumber))
        case .startEncRsp where fromCentral: peripheral.isEncrypted = true
        // The peripheral's LL_PAUSE_ENC_RSP is encrypted, the central's is not.
        case .pauseEncRsp: if fromCentral { peripheral.isEncrypted = false } else { central.isEncrypted = false }
        default: break
        }
    }

    private mutating func begin(_ longTermKeys: [UInt128]) {
        guard let first = central.half, let second = peripheral.half else { return }
        sessions += 1
        central.isEncrypted = true
        (central.counter, peripheral.counter) = (0, 0)
        let diversifier = UInt128(littleEndianOctets: first.skd + second.skd)
        ciphers = longTermKeys.map { LinkCipher(sessionKey: AESKey($0).encrypt(diversifier), iv: first.iv + second.iv) }
    }
}
