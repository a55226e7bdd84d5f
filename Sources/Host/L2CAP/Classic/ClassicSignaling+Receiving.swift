import BBL2CAP
import BBPackets
import BBTiming

extension ClassicSignaling {
    /// Processes a PDU of the signalling channel, which may contain several commands. Core Vol 3, Part A, 4.
    mutating func received(_ pdu: [UInt8], at now: Microseconds) -> [Action] {
        guard pdu.count <= settings.signalingMTU else {
            return SignalingCommand.firstRequest(in: pdu).map {
                [.send(SignalingCommand.reject($0, signalingMTU: settings.signalingMTU))]
            } ?? []
        }
        let (commands, cut) = SignalingCommand.list(pdu)
        var actions: [Action] = []
        for command in commands where command.identifier != 0 { actions += received(command, at: now) }
        if let cut, cut != 0 { actions.append(.send(SignalingCommand.reject(cut))) }
        return actions
    }

    /// True if a command is for the channels in credit-based mode.
    private func isOfCreditBased(_ command: SignalingCommand) -> Bool {
        switch command.code {
        case L2CAPSignaling.CreditBasedConnectionReq.opcode, L2CAPSignaling.CreditBasedConnectionRsp.opcode,
            L2CAPSignaling.FlowControlCreditInd.opcode, L2CAPSignaling.CreditBasedReconfigureReq.opcode,
            L2CAPSignaling.CreditBasedReconfigureRsp.opcode:
            settings.features.contains(.enhancedCreditBased)
        case L2CAPSignaling.DisconnectionReq.opcode:
            command.read(L2CAPSignaling.DisconnectionReq.self).map { creditBased.index(of: $0.destinationCID) != nil } ?? false
        case L2CAPSignaling.DisconnectionRsp.opcode, L2CAPSignaling.CommandRejectRsp.opcode: creditBased.awaits(command.identifier)
        default: false
        }
    }

    private mutating func received(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard !isOfCreditBased(command) else { return withCreditBased { $0.received(command, at: now) ?? [] } }
        return switch command.code {
        case L2CAPSignaling.CommandRejectRsp.opcode: rejected(command, at: now)
        case L2CAPSignaling.ConnectionReq.opcode: connectionRequested(command)
        case L2CAPSignaling.ConnectionRsp.opcode: connectionAnswered(command, at: now)
        case L2CAPSignaling.ConfigurationReq.opcode: configurationRequested(command, at: now)
        case L2CAPSignaling.ConfigurationRsp.opcode: configurationAnswered(command, at: now)
        case L2CAPSignaling.DisconnectionReq.opcode: disconnectionRequested(command)
        case L2CAPSignaling.DisconnectionRsp.opcode: disconnectionAnswered(command)
        case L2CAPSignaling.EchoReq.opcode:
            [.send(L2CAPSignaling.EchoRsp(echoData: command.parameters).bytes(identifier: command.identifier))]
        case L2CAPSignaling.EchoRsp.opcode: echoRequest?.identifier == command.identifier ? echoed(true) : []
        case L2CAPSignaling.InformationReq.opcode: informationRequested(command)
        case L2CAPSignaling.InformationRsp.opcode: informationAnswered(command, at: now)
        default: SignalingCommand.isAnswered(command.code) ? [.send(SignalingCommand.reject(command.identifier))] : []
        }
    }

    // MARK: Connection

    private mutating func connectionRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.ConnectionReq.self) else {
            return [.send(SignalingCommand.reject(command.identifier))]
        }
        func refuse(_ result: ConnectionResult) -> [Action] {
            [.send(L2CAPSignaling.ConnectionRsp(sourceCID: request.sourceCID, result: result).bytes(identifier: command.identifier))]
        }
        guard CID.dynamic.contains(request.sourceCID) else { return refuse(.refusedInvalidSourceCID) }
        if let other = channels.first(where: { $0.remoteCID == request.sourceCID }) {
            // The request is repeated because it has not been answered yet. Core Vol 3, Part A, 6.2.1.
            if other.state == .awaitDecision(identifier: command.identifier), other.psm == request.psm { return [] }
            return refuse(.refusedSourceCIDAlreadyAllocated)
        }
        guard !isTaken(request.sourceCID) else { return refuse(.refusedSourceCIDAlreadyAllocated) }
        // The least significant octet of a PSM is odd, the next one is even. Core Vol 3, Part A, 4.2.
        guard request.psm & 0x0101 == 1 else { return refuse(.refusedPSMNotSupported) }
        guard let cid = freeCID else { return refuse(.refusedNoResources) }
        channels.append(
            ClassicChannel(
                localCID: cid, remoteCID: request.sourceCID, psm: request.psm, state: .awaitDecision(identifier: command.identifier),
                configuration: ChannelConfiguration(ClassicChannelSettings(), features: settings.features)))
        return [.requested(cid: cid, psm: request.psm)]
    }

    private mutating func connectionAnswered(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard let response = command.read(L2CAPSignaling.ConnectionRsp.self), let index = channelAwaiting(command),
            channels[index].state == .awaitConnectionResponse, channels[index].localCID == response.sourceCID
        else { return [] }
        switch response.result {
        case .pending:
            channels[index].responseDeadline = now + settings.extendedResponseTimeOut
            return []
        case .successful:
            guard CID.dynamic.contains(response.destinationCID), !isTaken(response.destinationCID) else { return drop(index, .violated) }
            channels[index].remoteCID = response.destinationCID
            channels[index].settle()
            channels[index].state = .configuration
            channels[index].configurationDeadline = now + settings.configurationTimeOut
            return propose(index, at: now)
        default: return drop(index, .refused(response.result))
        }
    }

    // MARK: Configuration

    private mutating func configurationRequested(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard let request = command.read(L2CAPSignaling.ConfigurationReq.self) else {
            return [.send(SignalingCommand.reject(command.identifier))]
        }
        guard let index = index(of: request.destinationCID), channels[index].isConfigurable else {
            return [.send(SignalingCommand.reject(command.identifier, invalidCID: request.destinationCID))]
        }
        if channels[index].state == .open { reopen(index, at: now) }
        let answer = channels[index].configuration.requested(request, isRunning: channels[index].hasOpened)
        let response = L2CAPSignaling.ConfigurationRsp(
            sourceCID: channels[index].remoteCID, flags: answer.flags, result: answer.result, config: answer.options)
        let reply = Action.send(response.bytes(identifier: command.identifier))
        guard !answer.isLast else { return [reply] + leave(index, .notConfigured(answer.result), at: now) }
        let proposal = propose(index, at: now)
        return [reply] + proposal + (self.index(of: request.destinationCID).map { openIfComplete($0) } ?? [])
    }

    private mutating func configurationAnswered(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard let response = command.read(L2CAPSignaling.ConfigurationRsp.self), let index = channelAwaiting(command),
            channels[index].state == .configuration, channels[index].localCID == response.sourceCID
        else { return [] }
        if response.result == .pending {
            channels[index].responseDeadline = now + settings.extendedResponseTimeOut
            return []
        }
        channels[index].settle()
        let step = channels[index].configuration.answered(response)
        return proceed(index, step, at: now)
    }

    // MARK: Disconnection

    private mutating func disconnectionRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.DisconnectionReq.self) else {
            return [.send(SignalingCommand.reject(command.identifier))]
        }
        guard let index = index(of: request.destinationCID), channels[index].state != .awaitConnectionResponse else {
            return [.send(SignalingCommand.reject(command.identifier, invalidCID: request.destinationCID, request.sourceCID))]
        }
        // A request with the wrong source CID is ignored. Core Vol 3, Part A, 4.6.
        guard channels[index].remoteCID == request.sourceCID else { return [] }
        let response = L2CAPSignaling.DisconnectionRsp(destinationCID: request.destinationCID, sourceCID: request.sourceCID)
        let reply = Action.send(response.bytes(identifier: command.identifier))
        // Both sides have requested the disconnection: the end was reported already.
        if channels[index].isLeaving {
            channels.remove(at: index)
            return [reply]
        }
        return [reply] + drop(index, .byPeer)
    }

    private mutating func disconnectionAnswered(_ command: SignalingCommand) -> [Action] {
        guard let response = command.read(L2CAPSignaling.DisconnectionRsp.self), let index = channelAwaiting(command),
            channels[index].isLeaving, channels[index].localCID == response.sourceCID,
            channels[index].remoteCID == response.destinationCID
        else { return [] }
        channels.remove(at: index)
        return []
    }

    // MARK: Information

    private func informationRequested(_ command: SignalingCommand) -> [Action] {
        guard let request = command.read(L2CAPSignaling.InformationReq.self) else {
            return [.send(SignalingCommand.reject(command.identifier))]
        }
        var response = L2CAPSignaling.InformationRsp(infoType: request.infoType)
        var info = ByteWriter()
        switch request.infoType {
        case InformationType.extendedFeatures: info.u32(settings.features.rawValue)
        case InformationType.fixedChannels where settings.features.contains(.fixedChannels): info.u64(settings.fixedChannels)
        default: response.result = Self.notSupported
        }
        response.info = info.bytes
        return [.send(response.bytes(identifier: command.identifier))]
    }

    /// Result "not supported" of an information response. Core Vol 3, Part A, 4.11.
    private static let notSupported: UInt16 = 1

    private mutating func informationAnswered(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard let response = command.read(L2CAPSignaling.InformationRsp.self) else { return [] }
        var reader = ByteReader(response.info.span.bytes)
        switch response.infoType {
        case InformationType.extendedFeatures:
            guard case .awaitResponse(command.identifier, _) = peerFeatures else { return [] }
            let mask = response.result == 0 ? try? reader.u32("Extended_Feature_Mask") : nil
            return learned(mask.map { ExtendedFeatures(rawValue: $0) }, at: now)
        case InformationType.fixedChannels:
            guard fixedChannelsRequest?.identifier == command.identifier else { return [] }
            let mask = response.result == 0 ? try? reader.u64("Fixed_Channels") : nil
            return learnedFixedChannels(mask ?? 0)
        default: return []
        }
    }

    // MARK: Rejection

    /// Processes the rejection of a request that was not understood or has an unknown CID. Core Vol 3, Part A, 4.1.
    private mutating func rejected(_ command: SignalingCommand, at now: Microseconds) -> [Action] {
        guard let rejection = command.read(L2CAPSignaling.CommandRejectRsp.self) else { return [] }
        if case .awaitResponse(command.identifier, _) = peerFeatures { return learned(nil, at: now) }
        if fixedChannelsRequest?.identifier == command.identifier { return learnedFixedChannels(0) }
        if echoRequest?.identifier == command.identifier { return echoed(false) }
        guard let index = channelAwaiting(command) else { return [] }
        switch channels[index].state {
        case .awaitDisconnectionResponse:
            channels.remove(at: index)
            return []
        case .configuration, .open:
            // The peer has no channel to disconnect.
            guard rejection.reason == .invalidCIDInRequest else { return leave(index, .rejected(rejection.reason), at: now) }
            return drop(index, .rejected(rejection.reason))
        case .awaitConnectionResponse, .awaitDecision: return drop(index, .rejected(rejection.reason))
        }
    }

    private func channelAwaiting(_ command: SignalingCommand) -> Int? { channels.firstIndex { $0.request == command.identifier } }
}

extension ClassicChannel {
    fileprivate var isLeaving: Bool { state == .awaitDisconnectionResponse }

    /// True if both CIDs are known and no disconnection is in progress.
    fileprivate var isConfigurable: Bool { state == .configuration || state == .open }
}
