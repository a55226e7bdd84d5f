import Dongles
import Packets
import Transport

/// What a run on real devices says about one of them.
public struct DeviceReport: Sendable, Hashable, Codable {
    /// `tester` or `subject`.
    public var side: String
    /// The selector of the device that was used.
    public var device: String
    /// Maker, product, identifiers, serial number, as far as the device tells.
    public var product: String?
    /// Version, chip and address of its controller.
    public var controller: String?
    /// The numbers that tell its make and firmware.
    public var numbers: DongleNumbers?
    /// The rows of the table of known dongles that it fits, each with what such dongles do.
    public var known: [String] = []
    /// What the bench does for it, by name.
    public var workarounds: [String] = []
    /// What it was found to do in the run.
    public var learned: [Learned] = []
    /// What brought it to answer.
    public var startup: String?
    /// Packets of the past that were thrown away at the start.
    public var discarded = 0
    /// Data that came before the event it depends on, and waited.
    public var held = 0
    /// The longest wait of a packet that was delivered.
    public var worstWaitMilliseconds = 0.0
    /// Data that waited in vain.
    public var dropped = 0
    /// How often a halted endpoint was cleared.
    public var clearedHalts = 0
    public var losses: [Loss] = []

    /// A time without the device.
    public struct Loss: Sendable, Hashable, Codable {
        /// Since the devices were opened.
        public var atMilliseconds: Double
        public var reason: String
        /// How long it was away; nil when it did not come back, or was not waited for.
        public var awayMilliseconds: Double?
        /// Where it came back, and what brought it to answer.
        public var device: String?
        public var startup: String?

        private enum CodingKeys: String, CodingKey {
            case reason, device, startup
            case atMilliseconds = "at_ms"
            case awayMilliseconds = "away_ms"
        }

        public var line: String {
            let back = awayMilliseconds.map { ", back after \(Int($0)) ms" + (startup.map { ", \($0)" } ?? "") }
            return "\(reason) after \(Int(atMilliseconds)) ms" + (back ?? "")
        }
    }

    /// Something that was found, and how often.
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
        case worstWaitMilliseconds = "worst_wait_ms"
        case clearedHalts = "cleared_halts"
    }

    public init(side: String, device: String) {
        self.side = side
        self.device = device
    }

    /// The device in a line: what it is, and how it started.
    public var line: String {
        var parts = [controller, startup].compactMap { $0 }
        if discarded > 0 { parts.append("\(discarded) packets of the past thrown away") }
        if clearedHalts > 0 { parts.append("\(clearedHalts) halted endpoints cleared") }
        return ([device, product].compactMap { $0 }).joined(separator: "  ") + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    /// What is known of it, what is done for it and what it was found to do, each in a line.
    public var conduct: [String] {
        let numbers = numbers.map { [$0.line] } ?? []
        return numbers + known.map { "known: \($0)" } + (workarounds.isEmpty ? [] : ["in use: " + workarounds.joined(separator: ", ")])
            + learned.map { "learned: \($0.line)" }
    }

    /// What the race between a device's pipes cost; nil when there was none.
    public var race: String? {
        ReorderingStatistics(held: held, worstWait: Microseconds(Int64(worstWaitMilliseconds * 1_000)), dropped: dropped).text
    }
}

extension ReorderingStatistics {
    /// In words; nil when all came in order.
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
