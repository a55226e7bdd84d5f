import Packets

/// A capture in the making on one loop: knows the date of the loop's time zero, and keeps a failing disk from ending a run.
public final class CaptureLog {
    /// The first failure. What was written before it is kept, what comes after is dropped and counted.
    public private(set) var failure: CaptureError?
    public private(set) var dropped = 0
    /// How many packets are in the capture.
    public var count: Int { writer.count + (held == nil ? 0 : 1) }
    public var path: String { writer.path }
    /// Whether packets can have comments, and the air an interface.
    public var isCommented: Bool { writer.format == .pcapng }

    private let writer: CaptureWriter
    private let epoch: CaptureTime
    private var pendingComment: String?
    /// The last packet of a capture with comments: something may still be said about it.
    private var held: CaptureRecord?
    private var basebandInterface: Int?
    private static let basebandInterface = CaptureInterface(name: "air, BR/EDR", linkType: .bredrBaseband)

    /// - Parameters:
    ///   - epoch: the date of the loop's time zero. Keep the default in virtual time: then equal runs give equal files.
    ///   - isSecret: the file is for its owner alone, for it has keys.
    public init(path: String, format: CaptureFormat? = nil, epoch: CaptureTime = .virtualEpoch, isSecret: Bool = false)
        throws(CaptureError)
    {
        writer = try CaptureWriter(path: path, format: format, isSecret: isSecret)
        self.epoch = epoch
    }

    /// Adds a controller by the name that the capture shows: tester, subject.
    public func addController(_ name: String) throws(CaptureError) -> Int {
        try writer.addInterface(CaptureInterface(name: name, linkType: .h4WithDirection))
    }

    /// Adds the air; only pcapng has room for it.
    public func addAir(_ name: String = "air") throws(CaptureError) -> Int {
        try writer.addInterface(CaptureInterface(name: name, linkType: .leLinkLayerWithHeader))
    }

    /// Puts a comment on the next packet, where the format has comments.
    public func comment(_ text: String) { pendingComment = text }

    /// Puts a comment on the last packet, where the format has comments, and nothing has been flushed since.
    public func commentLast(_ text: String) {
        let before = held?.comment.map { $0 + "\n" } ?? ""
        held?.comment = before + text
    }

    /// Writes an HCI packet and returns its number in the capture, counted from 1.
    @discardableResult
    public func record(_ packet: HCIPacket, _ direction: CaptureDirection, interface: Int, at time: Microseconds) -> Int {
        write(.hci(packet, direction), interface: interface, at: time)
    }

    /// Writes a transmission and returns its number in the capture, counted from 1. Those of BR/EDR have an interface of their own beside `interface`.
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

    /// Brings everything written so far to the operating system.
    public func flush() {
        writeHeld()
        attempt { () throws(CaptureError) in try writer.flush() }
    }

    /// Closes the file.
    ///
    /// - Throws: the first failure of the whole capture.
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
