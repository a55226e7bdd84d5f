/// The packets of a case's ends, in the order of time, beginning with the setup: what a ladder diagram shows.
public struct CaseTrace: Sendable, Hashable {
    /// Of more than `mostPackets` the first and the last ones.
    public var packets: [PacketTrace] = []
    /// How many rows are missing between `packets[gap - 1]` and `packets[gap]`.
    public var omitted = 0
    public var gap = 0

    /// Rows of packets that are kept of a case.
    public static let mostPackets = 160
    /// Those of its beginning.
    static let mostOfBeginning = 40

    public init() {}
}

/// A packet between a host and its controller, or between the controllers; or several alike that followed one another.
public struct PacketTrace: Sendable, Hashable, Codable {
    public enum Way: String, Sendable, Hashable, Codable {
        /// From the side's host to its controller, and back.
        case down, up
        /// From the side's controller to the other's.
        case air
    }

    /// Its number in the capture; 0 on the air.
    public var packet: Int
    /// `tester` or `subject`.
    public var side: String
    public var way: Way
    public var atMilliseconds: Double
    public var name: String
    /// `Status=Success`.
    public var fields: [String]
    /// How often it came, with whatever stood between its repetitions in the same order.
    public var times = 1

    public init(packet: Int, side: String, way: Way, atMilliseconds: Double, name: String, fields: [String], times: Int = 1) {
        (self.packet, self.side, self.way, self.atMilliseconds) = (packet, side, way, atMilliseconds)
        (self.name, self.fields, self.times) = (name, fields, times)
    }

    private enum CodingKeys: String, CodingKey {
        case packet, side, way, name, fields, times
        case atMilliseconds = "at_ms"
    }
}
