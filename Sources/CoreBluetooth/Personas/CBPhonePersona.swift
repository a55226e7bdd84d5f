import BBDongles
import BBHost
import BBPackets
import Foundation

/// A phone as accessories see it: what it asks for and accepts, read from a file in which each value has its source.
public struct CBPhonePersona: Sendable {
    /// A value of the file.
    public struct Value: Sendable, Hashable {
        public let key: String
        /// The text of the file.
        public let text: String
        /// The system or phone with which it was seen.
        public let seen: String
        /// A: in code and in a capture. B: in one of them, or in the maker's own documents. C: reported by a user.
        public let certainty: String
        public let source: String
    }

    /// A procedure at the start of a connection.
    enum Step: String, CaseIterable { case length, phy, mtu }

    /// The connection parameters that a phone accepts from a peripheral.
    enum ParameterRule: String, CaseIterable {
        /// All that the specification allows. Core Vol 3, Part A, 4.20.
        case legal
        /// Apple's Accessory Design Guidelines, R31, 58.6.
        case adgR31 = "adg-r31"
    }

    public internal(set) var name = ""
    public internal(set) var about = ""
    public internal(set) var values: [Value] = []
    /// Of a new connection.
    var connection = ConnectionParameterRequest(interval: 24, supervisionTimeout: 72)
    var start: [Step] = [.mtu, .length, .phy]
    /// Client and server Rx MTU.
    var mtu = 517
    /// The same, with a peer that has no longer packets.
    var mtuWithoutLength: Int?
    var parameters = ParameterRule.legal
    /// Connection intervals that are asked for are raised to this one, N x 1.25 ms.
    var leastInterval: UInt16 = 6
    /// Intervals, N x 1.25 ms, that an accessory with the HID service gets in turn once its parameters are granted.
    var hidIntervals: [UInt16] = []
    /// The most packets of each side in a connection event.
    var packetsPerEvent: Int?
    /// The most octets of extended advertising that the phone receives.
    var extendedOctets = 124
    var hasOverflowArea = true
    /// Seconds that a launched program has in the background.
    var launchTime: TimeInterval = 10
    /// AuthReq of a Pairing Request. Core Vol 3, Part H, 3.5.1.
    var authentication: UInt8?
    /// Initiator and responder key distribution. Core Vol 3, Part H, 3.6.1.
    var keys: UInt8?

    /// The phone of the module's own values.
    init() {}

    /// The names of the built-in personas.
    public static var names: [String] { files.keys.sorted() }

    static let files: [String: [UInt8]] = [
        "android-15-pixel": PackageResources.android_15_pixel_yaml, "ios-18": PackageResources.ios_18_yaml,
        "ios-26": PackageResources.ios_26_yaml,
    ]

    /// A built-in persona.
    ///
    /// - Throws: the names that there are, if it is not one of them.
    public init(named name: String) throws {
        guard let file = Self.files[name] else { throw CBPhonePersonaError(name: name, names: Self.names) }
        try self.init(text: String(decoding: file, as: UTF8.self), file: "\(name).yaml")
    }

    /// The persona of a file.
    ///
    /// - Throws: all mistakes of the file, each with line and column.
    public init(contentsOf path: String) throws {
        try self.init(text: try String(contentsOfFile: path, encoding: .utf8), file: path)
    }

    /// - Parameter file: the name of the text in errors.
    public init(text: String, file: String) throws {
        var reader = PersonaReader(file: file)
        reader.read(text)
        guard reader.errors.isEmpty else { throw TableErrors(list: reader.errors) }
        self = reader.persona
    }

    /// The MTU that the phone asks for.
    func mtu(octets: UInt16) -> Int { octets > 27 ? mtu : mtuWithoutLength ?? mtu }

    // MARK: Parameters of a peripheral

    /// The request as the phone would carry it out; nil if it refuses.
    func granted(_ request: ConnectionParameterRequest) -> ConnectionParameterRequest? {
        guard request.isLegal, parameters == .legal || Self.followsGuidelines(request) else { return nil }
        var granted = request
        granted.intervalMin = max(leastInterval, request.intervalMin)
        granted.intervalMax = max(leastInterval, request.intervalMax)
        return granted
    }

    /// Accessory Design Guidelines R31, 58.6. Intervals are N x 1.25 ms, the timeout N x 10 ms.
    private static func followsGuidelines(_ request: ConnectionParameterRequest) -> Bool {
        let (least, most, unit) = (Int(request.intervalMin), Int(request.intervalMax), 12)
        let effective = most * (Int(request.latency) + 1)
        let timeout = Int(request.supervisionTimeout)
        guard request.latency <= 30, (600...1_800).contains(timeout), least >= unit, least <= 1_600, least % unit == 0 else { return false }
        guard most >= least + unit || most == unit && least == unit else { return false }
        return effective <= 4_800 && timeout * 8 > effective * 3
    }
}

/// There is no such persona.
public struct CBPhonePersonaError: Error, Sendable, CustomStringConvertible {
    public let name: String
    public let names: [String]

    public var description: String { "there is no phone '\(name)'; there are \(names.joined(separator: ", "))" }
}

extension CBPhonePersona {
    func apply(to settings: inout PairingSettings, isDualMode: Bool) {
        if let authentication {
            settings.isBonding = settings.isBonding && authentication & 3 != 0
            settings.asksForMITM = authentication & 4 != 0
            settings.supportsSecureConnections = authentication & 8 != 0
            settings.supportsH7 = authentication & 0x20 != 0
        }
        if let keys {
            // A key of BR/EDR is derived only by a phone that has it. Core Vol 3, Part H, 2.3.5.7.
            let distribution = KeyDistribution(rawValue: isDualMode ? keys : keys & ~0x08)
            (settings.localKeys, settings.peerKeys) = (distribution, distribution)
        }
    }
}
