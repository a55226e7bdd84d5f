import BluetoothCrypto
import Packets

/// Opens the encrypted links of an air log with their keys. Core Vol 6, Part B, 5.1.3; Part E.
public struct AirDecryption {
    private let keys: AirKeys
    private var links: [UInt32: LinkDecryption] = [:]
    private static let mostLinks = 1_024

    public init(keys: AirKeys) { self.keys = keys }

    /// The frame in clear, without its MIC and marked as decrypted; as it is where it is in clear already, or no key opens it.
    ///
    /// Frames come in the order of the capture.
    public mutating func open(_ frame: AirFrame) -> AirFrame {
        let start = frame.modulation == .leCoded ? 5 : 4
        guard frame.bytes.count >= start + 5, !frame.flags.contains(.crcChecked) || frame.flags.contains(.crcValid) else { return frame }
        let accessAddress = frame.bytes[..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        switch frame.channel {
        case .dataFromCentral, .dataFromPeripheral: return open(frame, accessAddress, start)
        case .advertising where accessAddress == AirTraffic.advertisingAccessAddress,
            .auxiliaryAdvertising where accessAddress == AirTraffic.advertisingAccessAddress:
            begin(DecodedLayer(advertising: frame.bytes, start..<frame.bytes.count - 3, secondary: frame.channel != .advertising))
        default: break
        }
        return frame
    }

    /// A link may have the access address of one before, but not its encryption.
    private mutating func begin(_ layer: DecodedLayer) {
        guard let accessAddress = layer.accessAddressOfLink else { return }
        links[accessAddress]?.begin()
    }

    private mutating func open(_ frame: AirFrame, _ accessAddress: UInt32, _ start: Int) -> AirFrame {
        let pdu = frame.bytes[start..<frame.bytes.count - 3]
        if links[accessAddress] == nil, links.count >= Self.mostLinks { links.removeAll() }
        let keys = keys
        let clear = links[accessAddress, default: LinkDecryption()].open(pdu, fromCentral: frame.channel == .dataFromCentral) {
            keys.keys(accessAddress, session: $0, encryptedDiversifier: $1, randomNumber: $2)
        }
        guard let clear else { return frame }
        var opened = frame
        opened.bytes = frame.bytes[..<start] + [frame.bytes[start], UInt8(truncatingIfNeeded: clear.count)] + clear + frame.bytes.suffix(3)
        opened.flags.formUnion([.decrypted, .micChecked, .micValid])
        return opened
    }
}

/// One link: the session that its control PDUs make, and the packet counters of both ways.
private struct LinkDecryption {
    /// One sender.
    private struct Side {
        /// SKD and IV, as LL_ENC_REQ or LL_ENC_RSP told them.
        var half: (skd: [UInt8], iv: [UInt8])?
        var isEncrypted = false
        var counter: UInt64 = 0
        var sequenceNumber: UInt8?
        /// What the last PDU held, for when it is sent again.
        var clear: [UInt8]?
    }

    /// The keys of a session, counted from 0, with EDIV and Rand.
    typealias Keys = (Int, UInt16, UInt64) -> [UInt128]

    private var central = Side()
    private var peripheral = Side()
    /// Of the keys that the session may have; the first packet tells which it is.
    private var ciphers: [LinkCipher] = []
    private var name: (encryptedDiversifier: UInt16, randomNumber: UInt64) = (0, 0)
    private var sessions = 0

    /// How many packets may be missing from the capture before it loses track.
    private static let mostMissing: UInt64 = 16

    /// A new connection.
    mutating func begin() {
        (central, peripheral) = (Side(), Side())
        ciphers = []
    }

    /// - Returns: the payload of an encrypted PDU; nil where there is none to tell.
    mutating func open(_ pdu: ArraySlice<UInt8>, fromCentral: Bool, _ keys: Keys) -> [UInt8]? {
        let header = pdu[pdu.startIndex]
        let payload = pdu.dropFirst(2)
        var side = fromCentral ? central : peripheral
        let sequenceNumber = header >> 3 & 1
        guard side.sequenceNumber != sequenceNumber else { return payload.isEmpty ? nil : side.clear }
        side.sequenceNumber = sequenceNumber
        side.clear = side.isEncrypted && !payload.isEmpty ? decrypt(payload, header, fromCentral, &side.counter) : nil
        let clear = side.clear
        if fromCentral { central = side } else { peripheral = side }
        if header & 3 == 3, !side.isEncrypted || clear != nil { note(clear ?? Array(payload), fromCentral, keys) }
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
        // Of several keys none is the link's.
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
        // The peripheral's is encrypted, and the central's answer to it is not.
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
