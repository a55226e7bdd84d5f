import BBPackets

/// A message about time on a connection that also carries H4 packets: the indicator 0x54, a code, a payload length of two octets (little-endian), and the payload.
/// The protocol is described in `docs/design/virtual-time.md`.
public enum TimeMessage: Sendable, Equatable {
    /// The first message of a client.
    case hello(TimeHello)
    /// The client sends nothing before this time or the next TIME; nil is for ever.
    case idle(until: Microseconds?)
    /// An idle client asks for TIME.
    case wake
    /// The client leaves.
    case bye
    /// Time stands still until the world has this number of clients, 1...64.
    case expect(clients: UInt8)
    /// The answer to a hello, with the present time.
    case welcome(version: UInt8, now: Microseconds)
    /// The present time, sent after the packets of that time. The client is awake.
    case time(Microseconds)
    /// Reason for which the server ends the connection.
    case fault(String)

    /// Indicator octet, in place of that of an HCI packet.
    public static let indicator: UInt8 = 0x54
    /// Version of the protocol.
    public static let version: UInt8 = 1
    /// The longest payload of a message.
    static let longestPayload = 512
    static let headerLength = 4
    /// Largest time on the wire, in ns; larger values mean "for ever".
    private static let lastNanosecond = UInt64(Int64.max)

    /// The message on the wire.
    public var octets: [UInt8] {
        let payload = self.payload
        return [Self.indicator, code.rawValue, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8)] + payload
    }

    enum Code: UInt8, CaseIterable {
        case hello = 0x01
        case idle = 0x02
        case wake = 0x03
        case bye = 0x04
        case expect = 0x05
        case welcome = 0x81
        case time = 0x82
        case fault = 0x83

        /// Valid payload lengths.
        var lengths: ClosedRange<Int> {
            switch self {
            case .hello: 2...2 + TimeHello.longestName
            case .idle, .time: 8...8
            case .wake, .bye: 0...0
            case .expect: 1...1
            case .welcome: 9...9
            case .fault: 0...TimeMessage.longestPayload
            }
        }
    }

    var code: Code {
        switch self {
        case .hello: .hello
        case .idle: .idle
        case .wake: .wake
        case .bye: .bye
        case .expect: .expect
        case .welcome: .welcome
        case .time: .time
        case .fault: .fault
        }
    }

    private var payload: [UInt8] {
        switch self {
        case .hello(let hello): [hello.version, hello.clients] + Array(hello.name.utf8.prefix(TimeHello.longestName))
        case .idle(let time): Self.octets(of: time)
        case .wake, .bye: []
        case .expect(let clients): [clients]
        case .welcome(let version, let now): [version] + Self.octets(of: now)
        case .time(let now): Self.octets(of: now)
        case .fault(let text): Array(text.utf8.prefix(Self.longestPayload))
        }
    }

    /// - Parameter payload: of a length that the code allows.
    init?(_ code: Code, _ payload: [UInt8]) {
        guard code.lengths.contains(payload.count) else { return nil }
        switch code {
        case .hello:
            guard let name = String(validating: payload.dropFirst(2), as: UTF8.self) else { return nil }
            self = .hello(TimeHello(name: name, clients: payload[1], version: payload[0]))
        case .idle: self = .idle(until: Self.time(payload[...]))
        case .wake: self = .wake
        case .bye: self = .bye
        case .expect: self = .expect(clients: payload[0])
        case .welcome: self = .welcome(version: payload[0], now: Self.time(payload.dropFirst()) ?? .never)
        case .time: self = .time(Self.time(payload[...]) ?? .never)
        case .fault: self = .fault(String(decoding: payload, as: UTF8.self))
        }
    }

    /// Nanoseconds in eight octets; all ones are for ever.
    private static func octets(of time: Microseconds?) -> [UInt8] {
        var number = UInt64.max
        if let time, time < .never {
            let (product, isTooLarge) = UInt64(max(0, time.halfMicroseconds)).multipliedReportingOverflow(by: 500)
            number = isTooLarge ? .max : product
        }
        return (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }

    /// Rounds a time up to the next half microsecond, the unit of the simulation.
    private static func time(_ octets: ArraySlice<UInt8>) -> Microseconds? {
        let number = octets.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number <= lastNanosecond else { return nil }
        return Microseconds(halfMicroseconds: Int64((number + 499) / 500))
    }
}

/// The payload of HELLO.
public struct TimeHello: Sendable, Equatable {
    static let longestName = 64

    /// Connections with one name are one client; without a name each connection is a client of its own.
    public var name: String
    /// Number of clients in the world, 1...64. Time stands still until all have connected.
    public var clients: UInt8
    public var version: UInt8

    public init(name: String = "", clients: UInt8 = 1, version: UInt8 = TimeMessage.version) {
        (self.name, self.clients, self.version) = (name, clients, version)
    }
}
