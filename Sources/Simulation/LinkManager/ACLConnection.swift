import BluetoothCrypto
import Packets
import Timing

/// One end of a connection over BR/EDR. Core Vol 2, Part C, 4.1.1.
///
/// A thin shell: what the link is stands in `ACLLinkState`, its procedures run in a `ProcedureEngine`, packets are the business of the `LinkTransport` below. This class carries out what those decide.
final class ACLConnection {
    typealias Engine = ProcedureEngine<LinkManagement>

    let handle: ConnectionHandle
    let transport: any LinkTransport
    let loop: RunLoop
    private unowned var delegate: (any ACLConnectionDelegate)?
    private(set) var state: ACLLinkState
    private(set) var engine = Engine()
    private(set) var isClosed = false
    private var holdsData = false
    /// Whether the link key was changed and encryption takes it up.
    private var isTakingUpKey = false
    private var deadline: Microseconds?
    private var responseTimer: AirTimer!

    /// Makes the connection of a link that two basebands have made; the transport's delegate is to be this.
    ///
    /// - Parameter secrets: for what this side draws for its procedures.
    init(
        _ handle: ConnectionHandle, own: BDADDR, peer: BDADDR, transport: any LinkTransport, on loop: RunLoop, secrets: SecretSource,
        delegate: any ACLConnectionDelegate
    ) {
        self.handle = handle
        self.transport = transport
        self.loop = loop
        self.delegate = delegate
        state = ACLLinkState(
            role: transport.role, own: own, peer: peer, settings: delegate.linkManagerSettings(for: peer), secrets: secrets)
        state.slots = SynchronousSlots(
            freeOffset: { [unowned transport] in transport.freeOffset(every: $0, slots: $1) },
            freeLTAddr: { [unowned transport] in transport.freeLTAddr })
        responseTimer = AirTimer(on: loop) { [unowned self] in run { $0.timedOut(at: $1, &$2) } }
    }

    var peer: BDADDR { state.peer }
    var role: LinkRole { state.role }
    /// Whether neither side is ending it.
    var isOpen: Bool { !isClosed && !engine.isEnding }
    /// Whether nothing waits: no procedure and no time-out.
    var isAtRest: Bool { engine.isIdle && !responseTimer.isSet }

    // MARK: Procedures

    /// Runs a procedure, after those asked for before.
    func request(_ procedure: some LMPProcedure) { run { $0.request(procedure, at: $1, &$2) } }

    /// A reply of the host; false when no procedure awaits it.
    @discardableResult
    func reply(_ reply: ACLReply) -> Bool {
        guard !isClosed else { return false }
        refresh()
        guard let outputs = engine.hostReplied(reply, at: loop.now, &state) else { return false }
        perform(outputs)
        return true
    }

    /// Ends the link without a word on the air, as a reset does; the delegate hears nothing.
    func abandon() {
        guard !isClosed else { return }
        delegate = nil
        transport.detach()
        close(.success)
    }

    /// What may have changed since the last step.
    private func refresh() {
        state.slot = transport.slot
        state.clockOffset = transport.clockOffset
        state.slotOffset = transport.slotOffset
        if let settings = delegate?.linkManagerSettings(for: peer) { state.settings = settings }
    }

    private func run(_ step: (inout Engine, Microseconds, inout ACLLinkState) -> [Engine.Output]) {
        guard !isClosed else { return }
        refresh()
        perform(step(&engine, loop.now, &state))
    }

    private func perform(_ outputs: [Engine.Output]) {
        for output in outputs {
            guard !isClosed else { return }
            switch output {
            case .send(let pdu): sendAsRuled(pdu)
            case .changed(.baseband(let change)): transport.apply(change)
            case .changed: break
            case .report(let report): tell(report)
            case .disconnect(let reason):
                transport.detach()
                close(reason)
            }
        }
        guard !isClosed else { return }
        followEngine()
    }

    /// Sends a message, or what a rule of the controller makes of it.
    private func sendAsRuled(_ message: [UInt8]) {
        guard let rewriter = delegate?.rewriter else { return transport.send(lmp: message) }
        rewriter.pass(.linkManager, message) {
            transport.send(lmp: $0)
        } later: { [loop] message, delay in
            loop.schedule(after: delay) { [weak self] in self?.transport.send(lmp: message) }
        }
    }

    /// Holds data back or lets it go, and times what the engine awaits.
    private func followEngine() {
        if holdsData != engine.holdsData {
            holdsData = engine.holdsData
            transport.apply(.holdsData(holdsData))
        }
        guard deadline != engine.deadline else { return }
        deadline = engine.deadline
        if let deadline { responseTimer.set(at: deadline) } else { responseTimer.cancel() }
    }

    private func tell(_ report: ACLReport) {
        switch report {
        case .switchWanted: request(LocalRoleSwitch())
        case .roleChanged(let role, let status):
            delegate?.connection(self, reports: report)
            reply(.rolesSettled)
            // The new piconet begins with the basic table; where encryption has paused, it comes first.
            if status == .success, role == .central, state.isSetUp, !state.security.isPaused { request(LocalPacketTypeTable(.enhanced)) }
        case .connected(.success):
            delegate?.connection(self, reports: report)
            agreeOnPackets()
        case .keyChanged(.success) where state.security.mode != .off:
            isTakingUpKey = true
            request(EncryptionRefresh(isLocal: true, state.ownTransaction))
        case .keyRefreshed:
            delegate?.connection(self, reports: report)
            if state.role == .central, transport.wantsEnhancedRates { request(LocalPacketTypeTable(.enhanced)) }
            guard isTakingUpKey else { return }
            isTakingUpKey = false
            delegate?.connection(self, reports: .keyChanged(.success))
        default: delegate?.connection(self, reports: report)
        }
    }

    /// What both sides may send is settled as soon as they are connected.
    private func agreeOnPackets() {
        if state.longestPacket > 1 { request(LocalMaxSlot(state.longestPacket)) }
        if state.role == .central, transport.wantsEnhancedRates { request(LocalPacketTypeTable(.enhanced)) }
    }

    private func close(_ reason: ErrorCode) {
        guard !isClosed else { return }
        isClosed = true
        responseTimer.cancel()
        // Who waits for the result of an authentication gets one.
        let isAuthenticating = engine.isBusy(with: .authentication) || engine.isBusy(with: .pairing)
        engine.removeAll()
        if isAuthenticating { delegate?.connection(self, reports: .authenticated(reason)) }
        delegate?.connection(self, disconnected: reason)
    }
}

extension ACLConnection: LinkTransportDelegate {
    func transport(_ transport: any LinkTransport, received lmp: [UInt8]) {
        guard let message = LMPMessage(lmp) else { return }
        guard let delay = delegate?.linkManagerSettings(for: state.peer).delay, delay > .zero else { return take(message) }
        loop.schedule(after: delay) { [weak self] in self?.take(message) }
    }

    private func take(_ message: LMPMessage) { run { $0.received(message, message.header, at: $1, &$2) } }

    func transportAcknowledged(_ transport: any LinkTransport, lmp: [UInt8]) {
        var reader = ByteReader(lmp.span.bytes)
        guard let header = try? LMPHeader(from: &reader) else { return }
        run { $0.acknowledged(header, at: $1, &$2) }
    }

    func transport(_ transport: any LinkTransport, made change: BasebandChange, isDone: Bool) {
        if case .roleSwitch = change { reply(.switched(isDone: isDone)) }
    }

    func transportLost(_ transport: any LinkTransport, _ reason: ErrorCode) {
        close(engine.isTerminating ? .connectionTerminatedByLocalHost : reason)
    }
}
