import BBPackets

/// The beginning of a packet's line: number, seconds, interface and direction.
public enum LineHead {
    /// - Parameters:
    ///   - elapsed: nanoseconds since the first packet.
    ///   - interface: the name of the interface; nil if there is only one.
    public static func write(_ number: Int, _ elapsed: Int64, _ record: CaptureRecord, interface: String?, to text: inout TextBuffer) {
        text.write(decimal: number)
        text.writeSpace()
        writeTime(elapsed, to: &text)
        text.writeSpace()
        if let interface {
            text.write(interface)
            text.writeSpace()
        }
        text.write(direction(record))
        text.writeSpace()
    }

    /// Writes nanoseconds as seconds.
    public static func writeTime(_ nanoseconds: Int64, to text: inout TextBuffer) {
        let elapsed = nanoseconds / 1_000
        if elapsed < 0 { text.write("-") }
        text.write(decimal: elapsed.magnitude / 1_000_000)
        text.write(".")
        text.write(decimal: elapsed.magnitude % 1_000_000, digits: 6)
    }

    /// `>` to the controller, `<` to the host, `~` on the air.
    public static func direction(_ record: CaptureRecord) -> String {
        switch record.content {
        case .hci(_, .hostToController?): ">"
        case .hci(_, .controllerToHost?): "<"
        case .hci(_, nil): "?"
        case .air, .baseband: "~"
        case .note, .other: " "
        }
    }
}
