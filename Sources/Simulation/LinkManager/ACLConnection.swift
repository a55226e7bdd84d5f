import BBBluetoothCrypto
import BBPackets
import BBTiming

/// One end of a BR/EDR connection. Core Vol 2, Part C, 4.1.1.
///
/// This class carries out decisions made elsewhere: the state of the link is in `ACLLinkState`, procedures run in a `ProcedureEngine`, and
/// the `LinkTransport` below sends packets.
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
    /// True while encryption restarts with a changed link key.
    private var isTakingUpKey = false
    private var deadline: Microseconds?
    private var responseTimer: AirTimer!

    /// Creates the connection on an established baseband link; the connection must become the transport's delegate.
    ///
    /// - Parameter secrets: source of the random numbers of this device's procedures.
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
    /// True unless either device is ending the link.
    var isOpen: Bool { !isClosed && !engine.isEnding }
    /// True if no procedure and no timeout is pending.
    var isAtRest: Bool { engine.isIdle && !responseTimer.isSet }

    // MARK: Procedures

    /// Starts a procedure after those requested earlier.
    func request(_ procedure: some LMPProcedure) { run { $0.request(procedure, at: $1, &$2) } }

    /// Handles a reply of the host. Returns false if no procedure awaits it.
    @discardableResult
    func reply(_ reply: ACLReply) -> Bool {
        guard !isClosed else { return false }
        refresh()
        guard let outputs = engine.hostReplied(reply, at: loop.now, &state) else { return false }
        perform(outputs)
        return true
    }

    /// Ends the link without sending anything and without a delegate call, as a reset does.
    func abandon() {
        guard !isClosed else { return }
        delegate = nil
        transport.detach()
        close(.success)
    }

    /// Copies values that may have changed since the last step from the transport and the controller.
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
            case .send(let pdu), .announce(let pdu): sendAsRuled(pdu)
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

    /// Sends a message, changed by the controller's packet rules.
    private func sendAsRuled(_ message: [UInt8]) {
        guard let rewriter = delegate?.rewriter else { return transport.send(lmp: message) }
        rewriter.pass(.lmp, message) {
            transport.send(lmp: $0)
        } later: { [loop] message, delay in
            loop.schedule(after: delay) { [weak self] in self?.transport.send(lmp: message) }
        }
    }

    /// Updates the data hold and the response timer from the state of the procedure engine.
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
            // A new piconet starts with the basic packet type table. If encryption is paused, it is resumed first.
            if status == .success, role == .central, state.isSetUp, !state.security.isPaused { request(LocalPacketTypeTable(.enhanced)) }
        case .connected(.success):
            delegate?.connection(self, reports: report)
            agreeOnPackets()
        case .keyChanged(.success) where state.security.mode != .off:
            isTakingUpKey = true
            request(EncryptionRefresh(isLocal: true))
        case .keyRefreshed:
            delegate?.connection(self, reports: report)
            if state.role == .central, transport.wantsEnhancedRates { request(LocalPacketTypeTable(.enhanced)) }
            guard isTakingUpKey else { return }
            isTakingUpKey = false
            delegate?.connection(self, reports: .keyChanged(.success))
        default: delegate?.connection(self, reports: report)
        }
    }

    /// Agrees on packet sizes and types once the connection is set up.
    private func agreeOnPackets() {
        if state.longestPacket > 1 { request(LocalMaxSlot(state.longestPacket)) }
        if state.role == .central, transport.wantsEnhancedRates { request(LocalPacketTypeTable(.enhanced)) }
    }

    private func close(_ reason: ErrorCode) {
        guard !isClosed else { return }
        isClosed = true
        responseTimer.cancel()
        // A pending authentication request gets a result.
        let isAuthenticating = engine.isBusy(with: .authentication) || engine.isBusy(with: .pairing)
        engine.removeAll()
        if isAuthenticating { delegate?.connection(self, reports: .authenticated(reason)) }
        delegate?.connection(self, disconnected: reason)
    }
}

extension ACLConnection: LinkTransportDelegate {
    func transport(_ transport: any LinkTransport, received lmp: [UInt8]) {
        guard let delay = delegate?.linkManagerSettings(for: state.peer).delay, delay > .zero else { return takeAsRuled(lmp) }
        loop.schedule(after: delay) { [weak self] in self?.takeAsRuled(lmp) }
    }

    private func take(_ message: LMPMessage) { run { $0.received(message, message.header, at: $1, &$2) } }

    private func take(lmp bytes: [UInt8]) { if let message = LMPMessage(bytes) { take(message) } }

    /// Handles a received message, changed by the controller's packet rules.
    private func takeAsRuled(_ bytes: [UInt8]) {
        guard let rewriter = delegate?.rewriter, rewriter.isAboutReceived else { return take(lmp: bytes) }
        rewriter.passReceived(.lmp, bytes) {
            take(lmp: $0)
        } later: { [loop] bytes, delay in
            loop.schedule(after: delay) { [weak self] in self?.take(lmp: bytes) }
        }
    }

    func transportAcknowledged(_ transport: any LinkTransport, lmp: [UInt8]) {
        var reader = ByteReader(lmp.span.bytes)
        guard let header = try? LMPHeader(from: &reader) else { return }
        run { $0.acknowledged(header, at: $1, &$2) }
    }

    func transport(_ transport: any LinkTransport, made change: BasebandChange, isDone: Bool) {
        if case .roleSwitch = change { reply(.switched(isDone: isDone)) }
    }

    func transportNeedsKeyRefresh(_ transport: any LinkTransport) {
        guard state.security.mode != .off, !engine.isBusy(with: .encryption) else { return }
        request(EncryptionRefresh(isLocal: true))
    }

    func transportLost(_ transport: any LinkTransport, _ reason: ErrorCode) {
        close(engine.isTerminating ? .connectionTerminatedByLocalHost : reason)
    }
}
