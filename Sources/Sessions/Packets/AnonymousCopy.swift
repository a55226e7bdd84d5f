import BBBluetoothCrypto
import BBCapture

/// `show FILE --hide --export COPY`: a copy of a capture for others, without addresses, names, keys and values.
package struct AnonymousCopy {
    private let path: String
    private let selection: PacketSelection

    package init(_ path: String, _ selection: PacketSelection) { (self.path, self.selection) = (path, selection) }

    /// Writes the copy.
    ///
    /// - Returns: a sentence about what was replaced and left out.
    package func write(to copyPath: String) throws -> String {
        guard CaptureReader.isFile(path) else {
            throw CommandFailure(.usage, "--hide with the export of a capture reads the file twice, and \(path) is not a file")
        }
        var random = SecretSource.system
        var anonymous = AnonymousCapture(secret: UInt128(random.next()) << 64 | UInt128(random.next()))
        var failure: CaptureError?
        do {
            let reader = try CaptureReader(path: path)
            do { while let record = try reader.next() { anonymous.learn(record) } } catch { failure = error }
        } catch { throw CommandFailure(.usage, "\(error)") }
        anonymous.endLearning()
        let copy = try CaptureCopy(copyPath)
        try replace(&anonymous, copy)
        if let failure { throw CommandFailure(.bench, "\(failure)") }
        if anonymous.isEmpty { throw CommandFailure(.usage, "\(path) has no packets that can be read") }
        let left = anonymous.leftOut == 0 ? "" : "; left out \(Plural.count(anonymous.leftOut, "note")) and records of other kinds"
        return "\(copyPath): \(anonymous.summary)" + left
            + (copy.omitted == 0 ? "" : ", so that packets have other numbers: .pcapng keeps them")
    }

    private func replace(_ anonymous: inout AnonymousCapture, _ copy: CaptureCopy) throws {
        let reader = try CaptureReader(path: path)
        var start: CaptureTime?
        func put(_ records: [CaptureRecord]) throws {
            for record in records { try Self.put(record, reader.interfaces, copy) }
        }
        do {
            while let record = try reader.next() {
                let begin = start ?? record.time
                start = begin
                let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
                let records = anonymous.replace(record, isSelected: selection.includes(reader.count, elapsed, record))
                try put(records)
            }
        } catch is CaptureError {
            // It was reported by the first reading.
        }
        try put(anonymous.finish())
        try copy.finish()
    }

    private static func put(_ record: CaptureRecord, _ interfaces: [CaptureInterface], _ copy: CaptureCopy) throws {
        var record = record
        var interfaces = interfaces.enumerated().map { plain($1, $0) }
        if case .note(let text) = record.content, copy.format == .pcapng, interfaces.indices.contains(record.interface) {
            record.content = .other(.linuxMonitor, monitorNote + Array(text.utf8))
            interfaces[record.interface] = CaptureInterface(name: interfaces[record.interface].name, linkType: .linuxMonitor)
        }
        try copy.write(record, interfaces)
    }

    /// Adapter and operation code of a note in link type 254.
    private static let monitorNote: [UInt8] = [0xFF, 0xFF, 0, 12]

    /// An interface whose name tells nothing of a machine.
    private static func plain(_ interface: CaptureInterface, _ index: Int) -> CaptureInterface {
        let known = ["tester", "subject", "air", "hci", "monitor"].contains { interface.name.hasPrefix($0) } && interface.name.count < 16
        return CaptureInterface(name: known || interface.name.isEmpty ? interface.name : "interface \(index)", linkType: interface.linkType)
    }
}
