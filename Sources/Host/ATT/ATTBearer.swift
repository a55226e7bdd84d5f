import BBPackets
import BBTiming
import DequeModule

/// PDU kind of a value from a server.
public enum AttributeValueKind: Sendable, Hashable {
    case notification
    case indication
}

/// Receives a notified or indicated value on the loop, from within the delivery of its packet. The span is valid during the call only.
public typealias AttributeValueHandler = (AttributeValueKind, UInt16, RawSpan) -> Void

/// Result of sending a value without waiting.
public enum SendResult: Sendable, Hashable {
    case sent
    /// The queue is full; `Connection.writable` reports free space.
    case full
    /// The client has not subscribed to this characteristic.
    case notSubscribed
    /// The value exceeds ATT_MTU.
    case tooLong
    /// The client subscribed on a protected link, but this link is not yet encrypted. Core Vol 3, Part C, 10.3.1.1.
    case notEncrypted
    /// The client is not aware of the last change of the database. Core Vol 3, Part G, 2.5.2.1.
    case outOfSync
    /// A transaction on this bearer has timed out; nothing more is sent on it. Core Vol 3, Part F, 3.3.3.
    case timedOut
    case disconnected
}

/// The attribute protocol on one L2CAP channel of any kind: client and server state machines, timers, and the fast path for values. Core Vol 3, Part F,
/// 3.2.11.
final class ATTBearer {
    static let defaultMTU = 23
    static let maximumMTU = 517
    static let transactionTimeOut = Microseconds.seconds(30)

    private enum IndicationState {
        case idle
        case awaitConfirmation((Result<Void, HostError>) -> Void, Timer)
    }

    private let channel: any SDUChannel
    /// The same channel, if it takes values without an array in between.
    let basic: L2CAPChannel?
    /// The server's session with the client at the other end.
    let client: GATTServerSession
    /// Called on a new ATT_MTU.
    let mtuChanges = Listeners<(Int) -> Void>()
    let context: HostContext
    var loop: RunLoop { context.loop }
    private let server: ATTServer
    private var requests = ATTRequestQueue()
    private var responses: [Int: Promise<[UInt8]>] = [:]
    private var nextRequest = 0
    private var requestTimer: Timer?
    private var indication = IndicationState.idle
    private var waitingIndications = Deque<(handle: UInt16, value: [UInt8], done: (Result<Void, HostError>) -> Void)>()
    /// Reason why no more requests, commands, notifications or indications are sent.
    private(set) var failure: HostError? { didSet { hasFailed = failure != nil } }
    private var hasFailed = false
    private(set) var isOpen = true
    /// The client's view of the server; an Enhanced ATT bearer shares that of the link's first bearer.
    let remote: RemoteServer
    /// The server had a key of a bond when its first value came.
    private lazy var wasBonded = client.link?.bond.map { $0.localLongTermKey != nil || $0.peerLongTermKey != nil } ?? false
    /// The channel of an Enhanced ATT bearer.
    var creditBased: CreditBasedChannel? { channel as? CreditBasedChannel }
    /// The channel is in enhanced credit-based flow control mode. Core Vol 3, Part F, 3.2.11.
    let isEnhanced: Bool

    /// On the fixed channel of an LE link ATT_MTU is agreed on by ATT; elsewhere it follows from the channel. Core Vol 3, Part F, 3.2.8.
    ///
    /// - Parameter remote: that of the link's first bearer, for an Enhanced ATT bearer.
    init(over channel: any SDUChannel, client: GATTServerSession, context: HostContext, remote: RemoteServer? = nil) {
        self.channel = channel
        basic = channel.basic
        self.client = client
        self.context = context
        self.remote = remote ?? RemoteServer(on: context.loop)
        isEnhanced = remote != nil
        server = ATTServer(client: client)
        if let mtu = channel.mtu {
            server.takesSignedWrites = false
            server.mtu = mtu
            server.exchangesMTU = context.quirks.channels.exchangesMTU
        }
        channel.deliver { [unowned self] in received($0) }
    }

    /// True if ATT_MTU is negotiated by the MTU exchange. Core Vol 3, Part G, 4.3.1.
    var exchangesMTU: Bool { server.exchangesMTU }

    /// ATT_MTU of this bearer.
    var mtu: Int { server.mtu }

    func setMTU(_ mtu: Int) {
        guard server.mtu != mtu else { return }
        server.mtu = mtu
        mtuChanges.tell { $0(mtu) }
    }

    /// Takes the MTU of a channel that has been reconfigured. Core Vol 3, Part G, 5.3.1.
    func channelChanged() {
        if let mtu = channel.mtu, !context.quirks.bearers.keepsFirstMTU { setMTU(mtu) }
    }

    // MARK: Receiving

    private func received(_ pdu: RawSpan) {
        guard pdu.byteCount > 0 else { return }
        let opcode = ATTOpcode(pdu.u8(at: 0))
        switch opcode {
        case .attHandleValueNtf: value(.notification, pdu)
        case .attHandleValueInd: indicated(pdu)
        case .attMultipleHandleValueNtf: receivedValues(pdu)
        case .attHandleValueCfm: confirmed()
        case .attWriteCmd:
            server.quirks.ignoresPermissions = context.quirks.ignoresPermissions
            _ = server.receive(pdu, from: client.access)
        default:
            if opcode.isResponse { responded(pdu.octets) } else { serve(pdu) }
        }
    }

    /// Applies a new ATT_MTU with the response. Core Vol 3, Part F, 3.4.2.2.
    private func responded(_ pdu: [UInt8]) {
        if let agreed = requests.agreedMTU(by: pdu) { setMTU(agreed) }
        perform(requests.received(pdu))
    }

    /// Answers a request that waits for the application.
    func answer() {
        guard isOpen, let request = server.waiting else { return }
        var access = client.access
        access.isRepeated = true
        if let response = server.answer(request, access) { transmit(response) }
    }

    /// A client that sends a request before the response to its last one violates Core Vol 3, Part F, 3.3.2; nobody answers it.
    private func serve(_ pdu: RawSpan) {
        guard server.waiting == nil, !isNeglected else { return }
        let before = server.mtu
        server.quirks = context.quirks
        server.offeredMTU = context.server.offeredMTU
        if let response = server.receive(pdu, from: client.access) { reply(response) }
        guard server.mtu != before else { return }
        if let other = context.quirks.usedMTU { server.mtu = other }
        if context.quirks.clients.sharesMTU { for other in client.others { other.link?.attributeBearer?.setMTU(server.mtu) } }
        let mtu = server.mtu
        mtuChanges.tell { $0(mtu) }
    }

    /// True for all Enhanced ATT bearers but the first one, as an injected fault.
    private var isNeglected: Bool {
        isEnhanced && context.quirks.bearers.servesOneBearer && client.link?.enhancedAttributeBearers.first !== self
    }

    /// True if values of the server are discarded: it is bonded, and the link is not encrypted yet. Core Vol 3, Part C, 10.3.2.2.
    private var discardsValues: Bool {
        wasBonded && client.access.security == .none && !context.quirks.takesValuesInClear
    }

    private func value(_ kind: AttributeValueKind, _ pdu: RawSpan) {
        guard pdu.byteCount >= 3, !discardsValues else { return }
        remote.deliver(kind, pdu.u16(at: 1), pdu.extracting(3...))
    }

    private func receivedValues(_ pdu: RawSpan) {
        guard !discardsValues else { return }
        var position = 1
        while position + 4 <= pdu.byteCount {
            let end = position + 4 + Int(pdu.u16(at: position + 2))
            guard end <= pdu.byteCount else { return }
            remote.deliver(.notification, pdu.u16(at: position), pdu.extracting(position + 4..<end))
            position = end
        }
    }

    private func indicated(_ pdu: RawSpan) {
        guard pdu.byteCount >= 3 else { return }
        if !discardsValues { client.link?.indicated(pdu.u16(at: 1)) }
        value(.indication, pdu)
        if !context.quirks.neverConfirms { reply(ATT.HandleValueCfm().bytes) }
    }

    /// Sends a response or confirmation on the bearer of its request; as an injected fault, on the fixed channel.
    private func reply(_ pdu: [UInt8]) {
        if !isEnhanced, context.quirks.clients.answersFirst, let first = client.first?.link?.attributeBearer { return first.transmit(pdu) }
        let isStray = isEnhanced && context.quirks.bearers.repliesOnFixedChannel
        (isStray ? client.link?.attributeBearer ?? self : self).transmit(pdu)
    }

    // MARK: Commands and notifications

    /// True while the channel is open.
    var isUsable: Bool { isOpen && (basic?.isOpen ?? (channel.failure == nil)) }
    private var isWritable: Bool { basic?.isWritable ?? channel.isWritable }

    /// Octets of the longest value in one write, notification or indication. Core Vol 3, Part F, 3.2.9.
    var longestValue: Int { AttributeValueLength.longest(inMTU: mtu) }

    /// Sends a value at once or not at all; does not allocate where an SDU is one PDU.
    func trySend(opcode: UInt8, attribute: UInt16, _ value: RawSpan) -> SendResult {
        guard isUsable else { return .disconnected }
        guard !hasFailed else { return .timedOut }
        guard value.byteCount <= longestValue else { return .tooLong }
        guard isWritable else {
            channel.announceRoom()
            return .full
        }
        transmit(opcode: opcode, attribute: attribute, value)
        return .sent
    }

    /// Sends a value whatever the length of the queue.
    func transmit(opcode: UInt8, attribute: UInt16, _ value: RawSpan) {
        if let basic { return basic.transmit(opcode: opcode, attribute: attribute, value) }
        transmit([opcode, UInt8(truncatingIfNeeded: attribute), UInt8(attribute >> 8)] + value.octets)
    }

    /// Sends a PDU whatever the length of the queue.
    func transmit(_ pdu: [UInt8]) {
        // A fixed channel applies the rules for its PDUs itself.
        guard isEnhanced, !context.quirks.rewrites.isEmpty, let others = context.rewrites(of: pdu, cid: CID.att) else {
            return channel.transmit(pdu)
        }
        for other in others {
            guard other.delay > .zero else {
                channel.transmit(other.bytes)
                continue
            }
            loop.schedule(after: other.delay) { [weak self] in self?.channel.transmit(other.bytes) }
        }
    }

    /// Waits for queue space for a command or notification.
    func waitForRoom() async throws {
        if let failure { throw failure }
        try await channel.waitForRoom()
        if let failure { throw failure }
    }

    /// Converts a result to an error for waiting senders.
    func check(_ result: SendResult, octets: Int) throws {
        switch result {
        case .sent: return
        case .full: throw HostError.misuse(.busy(.sending))
        case .notSubscribed: throw HostError.misuse(.notSubscribed(.notification))
        case .tooLong: throw HostError.misuse(.tooLong(octets: octets, limit: longestValue))
        case .notEncrypted: throw HostError.misuse(.notEncrypted)
        case .outOfSync: throw HostError.misuse(.outOfSync)
        case .timedOut, .disconnected: throw failure ?? HostError.misuse(.notConnected)
        }
    }

    // MARK: Requests

    /// Queues a request PDU and returns the response PDU.
    func request(_ pdu: [UInt8]) async throws -> [UInt8] {
        if let failure { throw failure }
        let promise = Promise<[UInt8]>(on: loop)
        nextRequest += 1
        responses[nextRequest] = promise
        perform(requests.submit(id: nextRequest, pdu))
        return try await promise.value()
    }

    private func perform(_ actions: [ATTRequestQueue.Action]) {
        for action in actions {
            switch action {
            case .send(let pdu): transmit(pdu)
            case .startTimer:
                requestTimer = loop.schedule(after: Self.transactionTimeOut) { [self] in
                    requestTimer = nil
                    expired(.peer(.timedOut(.attResponse)))
                }
            case .stopTimer:
                if let requestTimer { loop.cancel(requestTimer) }
                requestTimer = nil
            case .finish(let id, .success(let pdu)):
                responses.removeValue(forKey: id)?.fulfil(pdu)
                remote.answered()
            case .finish(let id, .failure(let error)):
                if case .peer(.att(_, _, .databaseOutOfSync)) = error {
                    remote.foundOutOfSync()
                    client.link?.forgetRemoteDatabase()
                }
                responses.removeValue(forKey: id)?.fail(error)
                remote.answered()
            }
        }
    }

    // MARK: Indications

    func indicate(_ handle: UInt16, _ value: [UInt8]) async throws {
        let promise = Promise<Void>(on: loop)
        indicate(handle, value) { result in
            switch result {
            case .success: promise.fulfil(())
            case .failure(let error): promise.fail(error)
            }
        }
        try await promise.value()
    }

    /// Sends an indication.
    ///
    /// - Parameter done: receives the client's confirmation or an error.
    func indicate(_ handle: UInt16, _ value: [UInt8], done: @escaping (Result<Void, HostError>) -> Void) {
        if let failure { return done(.failure(failure)) }
        if context.quirks.indicatesWithoutWaiting {
            transmit(opcode: ATT.HandleValueInd.opcode, attribute: handle, value.span.bytes)
            return done(.success(()))
        }
        waitingIndications.append((handle, value, done))
        nextIndication()
    }

    private func nextIndication() {
        guard case .idle = indication, let (handle, value, done) = waitingIndications.popFirst() else { return }
        let timer = loop.schedule(after: Self.transactionTimeOut) { [self] in expired(.peer(.timedOut(.attConfirmation))) }
        indication = .awaitConfirmation(done, timer)
        transmit(opcode: ATT.HandleValueInd.opcode, attribute: handle, value.span.bytes)
    }

    private func confirmed() {
        guard case .awaitConfirmation(let done, let timer) = indication else { return }
        loop.cancel(timer)
        indication = .idle
        done(.success(()))
        nextIndication()
    }

    // MARK: Closing

    /// Number of requests without a response.
    var pendingRequests: Int { responses.count }
    /// Number of indications without a confirmation.
    var pendingIndications: Int {
        guard case .awaitConfirmation = indication else { return waitingIndications.count }
        return waitingIndications.count + 1
    }
    /// True if another procedure can be started.
    var isHealthy: Bool { isUsable && !hasFailed }

    /// Called when the channel is closed.
    func ended(_ error: HostError) {
        if isOpen { client.removeBearer() }
        isOpen = false
        fail(error)
        if !isEnhanced { remote.removeListeners() }
        mtuChanges.removeAll()
    }

    /// Closes the channel of an Enhanced ATT bearer.
    func close() { channel.disconnect() }

    /// A transaction has timed out. An Enhanced ATT bearer is closed, since nothing more may be sent on it. Core Vol 3, Part F, 3.3.3.
    private func expired(_ error: HostError) {
        fail(error)
        guard isEnhanced else { return }
        if context.quirks.bearers.closesAllOnTimeOut { for other in client.link?.enhancedAttributeBearers ?? [] { other.close() } }
        close()
    }

    /// Fails everything queued; only responses and confirmations are sent from now on. Core Vol 3, Part F, 3.3.3.
    private func fail(_ error: HostError) {
        failure = error
        if case .awaitConfirmation(let done, let timer) = indication {
            loop.cancel(timer)
            done(.failure(error))
        }
        indication = .idle
        let waiting = waitingIndications
        waitingIndications.removeAll()
        for entry in waiting { entry.done(.failure(error)) }
        perform(requests.close(error))
    }
}

extension ATTOpcode {
    /// True for ATT_ERROR_RSP and the responses to requests. Core Vol 3, Part F, 3.4.8.
    var isResponse: Bool {
        switch self {
        case .attErrorRsp, .attExchangeMTURsp, .attFindInformationRsp, .attFindByTypeValueRsp, .attReadByTypeRsp, .attReadRsp,
            .attReadBlobRsp, .attReadMultipleRsp, .attReadByGroupTypeRsp, .attWriteRsp, .attPrepareWriteRsp, .attExecuteWriteRsp,
            .attReadMultipleVariableRsp:
            true
        default: false
        }
    }
}
