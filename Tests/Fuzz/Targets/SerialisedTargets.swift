import BBPackets
import BBTransport
import BBTransportUSB
import BBVirtualDongle

extension FuzzTarget {
    /// The reads of a bulk pipe in Bulk Serialization mode: each packet stands in them as it is, in order, and little is kept.
    static let serialised = FuzzTarget(
        name: "serialised", layer: { _ in nil },
        seeds: {
            [
                reads([4, 0x0E, 4, 1, 3, 12, 0], [2, 0x40, 0x20, 3, 0, 1, 2, 3], [5, 0x42, 0x20, 1, 0, 9]),
                reads([2, 0x40, 0x20, 122, 0] + [UInt8](repeating: 7, count: 59), [UInt8](repeating: 7, count: 63)),
                reads([1, 3, 12, 0], [3, 1, 0, 2, 5, 6], []),
            ]
        },
        run: { input in
            let frames = Frames(input).list
            for (sender, packetSize) in [(SerialisedFramer.Sender.controller, 64), (.host, 512)] {
                var framer = SerialisedFramer(from: sender, packetSize: packetSize, longest: 2_048)
                var packets: [HCIPacket] = []
                for frame in frames {
                    if frame.action.kind == 3 { framer.restart() }
                    frame.packet.withUnsafeBytes { framer.append($0, capacity: 1_152) { packets.append($0) } }
                    try promise(framer.pendingCount <= 2_048, "\(framer.pendingCount) octets are kept")
                }
                try promise(packets.allSatisfy(\.isWhole), "a packet of another length than its header says")
                try promise(stand(packets, in: frames.flatMap(\.packet)), "a packet that was not in the reads")
            }
        })

    private static func reads(_ octets: [UInt8]...) -> [UInt8] {
        Frames(octets.map { Frames.Frame(action: Frames.Action(end: 0), packet: $0) }).octets()
    }

    private static func stand(_ packets: [HCIPacket], in stream: [UInt8]) -> Bool {
        var start = 0
        for packet in packets {
            let octets = packet.serialised
            while start + octets.count <= stream.count, !stream[start..<start + octets.count].elementsEqual(octets) { start += 1 }
            guard start + octets.count <= stream.count else { return false }
            start += octets.count
        }
        return true
    }

    /// Descriptors of a device: any octets are read, and what is found of them has a text.
    static let descriptors = FuzzTarget(
        name: "descriptors", layer: { _ in nil },
        seeds: { [["serialised-mode"], ["composite", "high-speed"], ["no-association", "extra-interfaces=3"]].compactMap(described) },
        run: { input in
            let frames = Frames(input).list.map(\.packet)
            for isHighSpeed in [false, true] {
                let shape = USBDescriptors.shape(
                    device: frames.first ?? [], configuration: frames.dropFirst().flatMap { $0 }, isHighSpeed: isHighSpeed)
                try promise(shape?.line.isEmpty != true, "no text")
                try promise(shape?.findings.allSatisfy { !$0.text.isEmpty && $0.section.hasPrefix("Core Vol 4") } != false, "no text")
            }
        })

    private static func described(_ quirks: [String]) -> [UInt8]? {
        guard let descriptors = try? DongleConduct(quirks).describe(serialNumber: "1") else { return nil }
        return reads(descriptors.device, descriptors.configuration)
    }
}
