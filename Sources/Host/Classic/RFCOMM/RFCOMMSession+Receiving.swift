import BBPackets

extension RFCOMMSession {
    /// Handles a frame. Malformed frames and frames with a wrong FCS are discarded. TS 07.10, 5.2.1.6.
    public mutating func receive(_ octets: [UInt8], at now: Microseconds) -> [RFCOMMAction] {
        guard state != .ended, let address = octets.first else { return [] }
        let hasCredits = links[address >> 2]?.hasCredits ?? false
        guard
            let frame = try? RFCOMMFrame(octets, hasCredits: hasCredits, ignoresCheck: settings.quirks.frames.ignoresCheck)
        else {
            return []
        }
        switch frame.kind {
        case .sabm: return frame.dlci == 0 ? controlRequested(at: now) : connectionRequested(frame.dlci, at: now)
        case .ua: return frame.dlci == 0 ? controlAcknowledged(at: now) : acknowledged(frame.dlci, at: now)
        case .dm: return frame.dlci == 0 ? controlRefused() : refused(frame.dlci, at: now)
        case .disc: return frame.dlci == 0 ? controlDisconnected() : disconnected(frame.dlci, at: now)
        case .uih: return frame.dlci == 0 ? messages(frame.information, at: now) : received(frame, at: now)
        }
    }

    // MARK: DLCI 0

    private mutating func controlRequested(at now: Microseconds) -> [RFCOMMAction] {
        guard role == .acceptor, state != .awaitDisconnect else { return [response(.dm, 0)] }
        let isNew = state == .idle
        state = .open
        return [response(.ua, 0)] + (isNew ? started(at: now) : [])
    }

    /// The multiplexer is started; opens waiting connections.
    private mutating func started(at now: Microseconds) -> [RFCOMMAction] {
        links.filter { $0.value.phase == .waiting }.keys.sorted().reduce(into: [.started]) { $0 += negotiate($1, at: now) }
    }

    private mutating func controlAcknowledged(at now: Microseconds) -> [RFCOMMAction] {
        switch state {
        case .awaitAcknowledgement:
            state = .open
            controlDeadline = nil
            return started(at: now)
        case .awaitDisconnect: return end(.local)
        case .idle, .open, .ended: return []
        }
    }

    private mutating func controlRefused() -> [RFCOMMAction] {
        switch state {
        case .awaitAcknowledgement: end(.refused)
        case .awaitDisconnect: end(.local)
        case .open: end(.remote)
        case .idle, .ended: []
        }
    }

    private mutating func controlDisconnected() -> [RFCOMMAction] {
        guard state != .idle else { return [response(.dm, 0)] }
        return [response(.ua, 0)] + end(state == .awaitDisconnect ? .local : .remote)
    }

    // MARK: Connections

    private mutating func connectionRequested(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        guard state == .open else { return [response(.dm, dlci)] }
        switch links[dlci]?.phase {
        case .negotiated: break
        case .open: return [response(.ua, dlci)]
        case nil where serves(dlci): links[dlci] = RFCOMMDataLink(.negotiated)
        case nil, .waiting, .awaitParameters, .awaitAcknowledgement, .awaitDisconnect: return [response(.dm, dlci)]
        }
        return [response(.ua, dlci)] + opened(dlci, at: now)
    }

    private mutating func acknowledged(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        switch links[dlci]?.phase {
        case .awaitAcknowledgement: opened(dlci, at: now)
        case .awaitDisconnect(let why): gone(dlci, why, at: now)
        case nil, .waiting, .awaitParameters, .negotiated, .open: []
        }
    }

    private mutating func refused(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        switch links[dlci]?.phase {
        case .awaitParameters, .awaitAcknowledgement: gone(dlci, .refused, at: now)
        case .awaitDisconnect(let why): gone(dlci, why, at: now)
        case .open, .negotiated: gone(dlci, .remote, at: now)
        case nil, .waiting: []
        }
    }

    private mutating func disconnected(_ dlci: UInt8, at now: Microseconds) -> [RFCOMMAction] {
        guard let link = links[dlci], link.phase != .waiting else { return [response(.dm, dlci)] }
        var end = RFCOMMEnd.remote
        if case .awaitDisconnect(let why) = link.phase { end = why }
        return [response(.ua, dlci)] + gone(dlci, end, at: now)
    }

    private mutating func received(_ frame: RFCOMMFrame, at now: Microseconds) -> [RFCOMMAction] {
        let dlci = frame.dlci
        guard var link = links[dlci] else { return [response(.dm, dlci)] }
        guard link.isOpen else { return [] }
        guard frame.information.count <= link.frameSize else { return disconnect(dlci, .violation, at: now) }
        var actions: [RFCOMMAction] = []
        if let credits = frame.credits { link.credits = min(link.credits + Int(credits), Int(UInt16.max)) }
        // A frame without information needs no credit. RFCOMM 1.2, 6.5.2.
        if !frame.information.isEmpty {
            guard !link.hasCredits || link.granted > 0 else { return disconnect(dlci, .violation, at: now) }
            if link.hasCredits { link.granted -= 1 }
            actions.append(.received(dlci: dlci, frame.information))
            if let more = link.replenish(window: settings.creditWindow) { actions.append(data(dlci, credits: more)) }
        }
        links[dlci] = link
        return actions + pump(dlci)
    }
}

// MARK: Multiplexer messages

extension RFCOMMSession {
    private mutating func messages(_ information: [UInt8], at now: Microseconds) -> [RFCOMMAction] {
        guard state == .open else { return state == .idle ? [response(.dm, 0)] : [] }
        var actions: [RFCOMMAction] = []
        for message in RFCOMMMessage.all(in: information) where state == .open {
            do throws(PDUError) {
                if let command = try RFCOMMCommand(message) {
                    actions += message.isCommand ? answer(command, at: now) : answered(command, at: now)
                } else if message.isCommand {
                    // NSC is for unknown types, not for invalid values. TS 07.10, 5.4.6.3.8.
                    actions.append(self.message(.notSupported(message.type), isCommand: false))
                }
            } catch { continue }
        }
        return actions
    }

    private mutating func answer(_ command: RFCOMMCommand, at now: Microseconds) -> [RFCOMMAction] {
        switch command {
        case .parameterNegotiation(let parameters): return negotiated(parameters, at: now)
        case .test(let octets): return [message(.test(octets), isCommand: false)]
        case .flowControlOn, .flowControlOff:
            isStopped = command == .flowControlOff
            return links.keys.sorted().reduce(into: [message(command, isCommand: false)]) { $0 += pump($1) }
        case .modemStatus(let dlci, let signals, _):
            let answer = message(command, isCommand: false)
            guard links[dlci] != nil else { return [answer] }
            links[dlci]?.isStopped = signals.contains(.flowControl)
            return [answer, .signals(dlci: dlci, signals)] + pump(dlci)
        case .remotePortNegotiation(let dlci, let settings):
            guard let settings else {
                let current = links[dlci]?.portSettings ?? .standard
                return [message(.remotePortNegotiation(dlci: dlci, current), isCommand: false)]
            }
            links[dlci]?.portSettings = settings
            let answer = message(command, isCommand: false)
            return links[dlci] == nil ? [answer] : [answer, .portSettings(dlci: dlci, settings)]
        case .remoteLineStatus(let dlci, let status):
            return [message(command, isCommand: false), .lineStatus(dlci: dlci, status)]
        case .notSupported: return []
        }
    }

    /// Handles the peer's parameters for a connection that it will open. RFCOMM 1.2, 5.5.3.
    private mutating func negotiated(_ offer: RFCOMM.PNCmd, at now: Microseconds) -> [RFCOMMAction] {
        // T1 and N2 are not negotiated. RFCOMM 1.2, table 5.2.
        var answer = RFCOMM.PNCmd(dlci: offer.dlci, priority: offer.priority)
        if let link = links[offer.dlci], link.phase != .negotiated {
            // An open connection keeps its parameters.
            guard link.isOpen else { return [] }
            answer.maximumFrameSize = UInt16(link.frameSize)
            answer.convergenceLayer = link.hasCredits ? RFCOMMParameters.grantsCredits : 0
            answer.initialCredits = 0
            return [message(.parameterNegotiation(answer), isCommand: false)]
        }
        guard serves(offer.dlci), RFCOMMParameters.frameSizes.contains(Int(offer.maximumFrameSize)) else {
            return [response(.dm, offer.dlci)]
        }
        var link = RFCOMMDataLink(.negotiated)
        link.deadline = now + settings.acknowledgementTimeOut
        link.frameSize = min(settings.frameSize, Int(offer.maximumFrameSize))
        link.hasCredits = settings.usesCredits && offer.convergenceLayer == RFCOMMParameters.asksForCredits
        if link.hasCredits { (link.credits, link.granted) = (Int(offer.initialCredits), settings.initialCredits) }
        answer.maximumFrameSize = UInt16(link.frameSize)
        if settings.quirks.ignoresFrameSize { link.frameSize = settings.frameSize }
        links[offer.dlci] = link
        answer.convergenceLayer = link.hasCredits ? RFCOMMParameters.grantsCredits : 0
        answer.initialCredits = UInt8(link.granted)
        return [message(.parameterNegotiation(answer), isCommand: false)]
    }

    private mutating func answered(_ response: RFCOMMCommand, at now: Microseconds) -> [RFCOMMAction] {
        if case .notSupported(let type) = response {
            awaited.removeAll { $0.type == RFCOMMCommand.type(of: type) }
            return [.notSupported(type)]
        }
        guard let index = awaited.firstIndex(where: { $0.type == response.type && $0.dlci == response.dlci }) else { return [] }
        awaited.remove(at: index)
        switch response {
        case .parameterNegotiation(let parameters): return agreed(parameters, at: now)
        case .modemStatus(let dlci, _, _):
            links[dlci]?.isStatusKnown = true
            return pump(dlci)
        case .test(let octets): return [.testAnswered(octets)]
        case .remotePortNegotiation(let dlci, let settings): return settings.map { [.portSettings(dlci: dlci, $0)] } ?? []
        case .remoteLineStatus, .flowControlOn, .flowControlOff, .notSupported: return []
        }
    }

    /// Handles the peer's response to PN: a smaller N1 applies, and CL accepts credits or not.
    private mutating func agreed(_ answer: RFCOMM.PNCmd, at now: Microseconds) -> [RFCOMMAction] {
        guard var link = links[answer.dlci], link.phase == .awaitParameters else { return [] }
        guard answer.maximumFrameSize > 0 else { return gone(answer.dlci, .violation, at: now) }
        link.frameSize = min(Int(answer.maximumFrameSize), settings.frameSize)
        link.hasCredits = settings.usesCredits && answer.convergenceLayer == RFCOMMParameters.grantsCredits
        if link.hasCredits { (link.credits, link.granted) = (Int(answer.initialCredits), settings.initialCredits) }
        link.phase = .awaitAcknowledgement
        link.deadline = now + settings.acknowledgementTimeOut
        links[answer.dlci] = link
        return [command(.sabm, answer.dlci)]
    }
}
