/// The packets of both sides of a case in chronological order, starting with the setup, for a ladder diagram.
public struct CaseTrace: Sendable, Hashable {
    /// The first and the last packets, if there are more than `mostPackets`.
    public var packets: [PacketTrace] = []
    /// The number of rows omitted between `packets[gap - 1]` and `packets[gap]`.
    public var omitted = 0
    public var gap = 0

    /// The number of rows kept for a case.
    public static let mostPackets = 160
    /// The number of rows kept from the start of a case.
    static let mostOfBeginning = 40

    public init() {}
}

/// A packet between a host and its controller or between the controllers; or several similar consecutive packets.
public struct PacketTrace: Sendable, Hashable, Codable {
    public enum Way: String, Sendable, Hashable, Codable, CaseIterable {
        /// From the side's host to its controller, and from the controller to the host.
        case down, up
        /// From the side's controller to the other controller.
        case air
    }

    /// The number in the capture; 0 on the air.
    public var packet: Int
    /// `tester` or `subject`.
    public var side: String
    public var way: Way
    public var atMilliseconds: Double
    public var name: String
    /// The fields, such as `Status=Success`.
    public var fields: [String]
    /// The number of occurrences, including the rows between its repetitions in the same order.
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
