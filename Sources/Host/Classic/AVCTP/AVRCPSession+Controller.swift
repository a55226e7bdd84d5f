import Packets

/// The controller role: responses to this device's requests. AVRCP 1.6, 4.
extension AVRCPSession {
    mutating func answered(_ message: AVCTPMessage, at now: Microseconds) -> [AVRCPAction] {
        guard var transaction = transactions[message.label] else { return [] }
        if message.isInvalidProfile { return finish(message.label, .invalidProfile) }
        guard message.profile == Self.profile else { return [] }
        guard let frame = try? AVCFrame(message.payload), frame.code.isResponse, frame.opcode == transaction.request.frame.opcode else {
            return finish(message.label, .malformed)
        }
        switch frame.code {
        case .notImplemented: return finish(message.label, .notImplemented)
        case .accepted, .stable, .changed, .interim, .inTransition, .rejected: break
        case .control, .status, .specificInquiry, .notify, .generalInquiry: return []
        }
        guard frame.opcode == AVCFrame.Opcode.vendorDependent else {
            return finish(message.label, Self.result(of: frame, for: transaction.request))
        }
        guard let pdu = try? AVRCPPDU(operands: frame.operands) else { return finish(message.label, .malformed) }
        switch pdu.type {
        case .single: return finish(message.label, Self.result(frame.code, pdu.parameters, of: pdu.id, for: transaction.request))
        case .start, .next: return continueWith(message.label, &transaction, pdu, at: now)
        case .end:
            let whole = transaction.partial + pdu.parameters
            return finish(message.label, Self.result(frame.code, whole, of: pdu.id, for: transaction.request))
        }
    }

    /// Completes a request. A registration continues after its interim response.
    private mutating func finish(_ label: UInt8, _ result: AVRCPResult) -> [AVRCPAction] {
        guard let transaction = transactions[label] else { return [] }
        if case .interim = result {
            transactions[label]?.deadline = nil
        } else {
            transactions[label] = nil
        }
        return [.answered(transaction.request, result)]
    }

    /// Requests the rest of a fragmented response, one frame at a time. AVRCP 1.6, 4.7.7 and 6.8.
    private mutating func continueWith(
        _ label: UInt8, _ transaction: inout Transaction, _ pdu: AVRCPPDU, at now: Microseconds
    ) -> [AVRCPAction] {
        transaction.partial += pdu.parameters
        guard transaction.partial.count <= 16 * AVRCPPDU.limit, !pdu.parameters.isEmpty else { return finish(label, .malformed) }
        transaction.deadline = now + Self.responseTimeOut
        transactions[label] = transaction
        return packets(label, .vendor(.control, AVRCPPDU(.requestContinuingResponse, [pdu.id])))
    }

    private static func result(of frame: AVCFrame, for request: AVRCPRequest) -> AVRCPResult {
        switch (request, frame.code) {
        case (.press(let key, _), .accepted): (frame.operands.first.map { $0 & 0x7F } == key.rawValue & 0x7F) ? .accepted : .malformed
        case (.unitInfo, .stable), (.subunitInfo, .stable): .information(frame.operands)
        case (_, .rejected): .rejected(nil)
        default: .malformed
        }
    }

    private static func result(
        _ code: AVCFrame.Code, _ parameters: [UInt8], of id: UInt8, for request: AVRCPRequest
    ) -> AVRCPResult {
        if code == .rejected { return .rejected(parameters.first.map { AVRCPErrorCode($0) }) }
        var reader = ByteReader(parameters.span.bytes)
        do throws(PDUError) {
            switch (request, AVRCPPDUID(rawValue: id), code) {
            case (.supportedEvents, .getCapabilities, .stable):
                try reader.skip(1, "CapabilityID")
                let count = Int(try reader.u8("CapabilityCount"))
                return .events(try reader.bytes(count, "Capability").map { AVRCPEvent($0) })
            case (.playStatus, .getPlayStatus, .stable):
                let length = try reader.u32be("SongLength")
                let position = try reader.u32be("SongPosition")
                return .playStatus(length: length, position: position, status: try reader.u8("PlayStatus"))
            case (.elementAttributes, .getElementAttributes, .stable): return .attributes(try attributes(&reader))
            case (.setAbsoluteVolume, .setAbsoluteVolume, .accepted): return .volume(try reader.u8("Absolute Volume") & 0x7F)
            case (.register(let event, _), .registerNotification, .interim), (.register(let event, _), .registerNotification, .changed):
                let value = try AVRCPNotification(parameters)
                guard value.event == event else { return .malformed }
                return code == .interim ? .interim(value) : .changed(value)
            default: return .malformed
            }
        } catch { return .malformed }
    }

    private static func attributes(_ reader: inout ByteReader) throws(PDUError) -> [UInt32: String] {
        var attributes: [UInt32: String] = [:]
        let count = try reader.u8("NumAttributes")
        for _ in 0..<count {
            let id = try reader.u32be("AttributeID")
            try reader.skip(2, "CharacterSetID")
            let length = Int(try reader.u16be("AttributeValueLength"))
            attributes[id] = String(decoding: try reader.bytes(length, "AttributeValue"), as: UTF8.self)
        }
        return attributes
    }
}
