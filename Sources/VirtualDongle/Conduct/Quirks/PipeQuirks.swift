import BBMisbehaviour
import BBPackets
import BBTransport

extension DongleQuirk {
    private static let anyTime = "Core Vol 4, Part A, 2: a stream of octets, which the host reads when it has time"

    /// The way of packets to a host that has no time for them.
    static let pipeQuirks: [DongleQuirk] = [
        DongleQuirk(
            "joins-packets", .milliseconds(0...10_000), standard: "0-100", knownOf: "every pipe to a busy machine", allowedBy: anyTime,
            "hands on what comes within this time together, the answer to a command after 500 ms at most; a range also cuts at random",
            .rule { LateReadPackets(LateReading($0.milliseconds)) }),
        DongleQuirk(
            "late-packets", .milliseconds(0...10_000), standard: "0-100", knownOf: "every pipe to a busy machine", allowedBy: anyTime,
            "as `joins-packets` at the same times, but each packet in a turn of its own, after which the host has reacted to it",
            .rule { LateReadPackets(LateReading($0.milliseconds, isJoined: false)) }),
    ]
}

/// Hands on the packets to the host late.
final class LateReadPackets: ConductRule {
    private let reading: LateReading
    private var reader: LateReader?

    init(_ reading: LateReading) { self.reading = reading }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        let reader = reader ?? LateReader(reading, on: wire.transport.loop, number: wire.number, handOn: wire.answer)
        self.reader = reader
        reader.add(packet)
        return nil
    }
}
