import BBHCI
import BBPackets
import BBTiming

@testable import BBHost

/// Both ends of a link: L2CAP and the layers above it, connected directly.
final class BareLink {
    /// Content of an ACL packet in transit.
    struct Letter {
        let destination: Int
        var boundary: ACLHeader.Boundary
        var octets: [UInt8]
    }

    final class End {
        let context: HostContext
        let multiplexer: L2CAPMultiplexer
        let signaling: SignalingChannel
        let bearer: ATTBearer

        fileprivate init(_ index: Int, _ loop: RunLoop, buffers: ACLBuffers, _ send: @escaping (HCIPacket) -> Void) {
            let scheduler = ACLScheduler(transmit: send)
            context = HostContext(loop: loop, scheduler: scheduler, server: GATTServer(database: BareLink.database()))
            scheduler.setPools([buffers])
            let slot = scheduler.open(handle: BareLink.handle.rawValue, pool: 0)
            multiplexer = L2CAPMultiplexer(handle: BareLink.handle, slot: slot, context: context)
            scheduler.onWritable = { [unowned multiplexer] in multiplexer.becameWritable(lane: $1) }
            let client = context.server.session(of: PeerIdentity(RawWorld.address(1 - index)))
            bearer = ATTBearer(over: multiplexer.channel(CID.att), client: client, context: context)
            signaling = SignalingChannel(on: multiplexer.channel(CID.leSignaling), isCentral: index == 0, loop: loop)
        }
    }

    static let handle = ConnectionHandle(1)
    static let deviceName = Array("fuzz".utf8)
    let loop: RunLoop
    private(set) var ends: [End] = []
    private(set) var mail: [Letter] = []
    /// Number of ACL packets since the link was established.
    private(set) var sent = 0

    init(on loop: RunLoop, buffers: ACLBuffers) {
        self.loop = loop
        ends = (0..<2).map { index in End(index, loop, buffers: buffers) { [unowned self] in post($0, from: index) } }
    }

    static func database() -> GATTDatabase {
        let database = GATTDatabase(deviceName: "fuzz")
        let battery = database.add(
            ServiceDefinition(
                0x180F,
                characteristics: [
                    CharacteristicDefinition(
                        0x2A19, properties: [.read, .notify], permissions: [.read, .readEncrypted], value: [100],
                        descriptors: [DescriptorDefinition(.userDescription, permissions: .read, value: Array("charge".utf8))])
                ]))
        database.add(
            ServiceDefinition(
                0xFFF0, includes: [battery],
                characteristics: [
                    CharacteristicDefinition(0xFFF1, properties: [.read, .write], value: [UInt8](0..<60), maximumLength: 64),
                    CharacteristicDefinition(
                        0xFFF2, properties: [.notify, .indicate, .read, .write], permissions: [.read, .write, .writeAuthenticated]),
                    CharacteristicDefinition(0xFFF3, properties: [.write, .writeWithoutResponse, .signedWrite], maximumLength: 4),
                    CharacteristicDefinition(
                        0xFFF4, properties: .read, permissions: [.read, .readSecureConnections, .readAuthorized], value: [1, 2]),
                ]))
        return database
    }

    private func post(_ packet: HCIPacket, from index: Int) {
        sent += 1
        guard let header = ACLHeader(packet.bytes.span.bytes) else { return }
        mail.append(
            Letter(destination: 1 - index, boundary: header.boundary, octets: Array(packet.bytes.dropFirst(ACLHeader.octets))))
    }

    // MARK: Delivery

    /// Delivers the oldest packet, possibly changed, and frees its buffer.
    func deliver(_ change: (inout Letter) -> Void = { _ in }) {
        guard !mail.isEmpty else { return }
        var letter = mail.removeFirst()
        change(&letter)
        arrive(letter)
        ends[1 - letter.destination].context.scheduler.completed(handle: Self.handle.rawValue, count: 1)
    }

    func arrive(_ letter: Letter) {
        ends[letter.destination].multiplexer.received(boundary: letter.boundary, letter.octets.span.bytes)
    }

    /// Delivers a complete PDU that the other end has not sent.
    func arrive(_ pdu: [UInt8], on channel: UInt16, at end: Int) {
        var writer = ByteWriter()
        L2CAPHeader(length: UInt16(truncatingIfNeeded: pdu.count), channel: channel).encode(into: &writer)
        writer.bytes(pdu)
        arrive(Letter(destination: end, boundary: .first, octets: writer.bytes))
    }

    /// Delivers all packets in transit, including new ones.
    func settle() async throws {
        var left = 20_000
        repeat {
            while !mail.isEmpty {
                deliver()
                left -= 1
                try promise(left > 0, "there is no end of packets")
            }
            try await loop.sleep(for: .zero)
        } while !mail.isEmpty
    }

    func close() {
        let error = HostError.peer(.disconnected(.connectionTimeout))
        for end in ends {
            end.multiplexer.close(error)
            end.signaling.ended(error)
            end.bearer.ended(error)
        }
    }
}
