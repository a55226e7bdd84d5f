import DequeModule
import Packets
import Timing

/// How a server sent a value.
public enum AttributeValueKind: Sendable, Hashable {
    case notification
    case indication
}

/// Takes a notified or indicated value, on the loop, from within the delivery of its packet. The span is valid during the call.
public typealias AttributeValueHandler = (AttributeValueKind, UInt16, RawSpan) -> Void

/// The attribute protocol on one link: both roles' cores, their timers, and the hot path of values.
final class ATTBearer {
    static let defaultMTU = 23
    static let maximumMTU = 517
    static let transactionTimeOut = Microseconds.seconds(30)

    private enum IndicationState {
        case idle
        case awaitConfirmation(Promise<Void>, Timer)
    }

    /// Until the link has ended.
    unowned var link: Link?
    private let path: DataPath
    private var loop: RunLoop { path.loop }
    var server: ATTServer
    private var requests = ATTRequestQueue()
    private var responses: [Int: Promise<[UInt8]>] = [:]
    private var nextRequest = 0
    private var requestTimer: Timer?
    private var indication = IndicationState.idle
    private var waitingIndications = Deque<(handle: UInt16, value: [UInt8], done: Promise<Void>)>()
    private var failure: HostError?
    /// Values by characteristic value handle, then for all others.
    var valueHandlers: [UInt16: AttributeValueHandler] = [:]
    var defaultHandler: AttributeValueHandler?

    init(path: DataPath) {
        self.path = path
        server = ATTServer(database: path.database)
    }

    /// ATT_MTU.
    var mtu: Int { server.mtu }

    func setMTU(_ mtu: Int) {
        guard server.mtu != mtu else { return }
        server.mtu = mtu
        link?.notify(.mtuChanged(mtu))
    }

    // MARK: Receiving

    func received(_ pdu: RawSpan, on link: Link) {
        guard pdu.byteCount > 0 else { return }
        switch pdu.u8(at: 0) {
        case ATT.HandleValueNtf.opcode: value(.notification, pdu)
        case ATT.HandleValueInd.opcode: indicated(pdu)
        case ATT.MultipleHandleValueNtf.opcode: values(pdu)
        case ATT.HandleValueCfm.opcode: confirmed()
        case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21: perform(requests.received(pdu.octets))
        case ATT.WriteCmd.opcode:
            server.quirks.ignoresPermissions = path.quirks.ignoresPermissions
            _ = server.receive(pdu, from: AttributeAccess(link: link, security: link.security))
        default: serve(pdu, link)
        }
    }

    private func serve(_ pdu: RawSpan, _ link: Link) {
        let before = server.mtu
        server.quirks = path.quirks
        server.offeredMTU = path.offeredMTU
        if let response = server.receive(pdu, from: AttributeAccess(link: link, security: link.security)) {
            link.transmit(cid: L2CAP.attCID, response)
        }
        guard server.mtu != before else { return }
        if let other = path.quirks.usedMTU { server.mtu = other }
        link.notify(.mtuChanged(server.mtu))
    }

    private func value(_ kind: AttributeValueKind, _ pdu: RawSpan) {
        guard pdu.byteCount >= 3 else { return }
        deliver(kind, pdu.u16(at: 1), pdu.extracting(3..<pdu.byteCount))
    }

    private func deliver(_ kind: AttributeValueKind, _ handle: UInt16, _ value: RawSpan) {
        if let handler = valueHandlers[handle] ?? defaultHandler { handler(kind, handle, value) }
    }

    private func values(_ pdu: RawSpan) {
        var position = 1
        while position + 4 <= pdu.byteCount {
            let end = position + 4 + Int(pdu.u16(at: position + 2))
            guard end <= pdu.byteCount else { return }
            deliver(.notification, pdu.u16(at: position), pdu.extracting(position + 4..<end))
            position = end
        }
    }

    private func indicated(_ pdu: RawSpan) {
        guard pdu.byteCount >= 3 else { return }
        value(.indication, pdu)
        if !path.quirks.neverConfirms { link?.transmit(cid: L2CAP.attCID, ATT.HandleValueCfm().bytes) }
    }

    // MARK: Requests

    /// Sends a request PDU when its turn comes and returns the response PDU.
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
            case .send(let pdu): link?.transmit(cid: L2CAP.attCID, pdu)
            case .startTimer:
                requestTimer = loop.schedule(after: Self.transactionTimeOut) { [self] in
                    requestTimer = nil
                    perform(requests.expired())
                }
            case .stopTimer:
                if let requestTimer { loop.cancel(requestTimer) }
                requestTimer = nil
            case .finish(let id, .success(let pdu)): responses.removeValue(forKey: id)?.fulfil(pdu)
            case .finish(let id, .failure(let error)): responses.removeValue(forKey: id)?.fail(error)
            }
        }
    }

    // MARK: Indications

    func indicate(_ handle: UInt16, _ value: [UInt8]) async throws {
        if let failure { throw failure }
        let done = Promise<Void>(on: loop)
        waitingIndications.append((handle, value, done))
        nextIndication()
        try await done.value()
    }

    private func nextIndication() {
        guard case .idle = indication, let (handle, value, done) = waitingIndications.popFirst() else { return }
        let timer = loop.schedule(after: Self.transactionTimeOut) { self.indicationExpired() }
        indication = .awaitConfirmation(done, timer)
        link?.transmit(opcode: ATT.HandleValueInd.opcode, attribute: handle, value.span.bytes)
    }

    private func confirmed() {
        guard case .awaitConfirmation(let done, let timer) = indication else { return }
        loop.cancel(timer)
        indication = .idle
        done.fulfil(())
        nextIndication()
    }

    private func indicationExpired() {
        let error = HostError.peer(.timedOut(.attConfirmation))
        failure = error
        failIndications(error)
    }

    private func failIndications(_ error: HostError) {
        if case .awaitConfirmation(let done, let timer) = indication {
            loop.cancel(timer)
            done.fail(error)
        }
        indication = .idle
        let waiting = waitingIndications
        waitingIndications.removeAll()
        for entry in waiting { entry.done.fail(error) }
    }

    func ended(_ error: HostError) {
        failure = error
        if let requestTimer { loop.cancel(requestTimer) }
        failIndications(error)
        let unanswered = responses.sorted { $0.key < $1.key }
        responses.removeAll()
        for (_, promise) in unanswered { promise.fail(error) }
        valueHandlers.removeAll()
        defaultHandler = nil
        link = nil
    }
}
