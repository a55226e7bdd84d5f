import BBCapture
import BBPackets
import Foundation

/// The rows of a view as a file, made piece by piece beside the running capture.
final class LiveExport {
    private let store: LiveStore
    private let view: LiveView
    private let includes: (Int) -> Bool
    private let file: FileHandle
    private var output: PacketOutput
    private var decoder: PacketDecoder
    private let selection: PacketSelection
    private let isCapture: Bool
    private let end: Int
    private var next = 0
    private var isFinished = false

    static let forms = ["pcapng", "btsnoop", "pklg", "txt", "json", "csv"]
    private static let piece = 512

    /// - Throws: `CommandFailure` if no temporary file can be written.
    init(_ view: LiveView, _ store: LiveStore, as form: String, names: Bool, includes: @escaping (Int) -> Bool) throws {
        (self.view, self.store, self.includes) = (view, store, includes)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("bluebench-\(UUID().uuidString).\(form)").path
        let options = try ShowFormOptions.parse(["--export", path])
        isCapture = options.exportedForm == nil
        output = try PacketOutput(options)
        decoder = PacketDecoder(names: names)
        selection = try PacketSelection(SelectionOptions.parse([]))
        guard let file = FileHandle(forReadingAtPath: path) else { throw CommandFailure(.bench, "cannot read \(path)") }
        self.file = file
        // Open files have no need of a name.
        unlink(path)
        end = store.count
    }

    /// The next part of the file; empty if it takes longer, nil at the end.
    func read() -> [UInt8]? {
        if isFinished { return nil }
        guard view.isDone else {
            view.scan(store)
            return []
        }
        do {
            for _ in 0..<Self.piece where next < end { try write() }
            if next >= end {
                isFinished = true
                try output.finish()
            } else {
                output.flush()
            }
            return [UInt8](try file.readToEnd() ?? Data())
        } catch {
            isFinished = true
            return nil
        }
    }

    private func write() throws {
        if includes(next) {
            let packet = PacketOutput.Packet(
                number: next + 1, elapsed: store.elapsed(next), record: store.noted(next), interfaces: store.interfaces, marks: [])
            _ = try output.show(packet, &decoder, selection)
        } else if !isCapture {
            _ = decoder.decode(store.records[next])
        }
        next += 1
    }
}
