import BBHCI
import BBPackets
import BBTiming

/// An observer of the PDUs of all channels of a connection: direction, channel, payload. The span is valid during the call.
public typealias PDUObserver = (PacketDirection, UInt16, RawSpan) -> Void

/// The L2CAP channels of a connection, by CID. Core Vol 3, Part A, 2.1.
final class L2CAPMultiplexer {
    let observers = Listeners<PDUObserver>()
    let handle: ConnectionHandle
    private let slot: Int
    private let context: HostContext
    private var reassembler = L2CAPReassembler()
    /// Channels of the link. The one at index 0 has lane 1 of the scheduler, and so on; lane 0 contains fragments without a channel.
    private var channels: [L2CAPChannel] = []
    private var failure: HostError?
    /// The number of channels, with closed ones whose CIDs may be used again.
    var count: Int { channels.count }

    /// - Parameter slot: the connection's index in the scheduler.
    init(handle: ConnectionHandle, slot: Int, context: HostContext) {
        self.handle = handle
        self.slot = slot
        self.context = context
    }

    /// Returns the channel with this CID; the first call creates it.
    func channel(_ cid: UInt16) -> L2CAPChannel {
        if let channel = find(cid) { return channel }
        let channel = L2CAPChannel(
            cid, slot: slot, lane: channels.count + 1, observers: observers, context: context)
        if let failure { channel.close(failure) } else { channels.append(channel) }
        return channel
    }

    /// Returns a channel whose peer has a different CID. Core Vol 3, Part A, 2.1.
    func channel(_ cid: UInt16, to remoteCID: UInt16) -> L2CAPChannel {
        let channel = channel(cid)
        channel.remoteCID = remoteCID
        return channel
    }

    private func find(_ cid: UInt16) -> L2CAPChannel? {
        for channel in channels where channel.cid == cid { return channel }
        return nil
    }

    // MARK: Data

    func received(boundary: ACLHeader.Boundary, _ fragment: RawSpan) {
        switch reassembler.receive(boundary: boundary, fragment) {
        case .wait: break
        case .drop: context.counters.malformedData += 1
        case .deliverFragment(let cid): received(cid, fragment.extracting(L2CAPHeader.octets...))
        case .deliverAssembled(let cid):
            let pdu = reassembler.assembled
            received(cid, pdu.span.bytes.extracting(L2CAPHeader.octets...))
        }
    }

    private func received(_ cid: UInt16, _ payload: RawSpan) {
        if !observers.isEmpty { observers.tell { $0(.received, cid, payload) } }
        guard let channel = find(cid), channel.receive(payload) else {
            context.counters.unknownChannels += 1
            return
        }
    }

    /// Sends any octets as one ACL fragment with any boundary flag.
    func sendFragment(boundary: ACLHeader.Boundary, _ octets: [UInt8]) {
        guard failure == nil else { return }
        var packet = ByteWriter()
        ACLHeader(handle: handle, boundary: boundary, length: UInt16(truncatingIfNeeded: octets.count)).encode(into: &packet)
        packet.bytes(octets)
        context.scheduler.enqueueRaw(slot, packet: packet.bytes)
    }

    var queuedFragments: Int { failure == nil ? context.scheduler.waiting(slot) : 0 }
    var fragmentsInController: Int { failure == nil ? context.scheduler.inFlight(slot) : 0 }

    /// Waits until the peer has acknowledged all sent data, the connection has ended, or the limit is reached.
    func drained(within limit: Microseconds) async throws {
        let end = context.loop.now + limit
        while context.loop.now < end, queuedFragments + fragmentsInController > 0 {
            try await context.loop.sleep(for: .milliseconds(10))
        }
    }

    func becameWritable(lane: Int) {
        if channels.indices.contains(lane - 1) { channels[lane - 1].becameWritable() }
    }

    func close(_ error: HostError) {
        failure = error
        for channel in channels { channel.close(error) }
    }
}
