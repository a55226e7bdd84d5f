import BBPackets
import BBTraffic

/// A capture file being written on a loop. Converts loop time to dates, and does not let a write error end the run.
public final class CaptureLog {
    /// The first error. Earlier packets are in the file, later ones are dropped.
    public private(set) var failure: CaptureError?
    public private(set) var dropped = 0
    /// Number of packets in the capture.
    public var count: Int { writer.count + (held == nil ? 0 : 1) }
    public var path: String { writer.path }
    /// True if the format supports comments and an air interface.
    public var isCommented: Bool { writer.format == .pcapng }

    private let writer: CaptureWriter
    private let epoch: CaptureTime
    private var pendingComment: String?
    /// The last packet, held back because a comment may still be added.
    private var held: CaptureRecord?
    private var basebandInterface: Int?
    private static let basebandInterface = CaptureInterface(name: "air, BR/EDR", linkType: .bredrBaseband)

    /// - Parameters:
    ///   - epoch: date of the loop's time zero. Keep the default in virtual time, so that equal runs give equal files.
    ///   - isSecret: restrict access to the owner, because the file contains keys.
    public init(path: String, format: CaptureFormat? = nil, epoch: CaptureTime = .virtualEpoch, isSecret: Bool = false)
        throws(CaptureError)
    {
        writer = try CaptureWriter(path: path, format: format, isSecret: isSecret)
        self.epoch = epoch
    }

    /// Adds a controller with a name for display: tester, subject.
    public func addController(_ name: String) throws(CaptureError) -> Int {
        try writer.addInterface(CaptureInterface(name: name, linkType: .h4WithDirection))
    }

    /// Adds the air; only pcapng supports it.
    public func addAir(_ name: String = "air") throws(CaptureError) -> Int {
        try writer.addInterface(CaptureInterface(name: name, linkType: .leLinkLayerWithHeader))
    }

    /// Adds a comment to the next packet, if the format supports comments.
    public func comment(_ text: String) { pendingComment = text }

    /// Adds a comment to the last packet, if the format supports comments and nothing has been flushed since.
    public func commentLast(_ text: String) {
        let before = held?.comment.map { $0 + "\n" } ?? ""
        held?.comment = before + text
    }

    /// Writes an HCI packet and returns its number in the capture, starting with 1.
    @discardableResult
    public func record(_ packet: HCIPacket, _ direction: CaptureDirection, interface: Int, at time: Microseconds) -> Int {
        write(.hci(packet, direction), interface: interface, at: time)
    }

    /// Writes a transmission and returns its number in the capture, starting with 1. BR/EDR transmissions have a separate interface besides
    /// `interface`.
    @discardableResult
    public func record(_ frame: AnyAirFrame, interface: Int, at time: Microseconds) -> Int {
        switch frame {
        case .le(let frame): return write(.air(frame), interface: interface, at: time)
        case .bredr(let frame):
            attempt { () throws(CaptureError) in
                if basebandInterface == nil { basebandInterface = try writer.addInterface(Self.basebandInterface) }
            }
            return write(.baseband(frame), interface: basebandInterface ?? interface, at: time)
        }
    }

    /// Flushes buffered packets to the file.
    public func flush() {
        writeHeld()
        attempt { () throws(CaptureError) in try writer.flush() }
    }

    /// Closes the file.
    ///
    /// - Throws: the first error of the capture.
    public func finish() throws(CaptureError) {
        writeHeld()
        attempt { () throws(CaptureError) in try writer.finish() }
        if let failure { throw failure }
    }

    private func write(_ content: CaptureRecord.Content, interface: Int, at time: Microseconds) -> Int {
        guard failure == nil else {
            dropped += 1
            return count
        }
        let record = CaptureRecord(time: epoch + time, interface: interface, content: content, comment: pendingComment)
        pendingComment = nil
        writeHeld()
        if isCommented {
            held = record
        } else {
            attempt { () throws(CaptureError) in try writer.write(record) }
        }
        return count
    }

    private func writeHeld() {
        guard let record = held else { return }
        held = nil
        attempt { () throws(CaptureError) in try writer.write(record) }
    }

    private func attempt(_ body: () throws(CaptureError) -> Void) {
        do { try body() } catch { if failure == nil { failure = error } }
    }
}
