import BBCapture

/// A copy of packets of a capture, with their interfaces, in another file or in memory.
package final class CaptureCopy {
    private struct Place: Hashable {
        var interface: Int
        var linkType: LinkType
    }

    private let writer: CaptureWriter
    /// Interfaces of the copy by those of the original and their kinds of packets.
    private var places: [Place: Int] = [:]
    /// Number of packets for which the format has no place.
    package private(set) var omitted = 0
    package var count: Int { writer.count }
    var format: CaptureFormat { writer.format }

    /// - Throws: a usage error if the file cannot be written.
    package init(_ path: String, format: CaptureFormat? = nil, isSecret: Bool = false) throws {
        do { writer = try CaptureWriter(path: path, format: format, isSecret: isSecret) } catch { throw CommandFailure(.usage, "\(error)") }
    }

    /// Creates a copy whose octets are handed on instead of written to a file.
    package init(_ format: CaptureFormat, into take: @escaping ([UInt8]) -> Void) throws(CaptureError) {
        writer = try CaptureWriter(format, into: take)
    }

    package func write(_ record: CaptureRecord, _ interfaces: [CaptureInterface]) throws {
        var record = record
        if writer.format == .pcapng { return try write(pcapng: record, interfaces) }
        record.interface = 0
        switch record.content {
        case .hci: try writer.write(record)
        case .note where writer.format == .packetLogger: try writer.write(record)
        default: omitted += 1
        }
    }

    private func write(pcapng record: CaptureRecord, _ interfaces: [CaptureInterface]) throws {
        let original = interfaces.indices.contains(record.interface) ? interfaces[record.interface] : nil
        // Formats that can only be read are written in the format with the same packets.
        let linkType: LinkType
        switch record.content {
        case .hci: linkType = .h4WithDirection
        case .air: linkType = .leLinkLayerWithHeader
        case .baseband: linkType = .bredrBaseband
        case .other(let type, _) where type == original?.linkType: linkType = type
        case .other, .note:
            omitted += 1
            return
        }
        var record = record
        let place = Place(interface: record.interface, linkType: linkType)
        record.interface =
            try places[place] ?? writer.addInterface(CaptureInterface(name: original?.name ?? "", linkType: linkType))
        places[place] = record.interface
        try writer.write(record)
    }

    package func flush() throws { try writer.flush() }
    package func finish() throws { try writer.finish() }
}
