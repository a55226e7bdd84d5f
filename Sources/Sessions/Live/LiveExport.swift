import BBCapture
import BBPackets

/// The rows of a view as a file, made piece by piece beside the running capture.
final class LiveExport {
    enum Form: String, CaseIterable, Sendable { case pcapng, btsnoop, pklg, txt, json, csv }

    private let store: LiveStore
    private let view: LiveView
    private let includes: (Int) -> Bool
    private let pieces = TextPieces()
    private var output: PacketOutput
    private var decoder: PacketDecoder
    private let selection: PacketSelection
    private let isCapture: Bool
    private let end: Int
    private var next = 0
    private var isFinished = false

    private static let piece = 512

    /// - Throws: `CaptureError`, or `PacketSelection.Mistake`.
    init(_ view: LiveView, _ store: LiveStore, as form: Form, names: Bool, includes: @escaping (Int) -> Bool) throws {
        (self.view, self.store, self.includes) = (view, store, includes)
        let pieces = pieces
        func capture(_ format: CaptureFormat) throws(CaptureError) -> PacketOutput {
            PacketOutput(try CaptureCopy(format) { pieces.write($0) })
        }
        output =
            switch form {
            case .pcapng: try capture(.pcapng)
            case .btsnoop: try capture(.btsnoop)
            case .pklg: try capture(.packetLogger)
            case .txt: PacketOutput(PacketForm(), to: pieces)
            case .json: PacketOutput(PacketForm(.json), to: pieces)
            case .csv: PacketOutput(PacketForm(.csv), to: pieces)
            }
        isCapture = [.pcapng, .btsnoop, .pklg].contains(form)
        decoder = PacketDecoder(names: names)
        selection = try PacketSelection(SelectionText())
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
            return pieces.take()
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
