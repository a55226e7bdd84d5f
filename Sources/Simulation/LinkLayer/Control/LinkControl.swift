import DequeModule
import Packets

/// Link layer control of one link: routes PDUs to the procedures, one of this side's and one of the other's at a time. Core Vol 6, Part B, 5.1 to 5.5.
final class LinkControl {
    enum Side {
        case local
        case remote
        /// A change that no procedure waits for.
        case none
    }

    struct PendingChange {
        var event: Int
        var change: LinkChange
        var side: Side
    }

    unowned let link: Connection
    private(set) var local: (any LocalProcedure)?
    private(set) var remote: (any LinkProcedure)?
    private var waiting = Deque<any LocalProcedure>()
    private var pending: [PendingChange] = []
    var peerFeatures: LEFeatures?
    var peerVersion: RemoteVersion?
    private var hasSentVersion = false
    /// Set by LL_TERMINATE_IND of the other side: the link ends once that is acknowledged.
    private(set) var closingReason: ErrorCode?
    /// LL_TERMINATE_IND was sent.
    private(set) var isTerminating = false
    private var localTimer: AirTimer!
    private var remoteTimer: AirTimer!

    /// The procedure response time-out. Core Vol 6, Part B, 5.2.
    static let responseTimeout: Microseconds = 40_000_000

    init(_ link: Connection) {
        self.link = link
        localTimer = AirTimer(on: link.air.loop) { [unowned self] in
            self.link.close(isTerminating ? .connectionTerminatedByLocalHost : .lmpResponseTimeout)
        }
        remoteTimer = AirTimer(on: link.air.loop) { [unowned self] in self.link.close(.lmpResponseTimeout) }
    }

    /// The event of the next change: a sleeping peripheral is awake by then.
    var nextInstant: Int? { pending.map(\.event).min() }

    /// Whether an answer may come at any event.
    var isAwaitingPeer: Bool { (local?.isAwaitingPeer ?? false) || (remote?.isAwaitingPeer ?? false) || closingReason != nil }

    func linkStarted() {
        if link.defaults.suggestedTxOctets > 27 || link.defaults.suggestedTxTime > 328 { request(LocalDataLengthUpdate()) }
    }

    func linkEnded() {
        localTimer.cancel()
        remoteTimer.cancel()
        local = nil
        remote = nil
        waiting.removeAll()
        pending.removeAll()
    }

    // MARK: Procedures of this side

    /// Runs a procedure, after those asked for before.
    func request(_ procedure: any LocalProcedure) {
        waiting.append(procedure)
        startNext()
    }

    /// Whether a procedure of this kind runs or waits here.
    func isBusy(with kind: ProcedureKind) -> Bool { local?.kind == kind || waiting.contains { $0.kind == kind } }

    private func startNext() {
        while local == nil, !isTerminating, !link.isClosed, let next = waiting.first {
            if next.kind.hasInstant, remote?.kind.hasInstant == true { return }
            waiting.removeFirst()
            var procedure = next
            let actions = procedure.start(context)
            local = procedure
            perform(actions, for: .local)
        }
    }

    func terminate(_ reason: ErrorCode) -> Bool {
        guard !isTerminating, !link.isClosed else { return false }
        isTerminating = true
        send(LLControl.TerminateInd(errorCode: reason).bytes)
        localTimer.set(at: link.air.loop.now + link.supervisionTimeout)
        return true
    }

    /// The host's answer to a parameter request of the other side; false when none is awaited.
    func answerParameterRequest(_ accepted: RequestedParameters?, reason: ErrorCode) -> Bool {
        guard var procedure = remote as? RemoteParameterRequest, procedure.isAwaitingHost else { return false }
        let actions = procedure.answered(accepted, reason: reason, context)
        remote = procedure
        perform(actions, for: .remote)
        return true
    }

    // MARK: What the link tells

    func acknowledged(_ opcode: UInt8) {
        if isTerminating, opcode == LLControl.TerminateInd.opcode { link.close(.connectionTerminatedByLocalHost) }
    }

    func received(_ payload: ArraySlice<UInt8>) {
        guard let opcode = payload.first, closingReason == nil else { return }
        guard let message = decode(opcode, payload) else { return answerUnknown(opcode) }
        switch message {
        case .terminateInd(let pdu): closingReason = pdu.errorCode
        case .unknownRsp(let pdu): refused(pdu.unknownType.rawValue, .unsupportedRemoteFeature)
        case .rejectInd(let pdu): refused(nil, pdu.errorCode)
        case .rejectExtInd(let pdu): refused(pdu.rejectOpcode.rawValue, pdu.errorCode)
        case .encReq where link.role == .peripheral: reject(opcode, .unsupportedRemoteFeature)
        default: route(message, opcode)
        }
    }

    func eventBegins(_ event: Int) {
        guard !pending.isEmpty else { return }
        for due in pending.filter({ $0.event <= event }).sorted(by: { $0.event < $1.event }) {
            pending.removeAll { $0.event == due.event && $0.side == due.side && $0.change == due.change }
            let changed = link.apply(due.change, event: due.event)
            guard !link.isClosed else { return }
            switch due.side {
            case .local:
                guard var procedure = local else { continue }
                let actions = procedure.instantReached(changed: changed, context)
                local = procedure
                perform(actions, for: .local)
            case .remote:
                guard var procedure = remote else { continue }
                let actions = procedure.instantReached(changed: changed, context)
                remote = procedure
                perform(actions, for: .remote)
            case .none: break
            }
        }
    }

    // MARK: Routing

    /// Nil for what is unknown, malformed, or of no use to this side.
    private func decode(_ opcode: UInt8, _ payload: ArraySlice<UInt8>) -> LLControl.Message? {
        let parameters = payload.dropFirst()
        var reader = ByteReader(parameters.span.bytes)
        guard let message = try? LLControl.Message(opcode: opcode, from: &reader), reader.remaining == 0 else { return nil }
        return message
    }

    private func route(_ message: LLControl.Message, _ opcode: UInt8) {
        let context = context
        if var procedure = local, let actions = procedure.received(message, context) {
            local = procedure
            return perform(actions, for: .local)
        }
        if var procedure = remote, let actions = procedure.received(message, context) {
            remote = procedure
            return perform(actions, for: .remote)
        }
        guard var procedure = remoteProcedure(for: message) else { return answerUnknown(opcode) }
        if let reason = collision(procedure.kind, message) { return reject(opcode, reason) }
        guard let actions = procedure.received(message, context) else { return answerUnknown(opcode) }
        if actions.last == .finish {
            perform(actions, for: .none)
        } else if remote == nil {
            remote = procedure
            perform(actions, for: .remote)
        } else {
            perform(actions, for: .none)
        }
    }

    /// The other side's procedure that a PDU begins, if this controller has it.
    private func remoteProcedure(for message: LLControl.Message) -> (any LinkProcedure)? {
        let features = link.configuration.features
        return switch message {
        case .versionInd: RemoteVersionExchange()
        case .featureReq: RemoteFeatureExchange()
        case .peripheralFeatureReq: features.contains(.peripheralInitiatedFeaturesExchange) ? RemoteFeatureExchange() : nil
        case .connectionUpdateInd: RemoteConnectionUpdate()
        case .connectionParamReq: features.contains(.connectionParametersRequest) ? RemoteParameterRequest() : nil
        case .channelMapInd: RemoteChannelMapUpdate()
        case .phyReq: features.isDisjoint(with: [.le2MPHY, .leCodedPHY]) ? nil : RemotePHYUpdate()
        case .lengthReq: features.contains(.leDataPacketLengthExtension) ? RemoteDataLengthUpdate() : nil
        case .pingReq: features.contains(.lePing) ? RemotePing() : nil
        default: nil
        }
    }

    /// Why a request cannot be served beside what is under way. Core Vol 6, Part B, 5.3.
    private func collision(_ kind: ProcedureKind, _ message: LLControl.Message) -> ErrorCode? {
        switch message {
        case .phyReq, .connectionParamReq: break
        default: return nil
        }
        // The central's procedure prevails; the peripheral serves the central's, and its own gets refused.
        if let local, local.kind.hasInstant, link.role == .central { return Self.collision(kind, local.kind) }
        if let remote, remote.kind.hasInstant { return Self.collision(kind, remote.kind) }
        return nil
    }

    private static func collision(_ kind: ProcedureKind, _ other: ProcedureKind) -> ErrorCode {
        kind == other ? .lmpErrorTransactionCollision : .differentTransactionCollision
    }

    private func refused(_ opcode: UInt8?, _ reason: ErrorCode) {
        let context = context
        if var procedure = local, let actions = procedure.refused(opcode, reason, context) {
            local = procedure
            return perform(actions, for: .local)
        }
        if var procedure = remote, let actions = procedure.refused(opcode, reason, context) {
            remote = procedure
            perform(actions, for: .remote)
        }
    }

    // MARK: Actions

    private func perform(_ actions: [ProcedureAction], for side: Side) {
        for action in actions {
            guard !link.isClosed else { return }
            switch action {
            case .send(let pdu): send(pdu)
            case .schedule(let change, let event):
                pending.append(PendingChange(event: event + link.configuration.quirks.instantOffset, change: change, side: side))
            case .change(let change): _ = link.apply(change, event: link.eventCounter)
            case .tell(let report): tell(report)
            case .finish: finish(side)
            case .disconnect(let reason): link.close(reason)
            }
        }
        guard !link.isClosed else { return }
        if !isTerminating { watch(local?.isAwaitingPeer ?? false, localTimer, restart: side == .local) }
        watch(remote?.isAwaitingPeer ?? false, remoteTimer, restart: side == .remote)
        if local == nil { startNext() }
    }

    private func finish(_ side: Side) {
        switch side {
        case .local: local = nil
        case .remote: remote = nil
        case .none: break
        }
    }

    private func watch(_ isAwaiting: Bool, _ timer: AirTimer, restart: Bool) {
        if !isAwaiting { timer.cancel() } else if restart || !timer.isSet { timer.set(at: link.air.loop.now + Self.responseTimeout) }
    }

    private func tell(_ report: LinkReport) {
        switch report {
        case .updated(let status): link.delegate?.connectionUpdated(link, status: status)
        case .requested(let parameters): link.delegate?.connection(link, requested: parameters)
        case .phy(let status): link.delegate?.connectionPHYUpdated(link, status: status)
        case .features(let features, let status): link.delegate?.connection(link, remoteFeatures: features, status: status)
        case .version(let version, let status): link.delegate?.connection(link, remoteVersion: version, status: status)
        }
    }

    private func send(_ pdu: [UInt8]) {
        if pdu.first == LLControl.VersionInd.opcode { hasSentVersion = true }
        link.rewriter.pass(.linkLayerControl, pdu) {
            link.send(control: $0)
        } later: { [loop = link.air.loop] bytes, delay in
            loop.schedule(after: delay) { [weak link] in link?.send(control: bytes) }
        }
    }

    private func reject(_ opcode: UInt8, _ reason: ErrorCode) {
        let both = link.configuration.features.intersection(peerFeatures ?? .extendedRejectIndication)
        if both.contains(.extendedRejectIndication) {
            send(LLControl.RejectExtInd(rejectOpcode: LLOpcode(rawValue: opcode), errorCode: reason).bytes)
        } else {
            send(LLControl.RejectInd(errorCode: reason).bytes)
        }
    }

    /// LL_UNKNOWN_RSP, but never to an answer: two confused sides would not come to rest.
    private func answerUnknown(_ opcode: UInt8) {
        switch opcode {
        case LLControl.UnknownRsp.opcode, LLControl.RejectInd.opcode, LLControl.RejectExtInd.opcode: break
        default: send(LLControl.UnknownRsp(unknownType: LLOpcode(rawValue: opcode)).bytes)
        }
    }

    var context: ProcedureContext {
        let configuration = link.configuration
        return ProcedureContext(
            role: link.role, eventCounter: link.eventCounter, peripheralLatency: link.peripheralLatency, interval: link.interval,
            transmitPHY: link.transmitPHY, receivePHY: link.receivePHY, ownFeatures: configuration.features, peerFeatures: peerFeatures,
            ownVersion: RemoteVersion(
                version: configuration.version, companyIdentifier: configuration.companyIdentifier, subversion: configuration.subversion),
            peerVersion: peerVersion, hasSentVersion: hasSentVersion, lengths: link.lengths, preferredTxPHYs: link.preferredTxPHYs,
            preferredRxPHYs: link.preferredRxPHYs, quirks: configuration.quirks)
    }
}
