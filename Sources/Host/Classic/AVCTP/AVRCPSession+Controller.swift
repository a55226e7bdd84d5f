import BBPackets

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
        do throws(PDUError) {
            switch (request, AVRCPPDUID(rawValue: id), code) {
            case (.supportedEvents, .getCapabilities, .stable):
                let response = try AVRCPResponses.GetCapabilitiesRsp(prefixOf: parameters)
                guard response.capabilities.count >= response.capabilityCount else { return .malformed }
                return .events(response.capabilities.prefix(Int(response.capabilityCount)).map { AVRCPEvent($0) })
            case (.playStatus, .getPlayStatus, .stable):
                let response = try AVRCPResponses.GetPlayStatusRsp(prefixOf: parameters)
                return .playStatus(length: response.songLength, position: response.songPosition, status: response.playStatus)
            case (.elementAttributes, .getElementAttributes, .stable):
                let response = try AVRCPResponses.GetElementAttributesRsp(prefixOf: parameters)
                return .attributes(
                    response.attributes.reduce(into: [:]) { $0[$1.attributeID] = String(decoding: $1.value, as: UTF8.self) })
            case (.setAbsoluteVolume, .setAbsoluteVolume, .accepted):
                return .volume(try AVRCPResponses.SetAbsoluteVolumeRsp(prefixOf: parameters).absoluteVolume & 0x7F)
            case (.register(let event, _), .registerNotification, .interim), (.register(let event, _), .registerNotification, .changed):
                let value = try AVRCPNotification(try AVRCPResponses.RegisterNotificationRsp(prefixOf: parameters))
                guard value.event == event else { return .malformed }
                return code == .interim ? .interim(value) : .changed(value)
            default: return .malformed
            }
        } catch { return .malformed }
    }
}
