import BBCapture
import BBCases
import BBPackets
import BBTiming

extension CaseRun {
    /// Sends a PDU; for an HCI command also waits for its answer.
    func send(_ command: Command, _ step: Step, _ scope: inout Scope) async throws {
        if PDUCatalog.declaration(layer: .btpCommands, name: command.name) != nil {
            scope.searchStart = log.end
            return try await ask(command, try parameters(of: command, try record(command.fields, scope), scope), step, &scope)
        }
        guard let end = bench.end(step.side) else { throw StepFailure(.bench, "there is no HCI of the \(step.side.rawValue) here") }
        scope.searchStart = log.end
        let written = try record(command.fields, scope)
        let fields = withOwnAddress(written, of: command.name, at: end)
        let bytes = try parameters(of: command, fields, scope)
        guard let opcode = PDUCodec.opcode(of: command.name) else {
            lastCommands[step.side] = nil
            try sendUpper(command, bytes, fields, on: end, scope)
            scope.reference = TimeReference(loop.now)
            return
        }
        lastCommands[step.side] = SentCommand(opcode: opcode, handle: fields["Connection_Handle"]?.asNumber, index: log.end)
        if let reply = try await sendCommand(command, opcode, bytes, on: end, step, &scope) {
            try await restoreOwnAddress(after: command.name, written, reply, at: end)
        }
    }

    /// Encodes a command's parameters or a whole PDU, as the step has them.
    private func parameters(of command: Command, _ fields: CaseRecord, _ scope: Scope) throws -> [UInt8] {
        let trailing = try command.trailing.map { try resolve($0, scope).asOctets ?? [] } ?? []
        if let raw = command.raw {
            guard let octets = try resolve(raw, scope).asOctets else { throw StepFailure(.precondition, "raw must be octets") }
            return octets + trailing
        }
        do {
            return try PDUCodec.encode(command.name, fields) + trailing
        } catch {
            throw StepFailure(.precondition, "\(command.name) cannot be encoded: \(error.text)")
        }
    }

    private func sendUpper(_ command: Command, _ bytes: [UInt8], _ fields: CaseRecord, on end: Endpoint, _ scope: Scope) throws {
        guard let connection = command.connection else { throw StepFailure(.bench, "\(command.name) needs a connection") }
        guard case .number(let handle) = try resolve(connection, scope), let handle = UInt16(exactly: handle) else {
            throw StepFailure(.precondition, "a connection handle is expected after on:")
        }
        lastConnections[end.side] = Int(handle)
        if command.name == SynchronousPacket.name { return end.send(SynchronousPacket.packet(bytes, handle: handle)) }
        guard let layer = PDUCodec.layer(of: command.name) else { throw StepFailure(.bench, "\(command.name) cannot be sent on a channel") }
        let given = fields[L2CAPFrame.channel]?.asNumber.flatMap { UInt16(exactly: $0) }
        let channel = given ?? layer.fixedChannel(isClassic: end.isClassic(handle)) ?? L2CAPFrame.usualChannel
        var frame = bytes
        if RetransmissionFrames.fields[command.name] != nil, command.raw == nil {
            frame = RetransmissionFrames.encode(command.name, fields, isExtended: end.channels.isExtended(remote: channel, on: handle))
            if end.channels.hasCheck(remote: channel, on: handle) { frame = RetransmissionFrames.checked(frame, channel, fields) }
        }
        if layer == .att, end.channels.isEnhancedBearer(channel, .forth, on: handle) { frame = DynamicChannels.bearerFrame(bytes) }
        end.sendFrame(frame, channel: channel, handle: handle)
    }

    /// Sends a command and waits for its answer.
    ///
    /// - Returns: the answer; nil if the step ignores it.
    private func sendCommand(
        _ command: Command, _ opcode: UInt16, _ parameters: [UInt8], on end: Endpoint, _ step: Step, _ scope: inout Scope
    ) async throws -> Endpoint.Reply? {
        let blame: StepFailure.Blame = step.side == .subject && testCase.subject == .controller ? .subject : .precondition
        if case .ignored = command.answer {
            guard try await end.post(opcode: opcode, parameters: parameters, until: deadline(of: step), grace: .milliseconds(50)) else {
                let limit = (step.limit ?? testCase.limits.step).text
                throw StepFailure(blame, "the \(step.side.rawValue) allowed no command within \(limit), so \(command.name) was not sent")
            }
            scope.reference = TimeReference(loop.now)
            return nil
        }
        guard let reply = try await end.command(opcode: opcode, parameters: parameters, until: deadline(of: step)) else {
            throw StepFailure(
                blame, "the \(step.side.rawValue) did not answer \(command.name) within \((step.limit ?? testCase.limits.step).text)")
        }
        scope.reference = TimeReference(reply, of: step.side)
        let answer = PDUCodec.returns(reply)
        let proof = Self.evidence(opcode, parameters, reply, at: step.side)
        lastCommands[step.side]?.exchange = proof
        if step.states != nil { evidence += proof }
        save(.record(answer), of: step, in: scope, from: "packet \(reply.number)")
        let predicate: Predicate
        switch command.answer {
        case .success:
            predicate = .parts([FieldPredicate(name: "Status", predicate: .equals(.literal(.number(0))), position: step.position)])
        case .fields(let fields): predicate = .parts(fields)
        case .ignored: return reply
        }
        if case .success = command.answer, answer["Status"] == nil { return reply }
        if let mismatch = try predicate.mismatch(.record(answer), scope.frame.variables) {
            let text =
                "\(command.name) of the \(step.side.rawValue): \(PDUCodec.spoken(mismatch, in: DecodedLayer(hci: reply.event))) (packet \(reply.number))"
            if isMissing(command.name, at: step.side), answer["Status"]?.asNumber == Int(ErrorCode.unknownHCICommand.rawValue) {
                throw StepFailure(.limitation, "the \(step.side.rawValue) has no \(command.name) (packet \(reply.number))", evidence: proof)
            }
            if case .success = command.answer { noteRefusal(of: command.name, answer, reply, at: step.side) }
            let worded = PDUCodec.worded(mismatch, in: DecodedLayer(hci: reply.event))
            throw StepFailure(blame, step.stating(text + afterReset(answer, step, scope)), evidence: proof)
                .comparing(ExpectationDiff(worded, of: command.name, packet: reply.number))
        }
        return reply
    }

    /// The possible cause of a command that is disallowed at the start of a case, when the controller has just been reset.
    private func afterReset(_ answer: CaseRecord, _ step: Step, _ scope: Scope) -> String {
        guard scope.isSetup, step.side == .subject, answer["Status"]?.asNumber == Int(ErrorCode.commandDisallowed.rawValue) else {
            return ""
        }
        return ". It was reset before this case, after which nothing of an earlier one may go on: Core Vol 4, Part E, 7.3.2"
    }

    /// True if a side does not report a command in Supported_Commands. Core Vol 4, Part E, 6.27.
    private func isMissing(_ command: String, at side: Side) -> Bool {
        Features.commands.contains(command) && !feature("\(side.rawValue).\(command)")
    }

    /// Returns a command and its answer as evidence.
    private static func evidence(_ opcode: UInt16, _ parameters: [UInt8], _ reply: Endpoint.Reply, at side: Side) -> [Evidence] {
        var decoder = PacketDecoder()
        let command = HCIPacket(opcode: opcode, parameters: parameters)
        return [
            Evidence(
                packet: reply.commandNumber, side: side.rawValue, text: decoder.decode(command, .hostToController).description,
                at: reply.sentAt),
            Evidence(
                packet: reply.number, side: side.rawValue, text: decoder.decode(reply.event, .controllerToHost).description,
                at: reply.answeredAt),
        ]
    }

    func check(_ operand: Operand, _ predicate: Predicate, _ step: Step, _ scope: Scope) throws {
        let value = try resolve(operand, scope)
        save(value, of: step, in: scope)
        guard let mismatch = try predicate.mismatch(value, scope.frame.variables) else { return }
        let source = source(of: operand, in: scope)
        var worded = mismatch.worded(source?.names ?? .none)
        if mismatch.isMissing, let source { worded.actual = "\(source.pdu), which has no such field" }
        throw StepFailure(.subject, step.stating(worded.text + origin(of: operand, mismatch, scope)))
            .comparing(ExpectationDiff(worded, of: operand.text))
    }

    /// The field of a PDU from which a value was saved.
    func source(of operand: Operand, in scope: Scope) -> ValueSource? {
        guard case .reference(let reference) = operand else { return nil }
        let sources = scope.frame.sources
        if let field = reference.path.first, let given = sources["\(reference.name).\(field)"] {
            return given.inside(reference.path.dropFirst())
        }
        return sources[reference.name]?.inside(reference.path[...])
    }

    /// Returns the position of the packet with the mismatching value, as text.
    private func origin(of operand: Operand, _ mismatch: Mismatch, _ scope: Scope) -> String {
        guard case .reference(let reference) = operand else { return "" }
        let field = mismatch.path.split(separator: ".").first.map(String.init)
        guard let place = place(of: operand, field: field, in: scope) else { return "" }
        return " (\(reference), \(place))"
    }

    /// Returns the position of the packet from which a saved value came, or a field of a procedure's result.
    func place(of operand: Operand, field: String? = nil, in scope: Scope) -> String? {
        guard case .reference(let reference) = operand else { return nil }
        let places = scope.frame.places
        return places[reference.name] ?? (reference.path.first ?? field).flatMap { places["\(reference.name).\($0)"] }
    }
}
