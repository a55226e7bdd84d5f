import HCI
import Packets
import Timing

/// One LE connection: its state, its channels, and what can be asked of it.
public final class Link {
    public let handle: ConnectionHandle
    public let role: ConnectionRole
    public let peer: DeviceAddress
    public internal(set) var parameters: ConnectionParameters
    public internal(set) var phys = LinkPHYs()
    public internal(set) var dataLength = DataLength()
    public internal(set) var security = LinkSecurity.none
    /// Why the link ended; nil while it is up.
    public private(set) var disconnectReason: ErrorCode?
    /// Called for what happens on the link without being asked for.
    public var onEvent: ((LinkEvent) -> Void)?
    /// Called when `trySend` and its kin have room again after they returned false.
    public var onWritable: (() -> Void)?
    /// PDUs seen on any channel, for evidence: direction, channel, payload.
    public var onPDU: ((PacketDirection, UInt16, RawSpan) -> Void)?

    public let host: Host
    let path: DataPath
    let slot: Int
    var loop: RunLoop { path.loop }
    private var reassembler = L2CAPReassembler()
    private var channels: [UInt16: (RawSpan) -> Void] = [:]
    private var endPromise: Promise<ErrorCode>
    var signaling = LESignaling()
    var parameterResponse: Promise<Bool>?
    var signalingTimer: Timer?
    let bearer: ATTBearer

    init(host: Host, path: DataPath, slot: Int, connection: ConnectionState) {
        self.host = host
        self.path = path
        self.slot = slot
        handle = connection.handle
        role = connection.role ?? .central
        peer = connection.peer ?? DeviceAddress(value: 0)
        parameters = connection.parameters ?? ConnectionParameters(interval: 0)
        endPromise = Promise(on: path.loop)
        bearer = ATTBearer(path: path)
        bearer.link = self
    }

    public var isConnected: Bool { disconnectReason == nil }
    public var isCentral: Bool { role == .central }

    /// Waits until the link has ended.
    public func ended(within limit: Microseconds? = nil) async throws -> ErrorCode {
        do {
            return try await endPromise.value(until: limit.map { loop.now + $0 })
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.disconnection))
        }
    }

    // MARK: Channels

    /// Listens on a channel that the host does not handle itself, or instead of it; nil gives it back.
    public func setChannel(_ cid: UInt16, _ handler: ((RawSpan) -> Void)?) { channels[cid] = handler }

    /// Sends a PDU on a channel, whatever it holds; false if the queue is full or the link is gone.
    @discardableResult
    public func trySend(cid: UInt16, _ payload: [UInt8]) -> Bool {
        guard isConnected, path.scheduler.hasRoom(slot) else { return false }
        transmit(cid: cid, payload)
        return true
    }

    /// Sends a PDU on a channel, waiting for room.
    public func send(cid: UInt16, _ payload: [UInt8]) async throws {
        try await room()
        transmit(cid: cid, payload)
    }

    /// Sends an ACL packet's content as one fragment: boundary flag and octets may be anything.
    public func sendFragment(boundary: UInt8, _ octets: [UInt8]) {
        guard isConnected else { return }
        let first = handle.rawValue | UInt16(boundary & 3) << 12
        let count = octets.count
        path.scheduler.enqueueRaw(
            slot,
            packet: [
                UInt8(truncatingIfNeeded: first), UInt8(first >> 8), UInt8(truncatingIfNeeded: count),
                UInt8(truncatingIfNeeded: count >> 8),
            ] + octets)
    }

    /// Whether another PDU finds room in the queue; if not, `onWritable` will be called.
    public var isWritable: Bool { isConnected && path.scheduler.hasRoom(slot) }
    /// ACL fragments that wait in the host's queue.
    public var queuedFragments: Int { isConnected ? path.scheduler.waiting(slot) : 0 }
    /// ACL fragments that the controller holds.
    public var fragmentsInController: Int { isConnected ? path.scheduler.inFlight(slot) : 0 }

    private var roomPromise: Promise<Void>?

    func room() async throws {
        while true {
            guard isConnected else { throw HostError.peer(.disconnected(disconnectReason ?? .success)) }
            if path.scheduler.hasRoom(slot) { return }
            let promise = roomPromise ?? Promise(on: loop)
            roomPromise = promise
            try await promise.value()
        }
    }

    func becameWritable() {
        roomPromise?.fulfil(())
        roomPromise = nil
        onWritable?()
    }

    /// Sends whatever the queue's length: for answers, which the peer's own flow control bounds.
    func transmit(cid: UInt16, _ payload: [UInt8]) {
        guard isConnected else { return }
        if !path.quirks.rewrites.isEmpty, rewrite(cid: cid, payload) { return }
        transmitAsIs(cid: cid, payload)
    }

    func transmitAsIs(cid: UInt16, _ payload: [UInt8]) {
        guard isConnected else { return }
        onPDU?(.sent, cid, payload.span.bytes)
        path.scheduler.enqueue(slot, cid: cid, body: payload.span.bytes)
    }

    /// The same for an attribute value, without an array in between.
    func transmit(opcode: UInt8, attribute: UInt16, _ value: RawSpan) {
        if onPDU == nil, path.quirks.rewrites.isEmpty {
            path.scheduler.enqueue(slot, cid: L2CAP.attCID, head: InlineHead(opcode: opcode, handle: attribute), body: value)
        } else {
            transmit(cid: L2CAP.attCID, [opcode, UInt8(truncatingIfNeeded: attribute), UInt8(attribute >> 8)] + value.octets)
        }
    }

    func receivedFragment(boundary: ACLHeader.Boundary, _ fragment: RawSpan) {
        switch reassembler.receive(boundary: boundary, fragment) {
        case .wait: break
        case .drop: path.counters.malformedData += 1
        case .deliverFragment(let cid): received(cid: cid, fragment.extracting(L2CAPHeader.octets...))
        case .deliverAssembled(let cid):
            let pdu = reassembler.assembled
            received(cid: cid, pdu.span.bytes.extracting(L2CAPHeader.octets...))
        }
    }

    private func received(cid: UInt16, _ payload: RawSpan) {
        onPDU?(.received, cid, payload)
        if !channels.isEmpty, let handler = channels[cid] { return handler(payload) }
        switch cid {
        case L2CAP.attCID: bearer.received(payload, on: self)
        case L2CAP.signalingCID: receivedSignaling(payload.octets)
        case L2CAP.smpCID: receivedSMP(payload)
        default: path.counters.unknownChannels += 1
        }
    }

    /// Nothing can be paired, and a peer that asks is told at once. Core Vol 3, Part H, 3.5.5.
    private func receivedSMP(_ payload: RawSpan) {
        guard payload.byteCount > 0, payload.u8(at: 0) != SMP.PairingFailed.opcode,
            (SMP.PairingRequest.opcode...0x0E).contains(payload.u8(at: 0))
        else { return }
        transmit(cid: L2CAP.smpCID, SMP.PairingFailed(reason: .pairingNotSupported).bytes)
    }

    // MARK: End

    func notify(_ event: LinkEvent) { onEvent?(event) }

    func ended(_ error: HostError, reason: ErrorCode) {
        guard disconnectReason == nil else { return }
        disconnectReason = reason
        if let signalingTimer { loop.cancel(signalingTimer) }
        parameterResponse?.fail(error)
        roomPromise?.fail(error)
        bearer.ended(error)
        endPromise.fulfil(reason)
        notify(.disconnected(reason))
    }
}

/// Fixed channels of LE links. Core Vol 3, Part A, 2.1.
public enum L2CAP {
    public static let attCID: UInt16 = 0x0004
    public static let signalingCID: UInt16 = 0x0005
    public static let smpCID: UInt16 = 0x0006
}
