import BBHCI
import BBPackets
import BBTiming

@testable import BBHost

/// Both ends of a BR/EDR link; each ACL packet arrives after a delay or is lost.
final class ClassicLink {
    final class End {
        let multiplexer: L2CAPMultiplexer
        let channels: ClassicChannels
        var arrived: [ClassicDataChannel] = []
        fileprivate let scheduler: ACLScheduler

        fileprivate init(_ loop: RunLoop, _ settings: ClassicSignaling.Settings, _ send: @escaping (HCIPacket) -> Void) {
            scheduler = ACLScheduler(transmit: send)
            let context = HostContext(loop: loop, scheduler: scheduler, server: GATTServer(database: GATTDatabase(deviceName: "x")))
            scheduler.setPools([ACLBuffers(fragmentLength: 200, total: 8)])
            multiplexer = L2CAPMultiplexer(handle: ClassicLink.handle, slot: scheduler.open(handle: 1, pool: 0), context: context)
            channels = ClassicChannels(on: multiplexer, loop: loop, settings: settings)
            scheduler.onWritable = { [unowned multiplexer] in multiplexer.becameWritable(lane: $1) }
            channels.arrived = { [unowned self] in arrived.append($0) }
        }
    }

    static let handle = ConnectionHandle(1)
    private(set) var ends: [End] = []
    private let loop: RunLoop
    private var random: RandomSource
    /// Share of data packets that are lost.
    var loss = 0.0

    init(on loop: RunLoop, seed: UInt64 = 1, settings: ClassicSignaling.Settings = .init()) {
        self.loop = loop
        random = RandomSource(seed: seed)
        ends = (0..<2).map { index in End(loop, settings) { [unowned self] in post($0, from: index) } }
    }

    private func post(_ packet: HCIPacket, from index: Int) {
        let isData = (packet.aclChannel ?? 0) >= 0x40
        let isLost = isData && random.chance(loss)
        _ = loop.schedule(after: .milliseconds(2)) { [self] in
            if !isLost, let header = packet.aclHeader {
                ends[1 - index].multiplexer.received(boundary: header.boundary, packet.bytes.span.bytes.extracting(ACLHeader.octets...))
            }
            ends[index].scheduler.completed(handle: 1, count: 1)
        }
    }

    func close() {
        let error = HostError.peer(.disconnected(.connectionTimeout))
        for end in ends {
            end.multiplexer.close(error)
            end.channels.ended(error)
        }
    }
}

extension HCIPacket {
    /// Channel identifier of a fragment that starts a PDU.
    fileprivate var aclChannel: UInt16? {
        guard let header = aclHeader, header.boundary != .continuing else { return nil }
        return L2CAPHeader(bytes.span.bytes.extracting(ACLHeader.octets...))?.channel
    }
}
