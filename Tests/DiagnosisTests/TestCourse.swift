import BBCapture
import BBPackets
import Testing

@testable import BBDiagnosis

/// HCI traffic of one host, by seconds, and the rules that match.
struct TestCourse: Sendable, CustomTestStringConvertible {
    typealias Packet = (seconds: Double, packet: HCIPacket, isOut: Bool)

    var testDescription: String
    var packets: [Packet]
    var expected: [String]

    /// - Parameter packets: those with the time nil follow 0.1 s after the one before them.
    init(_ description: String, _ packets: [(Double?, HCIPacket, Bool)], _ expected: String...) {
        testDescription = description
        self.expected = expected
        var last = 0.0
        self.packets = packets.map { time, packet, isOut in
            last = time ?? last + 0.1
            return (last, packet, isOut)
        }
    }

    /// The ids of all findings but notes.
    func findings() throws -> [String] {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        for (seconds, packet, isOut) in packets {
            let time = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + Int64(saturating: seconds * 1e9))
            examiner.examine(CaptureRecord(time: time, content: .hci(packet, isOut ? .hostToController : .controllerToHost)))
        }
        return examiner.finish().findings.filter { $0.rule.severity != .note }.map(\.rule.id)
    }
}

extension HCIPacket {
    /// An event with its parameters; the length is inserted.
    static func told(_ octets: [UInt8]) -> HCIPacket { HCIPacket(.event, [octets[0], UInt8(octets.count - 1)] + octets.dropFirst()) }

    /// A command with its parameters; the length is inserted.
    static func order(_ opcode: UInt16, _ parameters: [UInt8] = []) -> HCIPacket {
        HCIPacket(.command, [UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters)
    }

    /// A packet that contains a whole PDU of L2CAP, on the connection 0x0040.
    static func frame(_ channel: UInt8, _ octets: [UInt8]) -> HCIPacket {
        let count = UInt8(octets.count)
        return HCIPacket(.acl, [0x40, 0x20, count + 4, 0x00, count, 0x00, channel, 0x00] + octets)
    }

    static func att(_ octets: UInt8...) -> HCIPacket { frame(4, octets) }
    static func smp(_ octets: [UInt8]) -> HCIPacket { frame(6, octets) }

    /// The first part of a PDU of L2CAP, or one that continues it.
    static func part(isFirst: Bool, _ octets: [UInt8]) -> HCIPacket {
        HCIPacket(.acl, [0x40, isFirst ? 0x20 : 0x10, UInt8(octets.count), 0x00] + octets)
    }

    /// A connection of LE as central, to a device with the address 1.
    static let connected = told([0x3E, 0x01, 0, 0x40, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0x18, 0, 0, 0, 0xF4, 0x01, 0])
    /// The same with a longer interval and latency: 500 ms x (4 + 1).
    static let connectedSlowly = told([0x3E, 0x01, 0, 0x40, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0x90, 0x01, 4, 0, 0x80, 0x0C, 0])
    static let paged = told([0x03, 0, 0x40, 0, 1, 2, 3, 4, 5, 6, 1, 0])
    static let encrypted = told([0x08, 0, 0x40, 0, 1])
    /// The host's end of the connection, and the peer's.
    static let left = told([0x05, 0, 0x40, 0, 0x16])
    static let ended = told([0x05, 0, 0x40, 0, 0x13])
}

func octets(_ value: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }
