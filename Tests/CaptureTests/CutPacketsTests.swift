import BBCapture
import BBPackets
import Foundation
import Testing

/// Recorded packets, one of each kind, truncated at every octet and with every octet changed: the decoder reports the error, and re-encodes
/// the same octets.
@Suite struct CutPacketsTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Packets of the captures below a folder, one of each command, event and attribute PDU.
    private static func packets(below folder: URL) -> [HCIPacket] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        var seen: Set<HCIPacket> = []
        var packets: [HCIPacket] = []
        for file in files.sorted(by: { $0.path < $1.path }) where !file.hasDirectoryPath {
            for record in (try? CaptureReader.readAll(file.path))?.records ?? [] {
                guard case .hci(let packet, _) = record.content, record.cutFrom == nil, packet.bytes.count <= 80,
                    seen.insert(HCIPacket(packet.kind, sort(of: packet))).inserted
                else { continue }
                packets.append(packet)
            }
        }
        return packets
    }

    private static func sort(of packet: HCIPacket) -> [UInt8] {
        switch packet.kind {
        case .command: Array(packet.bytes.prefix(2))
        case .event: [packet.bytes.first ?? 0, packet.leSubevent ?? 0]
        case .acl, .sco, .iso: Array(packet.bytes.dropFirst(6).prefix(3))
        }
    }

    private static let own = packets(below: package.appendingPathComponent("Fixtures"))
    private static let others: [HCIPacket] = {
        let told = ProcessInfo.processInfo.environment["BLUEBENCH_CAPTURES"].map { URL(fileURLWithPath: $0) }
        let library = told ?? package.deletingLastPathComponent().appendingPathComponent("shared/captures")
        return packets(below: library.appendingPathComponent("field"))
    }()

    @Test func ownPackets() throws {
        #expect(Self.own.count > 40)
        try cutAndChange(Self.own)
    }

    @Test(.enabled(if: !others.isEmpty, "no captures of other tools at hand: set BLUEBENCH_CAPTURES"))
    func packetsOfOtherTools() throws { try cutAndChange(Self.others) }

    private func cutAndChange(_ packets: [HCIPacket]) throws {
        for packet in packets {
            for index in packet.bytes.indices {
                var variants = [Array(packet.bytes[..<index])]
                for value in [packet.bytes[index] &+ 1, packet.bytes[index] &- 1, 0, 0xFF] {
                    variants.append(packet.bytes)
                    variants[variants.count - 1][index] = value
                }
                for bytes in variants {
                    let pdu = DynamicPDU(hci: HCIPacket(packet.kind, bytes))
                    try #require(try pdu.bytes() == bytes, "\(packet.kind) \(Hex.octets(bytes)) is read as \(pdu)")
                    #expect(!pdu.description.isEmpty)
                }
            }
        }
    }
}
