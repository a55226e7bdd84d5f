/// What figures were measured with, and when: comparisons refuse unlike set-ups.
public struct ThroughputSetup: Sendable, Hashable, Codable {
    /// As they were named on the command line.
    public var tester: String?
    public var subject: String?
    /// Company and firmware of the controllers, where they are dongles.
    public var testerController: String?
    public var subjectController: String?
    /// The machine that the program ran on, and the program's version.
    public var host: String?
    public var build: String?
    /// UTC, as in ISO 8601.
    public var date: String?
    /// How long each row counted.
    public var seconds: Double?
    // Settings of simulated controllers and of their air.
    public var packetError: Double?
    public var eventFilling: String?
    public var exchanges: Int?
    public var buffers: Int?
    /// The user's own words about the set-up.
    public var labels: [String: String]?

    public init() {}

    private enum CodingKeys: String, CodingKey {
        case tester, subject, host, build, date, seconds, exchanges, buffers, labels
        case testerController = "tester_controller"
        case subjectController = "subject_controller"
        case packetError = "packet_error"
        case eventFilling = "event_filling"
    }
}
