import Packets

/// The target role: responses to a controller's frames. AVRCP 1.6, 4.
extension AVRCPSession {
    mutating func respond(to frame: AVCFrame, label: UInt8, _ actions: inout [AVRCPAction]) -> AVCFrame {
        switch (frame.opcode, frame.code) {
        case (AVCFrame.Opcode.unitInfo, .status):
            return frame.response(.stable, [0x07, AVCFrame.panel] + target.company)
        case (AVCFrame.Opcode.subunitInfo, .status):
            guard let page = frame.operands.first else { return frame.response(.notImplemented) }
            return frame.response(.stable, [page, AVCFrame.panel, 0xFF, 0xFF, 0xFF])
        case (AVCFrame.Opcode.passThrough, .control) where frame.subunit == AVCFrame.panel: return pressed(frame, &actions)
        case (AVCFrame.Opcode.vendorDependent, _) where frame.subunit == AVCFrame.panel:
            do throws(AVRCPErrorCode) {
                guard let pdu = try AVRCPPDU(operands: frame.operands) else { return frame.response(.notImplemented) }
                do throws(AVRCPErrorCode) {
                    return try respond(to: pdu, frame.code, label, &actions)
                } catch {
                    return .vendor(.rejected, AVRCPPDU(id: pdu.id, [error.rawValue]))
                }
            } catch {
                // The frame is truncated or has a wrong parameter length. The PDU ID is the fourth operand, if there is one.
                let id = frame.operands.dropFirst(AVRCPPDU.company.count).first ?? 0
                return .vendor(.rejected, AVRCPPDU(id: id, [error.rawValue]))
            }
        default: return frame.response(.notImplemented)
        }
    }

    /// Pass-through: an operation, pressed or released, and the length of its data. AVRCP 1.6, 4.6.
    private func pressed(_ frame: AVCFrame, _ actions: inout [AVRCPAction]) -> AVCFrame {
        guard frame.operands.count >= 2, frame.operands.count == 2 + Int(frame.operands[1]) else { return frame.response(.rejected) }
        let key = AVRCPKey(frame.operands[0] & 0x7F)
        guard target.keys.contains(key) else { return frame.response(.notImplemented) }
        actions.append(.key(key, isPressed: frame.operands[0] & 0x80 == 0))
        return frame.response(.accepted)
    }

    private mutating func respond(
        to pdu: AVRCPPDU, _ code: AVCFrame.Code, _ label: UInt8, _ actions: inout [AVRCPAction]
    ) throws(AVRCPErrorCode) -> AVCFrame {
        guard let id = AVRCPPDUID(rawValue: pdu.id), pdu.type == .single else { throw .invalidCommand }
        let parameters = pdu.parameters
        switch (id, code) {
        case (.getCapabilities, .status): return .vendor(.stable, AVRCPPDU(id, try capabilities(parameters)))
        case (.getPlayStatus, .status):
            guard parameters.isEmpty else { throw .wrongLength }
            guard case .playbackStatus(let status) = target.events[.playbackStatusChanged] else { throw .invalidCommand }
            var writer = ByteWriter()
            writer.u32be(target.songLength)
            var position: UInt32 = 0xFFFF_FFFF
            if case .playbackPosition(let known) = target.events[.playbackPositionChanged] { position = known }
            writer.u32be(position)
            writer.u8(status)
            return .vendor(.stable, AVRCPPDU(id, writer.bytes))
        case (.getElementAttributes, .status): return .vendor(.stable, AVRCPPDU(id, try attributes(parameters)))
        case (.registerNotification, .notify):
            guard parameters.count == 5 else { throw .wrongLength }
            guard let value = target.events[AVRCPEvent(parameters[0])] else { throw .invalidParameter }
            registered[value.event] = label
            return .vendor(.interim, AVRCPPDU(id, value.octets))
        case (.setAbsoluteVolume, .control):
            guard target.takesVolume else { throw .invalidCommand }
            guard parameters.count == 1 else { throw .wrongLength }
            let volume = parameters[0] & 0x7F
            // The controller that sets the volume gets no notification. AVRCP 1.6, 6.13.3.
            if target.events[.volumeChanged] != nil { target.events[.volumeChanged] = .volume(volume) }
            actions.append(.volume(volume))
            return .vendor(.accepted, AVRCPPDU(id, [volume]))
        case (.getCapabilities, _), (.getPlayStatus, _), (.getElementAttributes, _), (.registerNotification, _), (.setAbsoluteVolume, _),
            (.requestContinuingResponse, _), (.abortContinuingResponse, _):
            throw .invalidCommand
        }
    }

    /// Companies or events. AVRCP 1.6, 6.4.1.
    private func capabilities(_ parameters: [UInt8]) throws(AVRCPErrorCode) -> [UInt8] {
        guard parameters.count == 1 else { throw .wrongLength }
        switch parameters[0] {
        case 2: return [2, 1] + AVRCPPDU.company
        case 3: return [3, UInt8(truncatingIfNeeded: target.events.count)] + target.events.keys.map(\.rawValue).sorted()
        default: throw .invalidParameter
        }
    }

    /// Media attributes, as many as fit into a frame. AVRCP 1.6, 6.6.1.
    private func attributes(_ parameters: [UInt8]) throws(AVRCPErrorCode) -> [UInt8] {
        var reader = ByteReader(parameters.span.bytes)
        var ids: [UInt32] = []
        do throws(PDUError) {
            try reader.skip(8, "Identifier")
            let count = try reader.u8("NumAttributes")
            for _ in 0..<count { ids.append(try reader.u32be("AttributeID")) }
        } catch { throw .wrongLength }
        guard reader.remaining == 0 else { throw .wrongLength }
        let wanted = ids.isEmpty ? target.attributes.keys.sorted() : ids.filter { target.attributes[$0] != nil }
        var writer = ByteWriter()
        var count: UInt8 = 0
        for id in wanted {
            let text = Array((target.attributes[id] ?? "").utf8.prefix(64))
            guard writer.bytes.count + 8 + text.count < AVRCPPDU.limit else { break }
            count += 1
            writer.u32be(id)
            // MIBenum of UTF-8.
            writer.u16be(106)
            writer.u16be(UInt16(text.count))
            writer.bytes(text)
        }
        return [count] + writer.bytes
    }
}
