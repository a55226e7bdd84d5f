import BBPackets

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
        switch (id, code) {
        case (.getCapabilities, .status): return .vendor(.stable, AVRCPPDU(try capabilities(try pdu.decoded())))
        case (.getPlayStatus, .status):
            _ = try pdu.decoded(as: AVRCPCommands.GetPlayStatusCmd.self)
            guard case .playbackStatus(let status) = target.events[.playbackStatusChanged] else { throw .invalidCommand }
            var answer = AVRCPResponses.GetPlayStatusRsp(songLength: target.songLength, songPosition: 0xFFFF_FFFF, playStatus: status)
            if case .playbackPosition(let known) = target.events[.playbackPositionChanged] { answer.songPosition = known }
            return .vendor(.stable, AVRCPPDU(answer))
        case (.getElementAttributes, .status): return .vendor(.stable, AVRCPPDU(attributes(try pdu.decoded())))
        case (.registerNotification, .notify):
            let request = try pdu.decoded(as: AVRCPCommands.RegisterNotificationCmd.self)
            guard let value = target.events[AVRCPEvent(request.eventID)] else { throw .invalidParameter }
            registered[value.event] = label
            return .vendor(.interim, AVRCPPDU(value.pdu))
        case (.setAbsoluteVolume, .control):
            guard target.takesVolume else { throw .invalidCommand }
            let volume = try pdu.decoded(as: AVRCPCommands.SetAbsoluteVolumeCmd.self).absoluteVolume & 0x7F
            // The controller that sets the volume gets no notification. AVRCP 1.6, 6.13.3.
            if target.events[.volumeChanged] != nil { target.events[.volumeChanged] = .volume(volume) }
            actions.append(.volume(volume))
            return .vendor(.accepted, AVRCPPDU(AVRCPResponses.SetAbsoluteVolumeRsp(absoluteVolume: volume)))
        case (.getCapabilities, _), (.getPlayStatus, _), (.getElementAttributes, _), (.registerNotification, _), (.setAbsoluteVolume, _),
            (.requestContinuingResponse, _), (.abortContinuingResponse, _):
            throw .invalidCommand
        }
    }

    /// Answers GetCapabilities with the companies or the events. AVRCP 1.6, 6.4.1.
    private func capabilities(
        _ request: AVRCPCommands.GetCapabilitiesCmd
    ) throws(AVRCPErrorCode) -> AVRCPResponses.GetCapabilitiesRsp {
        switch request.capabilityID {
        case AVRCPPDU.companyID: return .init(capabilityID: request.capabilityID, capabilityCount: 1, capabilities: AVRCPPDU.company)
        case AVRCPPDU.eventsSupported:
            return .init(
                capabilityID: request.capabilityID, capabilityCount: UInt8(truncatingIfNeeded: target.events.count),
                capabilities: target.events.keys.map(\.rawValue).sorted())
        default: throw .invalidParameter
        }
    }

    /// Media attributes, as many as fit into a frame. AVRCP 1.6, 6.6.1.
    private func attributes(_ request: AVRCPCommands.GetElementAttributesCmd) -> AVRCPResponses.GetElementAttributesRsp {
        let known = target.attributes
        let wanted = request.attributeIDs.isEmpty ? known.keys.sorted() : request.attributeIDs.filter { known[$0] != nil }
        var response = AVRCPResponses.GetElementAttributesRsp()
        for id in wanted {
            let text = Array((known[id] ?? "").utf8.prefix(64))
            guard response.encodedCount + 7 + text.count < AVRCPPDU.limit else { break }
            response.attributes.append(.init(attributeID: id, characterSet: Self.utf8, value: text))
        }
        return response
    }

    /// MIBenum of UTF-8.
    private static let utf8: UInt16 = 106
}

extension AVRCPPDU {
    /// The parameters as those of a command.
    fileprivate func decoded<Command: ChannelPDU>(as type: Command.Type = Command.self) throws(AVRCPErrorCode) -> Command {
        do throws(PDUError) { return try Command(parameters: parameters) } catch { throw .wrongLength }
    }
}
