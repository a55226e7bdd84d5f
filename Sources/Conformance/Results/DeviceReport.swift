import BBDongles
import BBPackets
import BBTransport

/// The description of a real device in a run, with its statistics.
public struct DeviceReport: Sendable, Hashable, Codable {
    /// `tester` or `subject`.
    public var side: String
    /// The selector of the device.
    public var device: String
    /// Manufacturer, product, identifiers and serial number, as far as the device reports them.
    public var product: String?
    /// The version, chip and address of its controller.
    public var controller: String?
    /// The numbers that identify its model and firmware.
    public var numbers: DongleNumbers?
    /// The matching rows of the table of known dongles, with their behaviour.
    public var known: [String] = []
    /// The names of the active workarounds.
    public var workarounds: [String] = []
    /// The unusual behaviour observed during the run.
    public var learned: [Learned] = []
    /// The start-up step after which it answered.
    public var startup: String?
    /// The mode of HCI over USB with the reason for it; nil for a device that has only one.
    public var usbMode: String?
    /// The number of stale packets discarded at the start.
    public var discarded = 0
    /// The number of data packets that arrived before the event they depend on and were held.
    public var held = 0
    /// The longest hold of a packet that was delivered.
    public var worstWaitMilliseconds = 0.0
    /// The number of held data packets that were dropped.
    public var dropped = 0
    /// The number of times that a halted endpoint was cleared.
    public var clearedHalts = 0
    public var losses: [Loss] = []

    /// A period without the device.
    public struct Loss: Sendable, Hashable, Codable {
        /// The time since the devices were opened.
        public var atMilliseconds: Double
        public var reason: String
        /// The duration of the absence; nil if the device did not return or was not awaited.
        public var awayMilliseconds: Double?
        /// The selector after its return, and the start-up step after which it answered.
        public var device: String?
        public var startup: String?

        private enum CodingKeys: String, CodingKey {
            case reason, device, startup
            case atMilliseconds = "at_ms"
            case awayMilliseconds = "away_ms"
        }

        public var line: String {
            let back = awayMilliseconds.map { ", back after \(Int(saturating: $0)) ms" + (startup.map { ", \($0)" } ?? "") }
            return "\(reason) after \(Int(saturating: atMilliseconds)) ms" + (back ?? "")
        }
    }

    /// An observed behaviour with its count.
    public struct Learned: Sendable, Hashable, Codable {
        public var kind: String
        public var text: String
        public var count: Int

        public init(_ conduct: ObservedQuirk) { (kind, text, count) = (conduct.kind.rawValue, conduct.text, conduct.count) }

        public var line: String { text + (count > 1 ? " (\(count) times)" : "") }
    }

    private enum CodingKeys: String, CodingKey {
        case side, device, product, controller, startup, discarded, held, dropped, numbers, known, workarounds, learned
        case losses
        case usbMode = "usb_mode"
        case worstWaitMilliseconds = "worst_wait_ms"
        case clearedHalts = "cleared_halts"
    }

    public init(side: String, device: String) {
        self.side = side
        self.device = device
    }

    /// A one-line description of the device and its start.
    public var line: String {
        var parts = [controller, startup, usbMode].compactMap { $0 }
        if discarded > 0 { parts.append("\(discarded) packets of the past thrown away") }
        if clearedHalts > 0 { parts.append("\(clearedHalts) halted endpoints cleared") }
        return ([device, product].compactMap { $0 }).joined(separator: "  ") + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    /// The known behaviour, the workarounds and the observed behaviour, each in a line.
    public var conduct: [String] {
        let numbers = numbers.map { [$0.line] } ?? []
        return numbers + known.map { "known: \($0)" } + (workarounds.isEmpty ? [] : ["in use: " + workarounds.joined(separator: ", ")])
            + learned.map { "learned: \($0.line)" }
    }

    /// The effect of the race between a device's pipes; nil if there was none.
    public var race: String? {
        ReorderingStatistics(held: held, worstWait: Microseconds(Int64(saturating: worstWaitMilliseconds * 1_000)), dropped: dropped).text
    }
}

extension ReorderingStatistics {
    /// A description; nil if all packets arrived in order.
    var text: String? {
        var parts: [String] = []
        if held > 0 {
            let wait = worstWait > .zero ? ", worst wait \(Double(worstWait.rawValue / 100) / 10) ms" : ""
            parts.append("held \(held) packet\(held == 1 ? "" : "s") that came before the connection's event\(wait)")
        }
        if dropped > 0 { parts.append("dropped \(dropped) packet\(dropped == 1 ? "" : "s") whose connection's event did not come in time") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}
