import BBCapture
import BBPackets
import BBTiming

/// Packets of devices as they come: lines on the terminal, and a capture.
package final class LiveCapture {
    /// Called once, if nothing can be shown or written any more.
    package var onEnd: ((CaptureError?) -> Void)?
    package private(set) var count = 0
    /// A sentence if the selection matched no packet; nil otherwise.
    package var lackOfMatches: String? {
        lines != nil && selection.isPartial && shown == 0 && count > 0 ? "no packet of \(count) matches" : nil
    }

    private let interfaces: [CaptureInterface]
    private let epoch: CaptureTime
    private let selection: PacketSelection
    private var lines: PacketOutput?
    private let file: RingFile?
    private let page: LiveServer?
    private var decoder: PacketDecoder
    private var start: CaptureTime?
    private var shown = 0

    /// - Parameters:
    ///   - lines: nil to print nothing.
    ///   - page: nil to serve none.
    package init(
        _ interfaces: [CaptureInterface], epoch: CaptureTime, selection: PacketSelection, lines: PacketOutput?, names: Bool,
        file: RingFile?, page: LiveServer?
    ) {
        (self.interfaces, self.epoch, self.selection) = (interfaces, epoch, selection)
        (self.lines, self.file, self.page) = (lines, file, page)
        decoder = PacketDecoder(names: names)
    }

    package func add(_ packet: HCIPacket, _ direction: CaptureDirection, interface: Int, at time: Microseconds) {
        let record = CaptureRecord(time: epoch + time, interface: interface, content: .hci(packet, direction))
        count += 1
        let begin = start ?? record.time
        start = begin
        do throws(CaptureError) { try file?.write(record) } catch { end(error) }
        page?.add(record)
        show(record, since: begin)
    }

    private func show(_ record: CaptureRecord, since begin: CaptureTime) {
        guard lines != nil else { return }
        let elapsed = record.time.nanoseconds.subtractingReportingOverflow(begin.nanoseconds).partialValue
        guard selection.includes(count, elapsed, record) else {
            _ = decoder.decode(record)
            return
        }
        let packet = PacketOutput.Packet(number: count, elapsed: elapsed, record: record, interfaces: interfaces, marks: [])
        // Without a file, showing a packet does not fail.
        if (try? lines?.show(packet, &decoder, selection)) == true { shown += 1 }
    }

    /// Flushes lines and file every tenth of a second, so that viewers can follow.
    package func keepFlushing(on loop: RunLoop) {
        loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self else { return }
            flush()
            keepFlushing(on: loop)
        }
    }

    private func flush() {
        lines?.flush()
        do throws(CaptureError) { try file?.flush() } catch { return end(error) }
        if lines?.isReaderGone == true { end(nil) }
    }

    private func end(_ error: CaptureError?) {
        let onEnd = onEnd
        self.onEnd = nil
        onEnd?(error)
    }

    /// - Throws: `CaptureError` if the file is incomplete.
    package func finish() throws {
        lines?.flush()
        page?.stop()
        try file?.finish()
    }
}
