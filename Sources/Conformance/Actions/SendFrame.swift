import BBCases
import BBPackets

/// Sends an L2CAP PDU in fragments, or with another PDU Length than its own. Core Vol 3, Part A, 3.1 and 7.2.1.
enum SendFrame: NamedAction {
    static let name = "send frame"
    static let about = "sends an L2CAP PDU in ACL packets of a chosen size, with a chosen PDU Length"
    static let channel = TypedArgument.number("channel", 0...0xFFFF, "the CID at the peer")
    static let payload = TypedArgument.octets("payload", "the octets after the basic header")
    static let size = TypedArgument.number("size", 1...65_535, default: 65_535, "octets of L2CAP in an ACL packet, at most")
    static let length = TypedArgument.number("length", 0...65_536, default: 65_536, "PDU Length; 65536: that of the payload")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, channel.declaration, payload.declaration, size.declaration, length.declaration]
    }
    /// The number of ACL packets.
    static let results = ["packets"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (end, handle) = (try context.end(), try context(.connection))
        let (octets, size, given) = (try context(payload), try context(size), try context(length))
        var writer = ByteWriter(reserving: L2CAPHeader.octets + octets.count)
        let length = given > 0xFFFF ? octets.count : given
        L2CAPHeader(length: UInt16(truncatingIfNeeded: length), channel: UInt16(clamping: try context(channel))).encode(into: &writer)
        writer.bytes(octets)
        let starts = stride(from: 0, to: writer.bytes.count, by: size)
        for start in starts {
            let fragment = Array(writer.bytes[start..<min(start + size, writer.bytes.count)])
            end.send(HCIPacket(acl: handle, start == 0 ? .firstNonFlushable : .continuing, fragment))
        }
        return CaseRecord([("packets", .number(starts.underestimatedCount))])
    }
}
