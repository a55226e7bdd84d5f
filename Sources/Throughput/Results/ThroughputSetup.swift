/// Devices, settings and date of a measurement. Comparisons reject different set-ups.
public struct ThroughputSetup: Sendable, Hashable, Codable {
    /// Device selectors from the command line.
    public var tester: String?
    public var subject: String?
    /// Company and firmware of the controllers, for dongles.
    public var testerController: String?
    public var subjectController: String?
    /// Machine and version of the program.
    public var host: String?
    public var build: String?
    /// UTC, in ISO 8601.
    public var date: String?
    /// Counting time of each row.
    public var seconds: Double?
    // Settings of simulated controllers and of their air.
    public var packetError: Double?
    public var eventFilling: String?
    public var exchanges: Int?
    public var buffers: Int?
    /// Labels given by the user.
    public var labels: [String: String]?
    /// The options of the bench, each with the place where its value is from.
    public var options: [GivenOption]?

    public init() {}

    private enum CodingKeys: String, CodingKey {
        case tester, subject, host, build, date, seconds, exchanges, buffers, labels, options
        case testerController = "tester_controller"
        case subjectController = "subject_controller"
        case packetError = "packet_error"
        case eventFilling = "event_filling"
    }
}
