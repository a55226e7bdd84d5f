import BBL2CAP
import BBPackets

/// The K-frames of Enhanced ATT bearers, joined to ATT PDUs. Core Vol 3, Part A, 3.4.3; Part G, 5.3.2.
struct EnhancedBearerFrames {
    private struct Key: Hashable {
        var handle: UInt16
        var channel: UInt16
    }

    private var reassemblies: [Key: KFrameReassembly] = [:]

    /// Takes a frame.
    ///
    /// - Returns: the ATT PDU that it completes; nil for a part of one.
    mutating func take(_ frame: [UInt8], _ channel: UInt16, on handle: UInt16) -> [UInt8]? {
        let key = Key(handle: handle, channel: channel)
        var reassembly = reassemblies.removeValue(forKey: key) ?? KFrameReassembly()
        switch reassembly.take(frame.span.bytes) {
        case .sdu(let sdu): return sdu
        case .fault: return nil
        case .part:
            reassemblies[key] = reassembly
            return nil
        }
    }

    mutating func forget(_ handle: UInt16) { reassemblies = reassemblies.filter { $0.key.handle != handle } }

    /// A PDU as one K-frame with the length of its SDU.
    static func frame(_ pdu: [UInt8]) -> [UInt8] { [UInt8(pdu.count & 0xFF), UInt8(pdu.count >> 8 & 0xFF)] + pdu }
}
