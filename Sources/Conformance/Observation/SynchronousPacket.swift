import BBCases
import BBPackets

/// A packet of synchronous data, such as voice, on an HCI. Core Vol 4, Part E, 5.4.3.
enum SynchronousPacket {
    static let name = HCIData.SynchronousData.name
    /// The largest value of Data_Total_Length, which has one octet.
    private static let mostOctets = 255

    static let fields: [Vocabulary.Field] = [
        .init("Connection_Handle", .number(0...0x0EFF)),
        .init(
            "Packet_Status_Flag", .number(0...3), labels: ["Correct": 0, "Possibly_Invalid": 1, "No_Data": 2, "Partially_Lost": 3]),
        .init("Data", .octets(atMost: mostOctets)),
    ]

    static func octets(_ fields: CaseRecord) -> [UInt8] { Array((fields["Data"]?.asOctets ?? []).prefix(mostOctets)) }

    static func record(of bytes: [UInt8]) -> CaseRecord {
        guard let packet = try? HCIData.SynchronousData(prefixOf: bytes) else { return CaseRecord() }
        return CaseRecord([
            ("Connection_Handle", .number(Int(packet.connectionHandle.rawValue))),
            ("Packet_Status_Flag", .number(Int(packet.packetStatusFlag))), ("Data", .octets(packet.data)),
        ])
    }

    static func packet(_ voice: [UInt8], handle: UInt16) -> HCIPacket {
        HCIPacket(.sco, HCIData.SynchronousData(connectionHandle: ConnectionHandle(handle), data: voice).parameters)
    }
}
