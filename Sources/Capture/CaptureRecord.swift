import BBPackets
import BBTraffic

/// A time in a capture: nanoseconds since 1970-01-01 00:00:00 UTC.
public struct CaptureTime: Sendable, Hashable, Comparable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    public init(microseconds: Int64) {
        let (value, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
        nanoseconds = overflow ? (microseconds < 0 ? .min : .max) : value
    }

    public var microseconds: Int64 { nanoseconds >= 0 ? nanoseconds / 1_000 : (nanoseconds - 999) / 1_000 }

    /// The date of virtual time zero: 2025-01-01 00:00:00 UTC in every run.
    public static let virtualEpoch = CaptureTime(microseconds: 1_735_689_600_000_000)

    public static func < (a: CaptureTime, b: CaptureTime) -> Bool { a.nanoseconds < b.nanoseconds }

    public static func + (a: CaptureTime, b: Microseconds) -> CaptureTime {
        CaptureTime(nanoseconds: a.nanoseconds &+ b.halfMicroseconds &* 500)
    }
}

/// Direction of a packet on the HCI.
public enum CaptureDirection: UInt8, Sendable, Hashable, CaseIterable {
    case hostToController = 0
    case controllerToHost = 1
}

/// A packet of a capture.
public struct CaptureRecord: Sendable, Hashable {
    public enum Content: Sendable, Hashable {
        /// An HCI packet; the direction is nil if the format does not record it and the packet type does not imply it.
        case hci(HCIPacket, CaptureDirection?)
        /// An LE transmission.
        case air(AirFrame)
        /// A BR/EDR transmission.
        case baseband(BasebandFrame)
        /// Text written by a tool.
        case note(String)
        /// Any other record, as in the file.
        case other(LinkType, [UInt8])
    }

    public var time: CaptureTime
    /// Index of the capture's interface.
    public var interface: Int
    public var content: Content
    /// Original length of a packet truncated by the capturing tool.
    public var cutFrom: Int?
    public var comment: String?
    /// True if a person has flagged the packet.
    public var isFlagged = false

    public init(time: CaptureTime, interface: Int = 0, content: Content, cutFrom: Int? = nil, comment: String? = nil) {
        self.time = time
        self.interface = interface
        self.content = content
        self.cutFrom = cutFrom
        self.comment = comment
    }
}

/// Source of packets in a capture: a controller or the air.
public struct CaptureInterface: Sendable, Hashable {
    public let name: String
    /// The name, safe for terminals.
    public let plainName: String
    public let linkType: LinkType

    public init(name: String, linkType: LinkType) {
        self.name = name
        plainName = PlainText.escaped(name)
        self.linkType = linkType
    }
}

/// Link type of packets in a file: registered LINKTYPE numbers.
public struct LinkType: RawRepresentable, Sendable, Hashable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let h4 = LinkType(rawValue: 187)
    public static let perPacketInformation = LinkType(rawValue: 192)
    public static let h4WithDirection = LinkType(rawValue: 201)
    public static let leLinkLayer = LinkType(rawValue: 251)
    public static let bredrBaseband = LinkType(rawValue: 255)
    public static let linuxMonitor = LinkType(rawValue: 254)
    public static let leLinkLayerWithHeader = LinkType(rawValue: 256)
    public static let nordicSniffer = LinkType(rawValue: 272)
    /// USER10, which the sniffer's programs used before they had a number of their own.
    public static let nordicSnifferBefore2019 = LinkType(rawValue: 157)

    /// The link types with Bluetooth packets.
    private static let names: [LinkType: String] = [
        .h4: "Bluetooth H4", .h4WithDirection: "Bluetooth H4 with direction", .leLinkLayer: "Bluetooth LE link layer",
        .bredrBaseband: "Bluetooth BR/EDR baseband", .linuxMonitor: "Bluetooth Linux monitor",
        .leLinkLayerWithHeader: "Bluetooth LE link layer with header", .nordicSniffer: "nRF Sniffer",
        .nordicSnifferBefore2019: "nRF Sniffer",
    ]

    /// The reason why a packet of this type was not read.
    public func impediment(to packet: [UInt8]) -> String {
        guard let name = Self.names[self] else { return "its link type is \(rawValue), which is not Bluetooth's" }
        let type = packet.dropFirst(self == .h4WithDirection ? 4 : 0).first
        guard self == .h4 || self == .h4WithDirection, let type, !(1...5).contains(type) else {
            return "its link type is \(rawValue) (\(name)), and its first packet begins with \(Hex.octets(Array(packet.prefix(8))))"
        }
        return "its link type is \(rawValue) (\(name)), and its first packet has the type \(Hex.number(type)), where H4 has 1 to 5"
    }
}
