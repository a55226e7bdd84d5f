import BBPackets

/// The encryption of a link on the air, which begins and ends with control PDUs. Core Vol 6, Part B, 5.1.3.
public struct EncryptionOnAir: Sendable {
    private enum State {
        case off
        /// LL_START_ENC_REQ was received: later PDUs are encrypted, or were decrypted by the capturing tool.
        case starting
        case on
        case removed
    }

    private var state = State.off

    public init() {}

    /// Handles a control PDU in clear that is not a retransmission with a wrong CRC.
    public mutating func note(control opcode: UInt8) {
        switch opcode {
        case LLControl.StartEncReq.opcode: state = .starting
        case LLControl.PauseEncRsp.opcode: state = .off
        default: break
        }
    }

    /// True if a PDU with payload is encrypted in the capture. If the first LL_START_ENC_RSP has no MIC, the capturing tool has decrypted
    /// the link.
    public mutating func isEncrypted(_ pdu: AirFrame.PDU, in frame: AirFrame) -> Bool {
        let payload = frame.bytes[pdu.payload]
        guard let first = payload.first, !frame.flags.contains(.decrypted) else { return false }
        switch state {
        case .off, .removed: return false
        case .on: return true
        case .starting:
            let opcode = pdu.isControl && payload.count == 1 ? first : nil
            if opcode == LLControl.StartEncReq.opcode { return false }
            state = opcode == LLControl.StartEncRsp.opcode ? .removed : .on
            return state == .on
        }
    }
}
