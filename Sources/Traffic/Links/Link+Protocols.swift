import BBHCI
import BBPackets

/// The PDUs on a link, above the HCI or the radio.
extension Link {
    /// Follows the PDUs that a packet completes.
    ///
    /// - Parameter channel: the L2CAP channel of the PDUs; ATT is followed on its fixed channel.
    func follow(_ layers: [DecodedLayer], on channel: UInt16?, from sender: PacketSender?, at moment: Moment) -> [LinkEvent] {
        var events: [LinkEvent] = []
        for pdu in layers where pdu.declaration != nil {
            switch pdu.layer {
            case .att: if channel == CID.att, let sender { followAttributes(pdu, sender, moment, &events) }
            case .smp: followPairing(pdu, sender, moment)
            case .l2capSignaling, .sdp, .avdtp: if let sender { followSignals(pdu, sender, moment) }
            case .llControl: followControl(pdu, sender, moment, &events)
            default: break
            }
        }
        return events
    }

    /// Forgets what awaits a response, which may be in a packet that is only seen encrypted.
    func forgetRequests() {
        requests.forget()
        clientMTU = nil
    }

    private func note(_ kind: LinkEvent.Kind, _ events: inout [LinkEvent]) { events.append(LinkEvent(link: self, kind: kind)) }

    // MARK: ATT

    private func followAttributes(_ pdu: DecodedLayer, _ sender: PacketSender, _ moment: Moment, _ events: inout [LinkEvent]) {
        guard let id = pdu.id else { return }
        if id.isRequest {
            let request = LinkRequest(kind: .attribute, layer: .att, code: pdu.code, sent: moment, sender: sender)
            let slot = OpenRequests.Slot(sender: sender, isIndication: id == ATT.HandleValueInd.id)
            if let open = requests.open(request, slot), !isOnAir { note(.overlapping(open, request), &events) }
        } else if !id.answers.isEmpty || id.refuses != nil {
            answered(pdu, id, by: sender, &events)
        }
        switch UInt8(truncatingIfNeeded: pdu.code) {
        case ATT.ExchangeMTUReq.opcode: clientMTU = pdu.content(as: ATT.ExchangeMTUReq.self).map { Int($0.clientRxMTU) }
        case ATT.ExchangeMTURsp.opcode:
            guard let client = clientMTU, let response = pdu.content(as: ATT.ExchangeMTURsp.self) else { return }
            mtu = max(23, min(client, Int(response.serverRxMTU)))
            note(.mtu, &events)
        default: break
        }
    }

    /// On the air, a receiver may have missed the answer to the first of two requests; what answers the first alone proves the second early.
    private func answered(_ pdu: DecodedLayer, _ id: PDUID, by sender: PacketSender, _ events: inout [LinkEvent]) {
        let isConfirmation = id == ATT.HandleValueCfm.id
        let slot = requests.attribute.keys.first { $0.sender != sender && $0.isIndication == isConfirmation }
        guard let slot, let open = requests.attribute[slot] else {
            if !refusesUnknown(pdu) { note(.unasked(opcode: pdu.code), &events) }
            return
        }
        if !isOnAir, !isAnswer(pdu, id, to: open) {
            // Refusals of requests that are not declared are not followed.
            if refusesUnknown(pdu) { return }
            if let last = requests.answered[slot]?.last(where: { isAnswer(pdu, id, to: $0) }) {
                // The open request still awaits its own answer.
                note(.repeated(answer: pdu.code, last), &events)
                return
            }
            note(.misfit(answer: pdu.code, open), &events)
        }
        if isOnAir, let early = requests.early[slot]?.last {
            func isAnswer(to request: LinkRequest) -> Bool { id.answers.contains(PDUID(.att, code: request.code)) }
            if isAnswer(to: open), !isAnswer(to: early) { note(.overlapping(open, early), &events) }
            if !isAnswer(to: open) {
                // The answer to the first one was missed.
                requests.early[slot] = nil
            }
        }
        requests.answer(slot)
    }

    /// True for a response to a request, and for an error that names it.
    private func isAnswer(_ pdu: DecodedLayer, _ id: PDUID, to request: LinkRequest) -> Bool {
        if let error = pdu.content(as: ATT.ErrorRsp.self) { return Int(error.requestOpcodeInError.rawValue) == request.code }
        return id.answers.contains(PDUID(.att, code: request.code))
    }

    /// True for the answer to a request that is not declared, which is not followed. Core Vol 3, Part F, 3.3.
    private func refusesUnknown(_ pdu: DecodedLayer) -> Bool {
        guard let error = pdu.content(as: ATT.ErrorRsp.self) else { return false }
        return PDUCatalog.declaration(layer: .att, code: Int(error.requestOpcodeInError.rawValue)) == nil
    }

    // MARK: SMP

    private func followPairing(_ pdu: DecodedLayer, _ sender: PacketSender?, _ moment: Moment) {
        switch UInt8(truncatingIfNeeded: pdu.code) {
        case SMP.PairingRequest.opcode, SMP.PairingResponse.opcode, SMP.PairingConfirm.opcode, SMP.PairingRandom.opcode,
            SMP.PairingPublicKey.opcode:
            requests.pairing = LinkRequest(kind: .pairing, layer: .smp, code: pdu.code, sent: moment, sender: sender)
        case SMP.KeypressNotification.opcode where requests.pairing != nil:
            // A user types: the time of the pairing begins anew. Core Vol 3, Part H, 3.4.
            requests.pairing = LinkRequest(kind: .pairing, layer: .smp, code: pdu.code, sent: moment, sender: sender)
        case SMP.PairingDHKeyCheck.opcode, SMP.PairingFailed.opcode: requests.pairing = nil
        default: break
        }
    }

    // MARK: Signals with identifiers

    private func followSignals(_ pdu: DecodedLayer, _ sender: PacketSender, _ moment: Moment) {
        guard let id = pdu.id, let identifier = pdu.identifier else { return }
        // The message type of AVDTP is the upper octet: 0 for a command. AVDTP 1.3, 8.4.2.
        let isRequest = pdu.layer == .avdtp ? pdu.code >> 8 == 0 : id.isRequest
        if isRequest {
            let request = LinkRequest(kind: .signal, layer: pdu.layer, code: pdu.code, sent: moment, sender: sender)
            requests.open(request, .init(layer: pdu.layer, sender: sender, identifier: identifier))
        } else {
            // After a pending result the responder may take up to five minutes. Core Vol 3, Part A, 6.2.2.
            let asked = requests.signals.keys.first { $0.layer == pdu.layer && $0.sender != sender && $0.identifier == identifier }
            if let asked { requests.signals[asked] = nil }
        }
    }

    // MARK: Link layer control

    private func followControl(_ pdu: DecodedLayer, _ sender: PacketSender?, _ moment: Moment, _ events: inout [LinkEvent]) {
        guard let id = pdu.id else { return }
        if id.beginsProcedure {
            if let sender {
                requests.control[sender] = LinkRequest(kind: .control, layer: .llControl, code: pdu.code, sent: moment, sender: sender)
            }
        } else if id != LLControl.VersionInd.id {
            for waiting in requests.control.keys where waiting != sender { requests.control[waiting] = nil }
        }
        change(pdu, UInt8(truncatingIfNeeded: pdu.code), sender, &events)
    }

    private func change(_ pdu: DecodedLayer, _ opcode: UInt8, _ sender: PacketSender?, _ events: inout [LinkEvent]) {
        switch opcode {
        case LLControl.ConnectionUpdateInd.opcode:
            guard let update = pdu.content(as: LLControl.ConnectionUpdateInd.self) else { return }
            parameters = ConnectionParameters(interval: update.interval, latency: update.latency, supervisionTimeout: update.timeout)
            note(.parameters, &events)
        case LLControl.LengthReq.opcode:
            offered = pdu.content(as: LLControl.LengthReq.self).map { (Int($0.maxTxOctets), Int($0.maxRxOctets)) } ?? offered
        case LLControl.LengthRsp.opcode:
            guard let answer = pdu.content(as: LLControl.LengthRsp.self), let first = offered else { return }
            // The smaller of what one side sends and the other receives. Core Vol 6, Part B, 4.5.10.
            let fromFirst = max(27, min(first.tx, Int(answer.maxRxOctets)))
            let fromSecond = max(27, min(Int(answer.maxTxOctets), first.rx))
            octets = ByEnd(sender == .peripheral ? .central : .peripheral, own: fromFirst, others: fromSecond)
            note(.length, &events)
        case LLControl.PHYUpdateInd.opcode:
            guard let update = pdu.content(as: LLControl.PHYUpdateInd.self) else { return }
            let before = phys
            phys = ByEnd(central: update.phyCToP.all.first ?? phys.central, peripheral: update.phyPToC.all.first ?? phys.peripheral)
            if phys != before { note(.phys, &events) }
        case LLControl.StartEncRsp.opcode: setEncryption(true, .success, &events)
        case LLControl.TerminateInd.opcode:
            ending = .terminated(by: sender, pdu.content(as: LLControl.TerminateInd.self)?.errorCode ?? .success)
        default: break
        }
    }

    func setEncryption(_ isOn: Bool, _ status: ErrorCode, _ events: inout [LinkEvent]) {
        isEncrypted = isOn && status == .success
        requests.pairing = nil
        note(.encryption(isOn: isOn, status), &events)
    }
}

extension DecodedLayer {
    /// The PDU as a value; nil if it cannot be decoded.
    public func content<Content: OpcodedPDU>(as type: Content.Type) -> Content? {
        guard code == Int(Content.opcode), range.lowerBound < range.upperBound else { return nil }
        var reader = ByteReader(bytes.span.bytes.extracting(range.lowerBound + 1..<range.upperBound))
        return try? Content(from: &reader)
    }

    /// The signalling command as a value; nil if it cannot be decoded.
    public func content<Content: L2CAPSignalingPDU>(as type: Content.Type) -> Content? {
        guard code == Int(Content.opcode), range.count >= Self.signalingHeaderOctets else { return nil }
        var reader = ByteReader(bytes.span.bytes.extracting(range.lowerBound + Self.signalingHeaderOctets..<range.upperBound))
        return try? Content(from: &reader)
    }

    private static let signalingHeaderOctets = 4
}
