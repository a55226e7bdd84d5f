import BBL2CAP
import BBPackets
import BBTiming

extension CreditBasedSignaling {
    /// Processes a command; returns nil if it does not belong to credit-based channels.
    mutating func received(_ command: SignalingCommand, at now: Microseconds) -> [Action]? {
        switch command.code {
        case L2CAPSignaling.LECreditBasedConnectionReq.opcode: connectionRequested(command)
        case L2CAPSignaling.CreditBasedConnectionReq.opcode: enhancedRequested(command)
        case L2CAPSignaling.LECreditBasedConnectionRsp.opcode: connectionAnswered(command)
        case L2CAPSignaling.CreditBasedConnectionRsp.opcode: enhancedAnswered(command, at: now)
        case L2CAPSignaling.FlowControlCreditInd.opcode: credited(command)
        case L2CAPSignaling.DisconnectionReq.opcode: disconnectionRequested(command)
        case L2CAPSignaling.DisconnectionRsp.opcode: disconnectionAnswered(command)
        case L2CAPSignaling.CreditBasedReconfigureReq.opcode: reconfigurationRequested(command)
        case L2CAPSignaling.CreditBasedReconfigureRsp.opcode: reconfigurationAnswered(command)
        case L2CAPSignaling.CommandRejectRsp.opcode: rejected(command)
        default: nil
        }
    }

    private func reject(_ command: SignalingCommand) -> [Action] { [.send(SignalingCommand.reject(command.identifier))] }

    // MARK: Requests for channels

    private mutating func connectionRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.LECreditBasedConnectionReq.self) else { return reject(command) }
        return requested(
            request.spsm, [request.sourceCID],
            Request(
                identifier: command.identifier, kind: .lowEnergy, mtu: request.mtu, mps: request.mps, credits: request.initialCredits,
                channels: [], result: .successful))
    }

    private mutating func enhancedRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.CreditBasedConnectionReq.self) else { return reject(command) }
        let count = request.sourceCID.count
        guard (1...Self.mostAtOnce).contains(count), request.initialCredits > 0, Set(request.sourceCID).count == count else {
            let refusal = Self.refusal(.enhanced, .refusedInvalidParameters, count: min(count, Self.mostAtOnce))
            return [.send(refusal.bytes(identifier: command.identifier))]
        }
        return requested(
            request.spsm, request.sourceCID,
            Request(
                identifier: command.identifier, kind: .enhanced, mtu: request.mtu, mps: request.mps, credits: request.initialCredits,
                channels: [], result: .successful))
    }

    private mutating func requested(_ spsm: UInt16, _ sources: [UInt16], _ request: Request) -> [Action] {
        var request = request
        // The request is repeated. Core Vol 3, Part A, 6.2.1.
        guard !requests.contains(where: { $0.identifier == request.identifier }) else { return [] }
        // Values outside the specification; enhanced mode has a result of its own for them. Core Vol 3, Part A, 4.26.
        guard request.kind.isLegal(mtu: request.mtu, mps: request.mps) else {
            return refuse(request, request.kind == .enhanced ? .refusedInvalidParameters : .refusedUnacceptableParameters, sources)
        }
        for source in sources {
            let refusal: CreditBasedConnectionResult? =
                !cids.contains(source) ? .refusedInvalidSourceCID : isTaken(source) ? .refusedSourceCIDAlreadyAllocated : nil
            guard refusal == nil, let cid = freeCIDs(1).first else {
                if request.result == .successful { request.result = refusal ?? .refusedNoResources }
                request.channels.append(nil)
                continue
            }
            request.channels.append(cid)
            endpoints.append(
                Endpoint(
                    localCID: cid, remoteCID: source, spsm: spsm, kind: request.kind, state: .awaitDecision(identifier: request.identifier),
                    settings: CreditBasedChannelSettings()))
        }
        let count = request.channels.count { $0 != nil }
        guard count > 0 else { return refuse(request, request.result, sources) }
        requests.append(request)
        return [.requested(identifier: request.identifier, spsm: spsm, count: count)]
    }

    private func refuse(_ request: Request, _ result: CreditBasedConnectionResult, _ sources: [UInt16]) -> [Action] {
        [.send(Self.refusal(request.kind, result, count: sources.count).bytes(identifier: request.identifier))]
    }

    // MARK: Responses

    private mutating func connectionAnswered(_ command: SignalingCommand) -> [Action] {
        guard let response = command.read(L2CAPSignaling.LECreditBasedConnectionRsp.self),
            let index = awaiting(command, .awaitConnectionResponse(.lowEnergy)).first
        else { return [] }
        guard response.result == .successful else {
            return [.closed(cid: endpoints.remove(at: index).localCID, .creditBasedRefused(response.result))]
        }
        return answered(index, response.destinationCID, response.mtu, response.mps, response.initialCredits, .lowEnergy)
    }

    private mutating func enhancedAnswered(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard let response = command.read(L2CAPSignaling.CreditBasedConnectionRsp.self) else { return [] }
        let waiting = awaiting(command, .awaitConnectionResponse(.enhanced))
        if Self.pending.contains(response.result) {
            for index in waiting { endpoints[index].deadline = now + Self.extendedResponseTimeOut }
            return []
        }
        let cids = waiting.map { endpoints[$0].localCID }
        return cids.enumerated().flatMap { position, cid -> [Action] in
            guard let index = index(of: cid) else { return [] }
            // Only success and "some refused" open channels; with every other result, a CID has no meaning.
            let opens = response.result == .successful || Self.someRefused.contains(response.result)
            let destination = opens && response.destinationCID.indices.contains(position) ? response.destinationCID[position] : 0
            guard destination != 0 else {
                endpoints.remove(at: index)
                return [.closed(cid: cid, .creditBasedRefused(response.result))]
            }
            return answered(index, destination, response.mtu, response.mps, response.initialCredits, .enhanced)
        }
    }

    private static let someRefused: [CreditBasedConnectionResult] = [
        .refusedNoResources, .refusedInvalidSourceCID, .refusedSourceCIDAlreadyAllocated,
    ]
    private static let pending: [CreditBasedConnectionResult] = [
        .pendingNoFurtherInformation, .pendingAuthentication, .pendingAuthorization,
    ]

    private mutating func answered(
        _ index: Int, _ destination: UInt16, _ mtu: UInt16, _ mps: UInt16, _ credits: UInt16, _ kind: CreditBasedKind
    ) -> [Action] {
        // A CID that another channel has ends that channel, too. Core Vol 3, Part A, 4.26.
        let before = endpoints.first { $0.remoteCID == destination && destination != 0 }
        guard cids.contains(destination), before == nil, !others.remote.contains(destination), kind.isLegal(mtu: mtu, mps: mps) else {
            let ended = [endpoints.remove(at: index)] + [before].compactMap(\.self)
            endpoints.removeAll { $0.localCID == before?.localCID }
            return ended.filter { $0.state != .awaitDisconnectionResponse }.map {
                .closed(cid: $0.localCID, .creditBasedViolated(.illegalResponse))
            }
        }
        endpoints[index].remoteCID = destination
        endpoints[index].state = .open
        (endpoints[index].peerMTU, endpoints[index].peerMPS) = (mtu, mps)
        (endpoints[index].request, endpoints[index].deadline) = (nil, nil)
        return [.opened(endpoints[index].terms(credits: credits))]
    }

    private func awaiting(_ command: SignalingCommand, _ state: Endpoint.State) -> [Int] {
        endpoints.indices.filter { endpoints[$0].request == command.identifier && endpoints[$0].state == state }
    }

    // MARK: Credits

    /// Processes credits for the channel with the peer's CID in the command. Core Vol 3, Part A, 4.24.
    private func credited(_ command: SignalingCommand) -> [Action] {
        guard let indication = command.read(L2CAPSignaling.FlowControlCreditInd.self), indication.credits > 0,
            let endpoint = endpoints.first(where: { $0.remoteCID == indication.cid && $0.state == .open })
        else { return [] }
        return [.credited(cid: endpoint.localCID, indication.credits)]
    }

    // MARK: Disconnection

    private mutating func disconnectionRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.DisconnectionReq.self) else { return reject(command) }
        guard let index = index(of: request.destinationCID), endpoints[index].remoteCID != 0 else {
            return [.send(SignalingCommand.reject(command.identifier, invalidCID: request.destinationCID, request.sourceCID))]
        }
        // A request with the wrong source CID is ignored. Core Vol 3, Part A, 4.6.
        guard endpoints[index].remoteCID == request.sourceCID else { return [] }
        let endpoint = endpoints.remove(at: index)
        let response = L2CAPSignaling.DisconnectionRsp(destinationCID: request.destinationCID, sourceCID: request.sourceCID)
        let reply = Action.send(response.bytes(identifier: command.identifier))
        return endpoint.state == .open ? [reply, .closed(cid: endpoint.localCID, .byPeer)] : [reply]
    }

    private mutating func disconnectionAnswered(_ command: SignalingCommand) -> [Action] {
        guard let response = command.read(L2CAPSignaling.DisconnectionRsp.self),
            let index = awaiting(command, .awaitDisconnectionResponse).first, endpoints[index].localCID == response.sourceCID,
            endpoints[index].remoteCID == response.destinationCID
        else { return [] }
        endpoints.remove(at: index)
        return []
    }

    // MARK: Reconfiguration

    private mutating func reconfigurationRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.CreditBasedReconfigureReq.self) else { return reject(command) }
        let indices = request.destinationCID.compactMap { cid in
            endpoints.firstIndex { $0.remoteCID == cid && $0.state == .open && $0.kind == .enhanced }
        }
        let result = judge(request, indices)
        let reply = Action.send(L2CAPSignaling.CreditBasedReconfigureRsp(result: result).bytes(identifier: command.identifier))
        guard result == .successful else { return [reply] }
        for index in indices { (endpoints[index].peerMTU, endpoints[index].peerMPS) = (request.mtu, request.mps) }
        return [reply] + indices.map { .reconfigured(cid: endpoints[$0].localCID, mtu: request.mtu, mps: request.mps) }
    }

    /// Result of the peer's reconfiguration request. Core Vol 3, Part A, 4.27 and 4.28.
    private func judge(_ request: L2CAPSignaling.CreditBasedReconfigureReq, _ indices: [Int]) -> ReconfigurationResult {
        let count = request.destinationCID.count
        guard (1...Self.mostAtOnce).contains(count), CreditBasedKind.enhanced.isLegal(mtu: request.mtu, mps: request.mps) else {
            return .failedUnacceptableParameters
        }
        guard indices.count == count, Set(indices).count == count else { return .failedInvalidDestinationCID }
        if indices.contains(where: { endpoints[$0].peerMTU > request.mtu }) { return .failedReductionOfMTU }
        if count > 1, indices.contains(where: { endpoints[$0].peerMPS > request.mps }) { return .failedReductionOfMPS }
        return .successful
    }

    private mutating func reconfigurationAnswered(_ command: SignalingCommand) -> [Action] {
        guard let pending = reconfiguration, pending.identifier == command.identifier,
            let response = command.read(L2CAPSignaling.CreditBasedReconfigureRsp.self)
        else { return [] }
        reconfiguration = nil
        return [.reconfigurationAnswered(response.result)]
    }

    // MARK: Rejection

    /// Processes the rejection of a request; returns nil if it is not a request of credit-based channels.
    private mutating func rejected(_ command: SignalingCommand) -> [Action]? {
        if let pending = reconfiguration, pending.identifier == command.identifier {
            reconfiguration = nil
            return [.reconfigurationAnswered(.failedUnacceptableParameters)]
        }
        let ended = endpoints.filter { $0.request == command.identifier }
        guard !ended.isEmpty else { return nil }
        endpoints.removeAll { $0.request == command.identifier }
        let reason = command.read(L2CAPSignaling.CommandRejectRsp.self)?.reason ?? .commandNotUnderstood
        return ended.filter { $0.state != .awaitDisconnectionResponse }.map { .closed(cid: $0.localCID, .rejected(reason)) }
    }
}
