import BBPackets
import BBSimulation

extension PathOutcome {
    /// The violated invariants, those first that explain others.
    func violations(of path: ExploredPath) -> [Violation] {
        rejections(path) + encryption() + overlaps() + instants() + life(path) + ends(path) + agreement(path) + data(path) + remains()
    }

    private func life(_ path: ExploredPath) -> [Violation] {
        LinkRole.allCases.compactMap { role in
            let reasons = self[role].events.filter { $0.kind == HCIEvents.DisconnectionComplete.id }.map(\.status)
            let expected = path.terminates ? 1 : 0
            guard reasons.count != expected || reasons.contains(.connectionTimeout) else { return nil }
            return Violation(
                .linkLives,
                "expected \(expected) Disconnection_Complete at the \(role.rawValue), got \(reasons.isEmpty ? "none" : "\(reasons)")",
                role: role, name: HCIEvents.DisconnectionComplete.name)
        }
    }

    /// Checks that each request ends in an event. An event at the other host is allowed, since the request may change its parameters.
    private func ends(_ path: ExploredPath) -> [Violation] {
        guard !path.terminates else { return [] }
        var found: [Violation] = []
        for role in LinkRole.allCases {
            for kind in Self.completions {
                let asked = self[role].accepted.count { $0.completion == kind }
                let others = kind.comesUnasked ? self[role.other].accepted.count { $0.completion == kind } : 0
                let ended = self[role].events.count { $0.kind == kind }
                guard ended < asked || ended > asked + others else { continue }
                found.append(
                    Violation(
                        .endsOnce,
                        "expected \(asked)\(others > 0 ? " to \(asked + others)" : "") \(kind.name) at the \(role.rawValue), got \(ended)",
                        role: role, name: kind.name))
            }
        }
        return found
    }

    /// The events that complete requests on a link which lives on.
    private static let completions = LinkRequest.allCases.compactMap(\.completion).reduce(into: [PDUID]()) { all, event in
        if !all.contains(event), event.effect != .closes(.link) { all.append(event) }
    }

    private func agreement(_ path: ExploredPath) -> [Violation] {
        guard let central = self[.central].link, let peripheral = self[.peripheral].link else { return [] }
        let rows: [(String, String, String)] = [
            ("connection interval", "\(central.interval)", "\(peripheral.interval)"),
            ("peripheral latency", "\(central.latency)", "\(peripheral.latency)"),
            ("supervision timeout", "\(central.supervisionTimeout)", "\(peripheral.supervisionTimeout)"),
            ("channel map", String(central.channels, radix: 16), String(peripheral.channels, radix: 16)),
            ("PHY from central to peripheral", "\(central.transmitPHY)", "\(peripheral.receivePHY)"),
            ("PHY from peripheral to central", "\(central.receivePHY)", "\(peripheral.transmitPHY)"),
            ("octets from central to peripheral", "\(central.maxTxOctets)", "\(peripheral.maxRxOctets)"),
            ("octets from peripheral to central", "\(central.maxRxOctets)", "\(peripheral.maxTxOctets)"),
            ("encryption", "\(central.isEncrypted)", "\(peripheral.isEncrypted)"),
        ]
        return rows.filter { $0.1 != $0.2 }.map { Violation(.sidesAgree, "\($0.0): \($0.1) at the central, \($0.2) at the peripheral") }
    }

    private func data(_ path: ExploredPath) -> [Violation] {
        guard !path.terminates else { return [] }
        return LinkRole.allCases.filter { self[$0].received != self[$0.other].sent }.map {
            Violation(.dataArrives, "expected packets \(self[$0.other].sent) at the \($0.rawValue), got \(self[$0].received)", role: $0)
        }
    }

    private func remains() -> [Violation] {
        isAtRest ? [] : [Violation(.nothingLeft, "46 s after the last request, a procedure or data is still under way")]
    }

    // MARK: PDUs

    /// A rejection with one of the error codes of a collision.
    private struct Rejection {
        var role: LinkRole
        /// Opcode of the rejected PDU, if the rejection names it.
        var opcode: UInt8?
        var reason: ErrorCode

        init?(_ pdu: SentPDU) {
            let extended = pdu.content(as: LLControl.RejectExtInd.self)
            guard let reason = extended?.errorCode ?? pdu.content(as: LLControl.RejectInd.self)?.errorCode,
                [.lmpErrorTransactionCollision, .differentTransactionCollision].contains(reason)
            else { return nil }
            (role, self.reason) = (pdu.role, reason)
            opcode = extended?.rejectOpcode.rawValue
        }

        /// The fields of LL_REJECT_EXT_IND.
        var fields: String? {
            let rejected = opcode.flatMap { PDUCatalog.declaration(layer: .llControl, code: Int($0))?.name }
            return rejected.map { "{RejectOpcode: \($0), ErrorCode: \(reason)}" }
        }
    }

    private func rejections(_ path: ExploredPath) -> [Violation] {
        sent.compactMap { Rejection($0) }.compactMap { judge($0, path) ?? told($0, path) } + sent.compactMap { unknown($0, path) }
    }

    /// Both controllers know every PDU; for an update without a request the central lacks the Connection Parameters Request procedure.
    private func unknown(_ pdu: SentPDU, _ path: ExploredPath) -> Violation? {
        guard let opcode = pdu.content(as: LLControl.UnknownRsp.self)?.unknownType.rawValue,
            let known = PDUCatalog.declaration(layer: .llControl, code: Int(opcode)),
            opcode != LLControl.ConnectionParamReq.opcode || !path.requests(of: .central).contains(.update)
        else { return nil }
        return Violation(
            .rejectionRight, "\(LLControl.UnknownRsp.name) from the \(pdu.role.rawValue) for \(known.name)", role: pdu.role,
            name: LLControl.UnknownRsp.name, fields: "{UnknownType: \(known.name)}")
    }

    private func judge(_ rejection: Rejection, _ path: ExploredPath) -> Violation? {
        let name = LLControl.RejectExtInd.name
        guard rejection.role == .central else {
            return Violation(
                .rejectionRight, "the peripheral rejects with \(rejection.reason)", role: .peripheral, name: name,
                fields: rejection.fields)
        }
        let others = path.requests(of: .peripheral).filter { rejection.opcode == nil || Self.opcodes[$0] == rejection.opcode }
        let codes = Set(others.flatMap { other in path.requests(of: .central).compactMap { other.rejection(beside: $0) } })
        guard !codes.contains(rejection.reason) else { return nil }
        let expected = codes.isEmpty ? "no rejection" : codes.map { "\($0)" }.sorted().joined(separator: " or ")
        return Violation(
            .rejectionRight, "expected \(expected), got \(rejection.reason) from the central", role: .central, name: name,
            fields: rejection.fields)
    }

    /// Checks that the host of a rejected request gets the error code, unless a retry or a procedure of the central hides it.
    private func told(_ rejection: Rejection, _ path: ExploredPath) -> Violation? {
        guard !path.terminates, let opcode = rejection.opcode, let request = Self.opcodes.first(where: { $0.value == opcode })?.key,
            let kind = request.completion, sent.count(where: { $0.role == .peripheral && $0.opcode == opcode }) == 1,
            !self[.central].accepted.contains(where: { $0.completion == kind })
        else { return nil }
        let statuses = self[.peripheral].events.filter { $0.kind == kind }.map(\.status)
        guard !statuses.isEmpty, !statuses.contains(rejection.reason) else { return nil }
        return Violation(
            .rejectionTold, "expected \(kind.name) with \(rejection.reason) at the peripheral, got \(statuses)", role: .peripheral,
            name: kind.name)
    }

    private static let opcodes: [LinkRequest: UInt8] = [
        .parameters: LLControl.ConnectionParamReq.opcode, .phy: LLControl.PHYReq.opcode,
    ]

    private func instants() -> [Violation] {
        var found: [Violation] = []
        var pending: Int?
        for pdu in sent {
            guard let instant = pdu.instant else { continue }
            if instant - pdu.event < 6 {
                found.append(
                    Violation(
                        .instantAhead, "expected an instant at least 6 events ahead, got \(instant - pdu.event)", role: pdu.role,
                        name: pdu.name))
            }
            if let earlier = pending, earlier > pdu.event {
                found.append(
                    Violation(
                        .oneInstant, "an instant is set \(earlier - pdu.event) events before another is reached", role: pdu.role,
                        name: pdu.name))
            }
            pending = instant
        }
        return found
    }

    private func encryption() -> [Violation] {
        let own: Set<UInt8> = [
            LLControl.EncReq.opcode, LLControl.EncRsp.opcode, LLControl.StartEncReq.opcode, LLControl.StartEncRsp.opcode,
            LLControl.PauseEncReq.opcode, LLControl.PauseEncRsp.opcode, LLControl.TerminateInd.opcode, LLControl.RejectInd.opcode,
            LLControl.RejectExtInd.opcode, LLControl.UnknownRsp.opcode,
        ]
        var begun: Set<LinkRole> = []
        for pdu in sent {
            switch pdu.opcode {
            case LLControl.EncReq.opcode, LLControl.PauseEncReq.opcode: begun.insert(.central)
            case LLControl.EncRsp.opcode, LLControl.PauseEncRsp.opcode: begun.insert(.peripheral)
            case LLControl.StartEncRsp.opcode where pdu.role == .peripheral: begun = []
            case LLControl.RejectInd.opcode, LLControl.RejectExtInd.opcode: begun = []
            default: break
            }
            guard begun.contains(pdu.role), pdu.opcode.map({ !own.contains($0) }) ?? true else { continue }
            return [
                Violation(
                    .encryptionAlone, "the \(pdu.role.rawValue) sends \(pdu.name ?? "data") while encryption starts or pauses",
                    role: pdu.role, name: pdu.name)
            ]
        }
        return []
    }
}

extension SentPDU {
    /// The name of a control PDU in the specification.
    var name: String? { opcode.flatMap { PDUCatalog.declaration(layer: .llControl, code: Int($0))?.name } }

    /// The event at which the PDU takes effect; nil for PDUs without an instant, and where nothing changes.
    var instant: Int? {
        if let pdu = content(as: LLControl.ConnectionUpdateInd.self) { return Int(pdu.instant) }
        if let pdu = content(as: LLControl.ChannelMapInd.self) { return Int(pdu.instant) }
        guard let pdu = content(as: LLControl.PHYUpdateInd.self), !(pdu.phyCToP.isEmpty && pdu.phyPToC.isEmpty) else { return nil }
        return Int(pdu.instant)
    }

    /// The control PDU as a value; nil for another.
    fileprivate func content<Content: LLControlPDU>(as _: Content.Type) -> Content? {
        guard let control, opcode == Content.opcode else { return nil }
        return try? Content(prefixOf: Array(control.dropFirst()))
    }
}
