import BBL2CAP
import BBPackets

extension AirFrame {
    /// The PDU of a frame: its header, and the places of its octets. Core Vol 6, Part B, 2.1.
    public struct PDU: Sendable, Hashable {
        public enum Kind: Sendable, Hashable {
            /// On a primary advertising channel.
            case advertising
            /// On a secondary advertising channel, or of a periodic train.
            case auxiliary
            /// On a connection.
            case data
            case isochronous
        }

        public let accessAddress: UInt32
        public let kind: Kind
        /// Forth from the central, back from the peripheral; unknown for PDUs outside connections.
        public let direction: LinkDirection
        /// First octet of the header.
        public let header: UInt8
        /// Length field of the header: octets of the payload, including the MIC.
        public let length: Int
        /// Header and payload in the octets of the frame, without CRC.
        public let range: Range<Int>

        /// The payload, including the MIC. The header of a data PDU has a third octet if a constant tone extension follows.
        public var payload: Range<Int> {
            let start = range.lowerBound + (kind == .data && hasToneExtension && range.count > 2 ? 3 : 2)
            return start..<max(start, range.upperBound)
        }

        /// Type of an advertising PDU. Core Vol 6, Part B, 2.3.
        public var type: Int { Int(header & 15) }

        /// The declaration of an advertising PDU; nil for an undeclared type, and for data.
        public var declaration: PDUDeclaration? {
            switch kind {
            case .advertising, .auxiliary: PDUCatalog.advertising(type: type, secondary: kind == .auxiliary)
            case .data, .isochronous: nil
            }
        }

        // The header of a data PDU. Core Vol 6, Part B, 2.4.
        public var llid: UInt8 { header & 3 }
        public var isContinuation: Bool { llid == 1 }
        public var isStart: Bool { llid == 2 }
        public var isControl: Bool { llid == 3 }
        public var sequenceNumber: UInt8 { header >> 3 & 1 }
        public var hasToneExtension: Bool { header & 0x20 != 0 }
    }

    /// The access address of advertising that is not periodic. Core Vol 6, Part B, 2.1.2.
    public static let advertisingAccessAddress: UInt32 = 0x8E89_BED6

    /// The PDU; nil if the frame is too short for a header and a CRC.
    public var pdu: PDU? {
        let start = Self.accessAddressOctets + (modulation == .leCoded ? 1 : 0)
        guard bytes.count >= start + Self.headerOctets + Self.crcOctets else { return nil }
        let octets = bytes.span.bytes
        let accessAddress = UInt32(octets.u16(at: 0)) | UInt32(octets.u16(at: 2)) << 16
        let kind = kind(accessAddress)
        return PDU(
            accessAddress: accessAddress, kind: kind, direction: direction, header: bytes[start],
            length: Int(bytes[start + 1]), range: start..<bytes.count - Self.crcOctets)
    }

    /// Opcode and CtrData of a link layer control PDU, as they are in the frame; nil for other PDUs.
    public var controlOctets: ArraySlice<UInt8>? {
        guard let pdu, pdu.kind == .data, pdu.isControl, !pdu.payload.isEmpty else { return nil }
        return bytes[pdu.payload]
    }

    /// True if a receiver has found a wrong CRC.
    public var isBroken: Bool { flags.contains(.crcChecked) && !flags.contains(.crcValid) }

    /// True if an LE Coded packet uses S=2; nil on other PHYs.
    public var isS2: Bool? {
        modulation == .leCoded && bytes.count > Self.accessAddressOctets ? bytes[Self.accessAddressOctets] == 1 : nil
    }

    /// The frame with the payload of its PDU in clear.
    public func decrypted(_ pdu: PDU, to clear: [UInt8]) -> AirFrame {
        var frame = self
        frame.bytes =
            bytes[...pdu.range.lowerBound] + [UInt8(truncatingIfNeeded: clear.count)]
            + bytes[pdu.range.lowerBound + Self.headerOctets..<pdu.payload.lowerBound] + clear + bytes.suffix(Self.crcOctets)
        frame.flags.formUnion([.decrypted, .micChecked, .micValid])
        return frame
    }

    private static let accessAddressOctets = 4
    private static let headerOctets = 2
    private static let crcOctets = 3

    /// Some captures do not say the kind of a PDU; their frames count as advertising.
    private func kind(_ accessAddress: UInt32) -> PDU.Kind {
        switch channel {
        case .dataFromCentral, .dataFromPeripheral: .data
        case .advertising where accessAddress != Self.advertisingAccessAddress: .data
        case .advertising: channelIndex.map { $0 >= 37 } ?? true ? .advertising : .auxiliary
        case .auxiliaryAdvertising: .auxiliary
        case .connectedIsochronousFromCentral, .connectedIsochronousFromPeripheral, .broadcastIsochronous: .isochronous
        }
    }

    private var direction: LinkDirection {
        switch channel {
        case .dataFromCentral: .forth
        case .dataFromPeripheral: .back
        default: .unknown
        }
    }
}
