import BBTiming

/// Selects a device on the command line.
public enum DeviceSelector: Sendable, Hashable {
    /// A simulated controller.
    case virtual
    case socket(SocketAddress)
    /// `tcp:HOST:PORT,token`: a server that requires the token from the environment.
    case guarded(SocketAddress)
    /// `tcp:HOST:PORT,virtual-time` or `unix:PATH,virtual-time`: a server in virtual time, whose clock the program shares. With `,virtual-time=2` time stands still while there are fewer clients.
    case virtualTime(SocketAddress, clients: UInt8)
    /// `serial:PATH` or `serial:PATH,SPEED`.
    case serial(path: String, speed: Int)
    case usb(USBSelector)
}

/// Selects a USB dongle.
public enum USBSelector: Sendable, Hashable {
    /// `usb`: the only dongle.
    case only
    /// `usb:BUS-PORT.PORT`: a dongle by its port.
    case location(bus: Int, ports: [Int])
    /// `usb:VID:PID` or `usb:VID:PID/SERIAL`.
    case identity(vendor: UInt16, product: UInt16, serial: String?)
}

/// An invalid selector.
public struct SelectorError: Error, Sendable, Equatable, CustomStringConvertible {
    public var selector: String
    public var reason: String
    public var description: String { "device '\(selector)': \(reason)" }
}

extension DeviceSelector {
    private static let forms = "virtual, tcp:HOST:PORT, unix:PATH, serial:PATH[,SPEED], usb:BUS-PORT, usb:VID:PID[/SERIAL]"

    public init(_ text: String) throws(SelectorError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let rest = parts.count > 1 ? parts[1] : ""
        switch parts[0] {
        case "virtual" where parts.count == 1: self = .virtual
        case "tcp" where rest.hasSuffix(",token"): self = .guarded(try Self.tcp(String(rest.dropLast(6)), in: text))
        case "tcp" where rest.contains(",virtual-time"), "unix" where rest.contains(",virtual-time"):
            self = try Self.virtualTime(parts[0], rest, in: text)
        case "tcp": self = .socket(try Self.tcp(rest, in: text))
        case "unix": self = .socket(try Self.unix(rest, in: text))
        case "serial": self = try Self.serial(rest, in: text)
        case "usb": self = .usb(try USBSelector(rest, in: text))
        default: throw SelectorError(selector: text, reason: "use one of \(Self.forms)")
        }
    }

    private static func tcp(_ rest: String, in text: String) throws(SelectorError) -> SocketAddress {
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0 else {
            throw SelectorError(selector: text, reason: "name host and port 1...65535: tcp:HOST:PORT")
        }
        var host = String(rest[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty else { throw SelectorError(selector: text, reason: "name the host: tcp:HOST:PORT") }
        return .tcp(host: host, port: port)
    }

    private static func unix(_ rest: String, in text: String) throws(SelectorError) -> SocketAddress {
        guard !rest.isEmpty else { throw SelectorError(selector: text, reason: "name the socket: unix:PATH") }
        return .unix(path: rest)
    }

    private static func virtualTime(_ kind: String, _ rest: String, in text: String) throws(SelectorError) -> DeviceSelector {
        // A path may contain commas.
        let end = rest.lastIndex(of: ",") ?? rest.endIndex
        let option = rest[end...].dropFirst().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard option.first == "virtual-time", let clients = option.count > 1 ? UInt8(option[1]) : 1, 1...64 ~= clients else {
            let place = kind == "tcp" ? "HOST:PORT" : "PATH"
            throw SelectorError(selector: text, reason: "name the number of clients, 1...64: \(kind):\(place),virtual-time=2")
        }
        let place = String(rest[..<end])
        return .virtualTime(kind == "tcp" ? try tcp(place, in: text) : try unix(place, in: text), clients: clients)
    }

    private static func serial(_ rest: String, in text: String) throws(SelectorError) -> DeviceSelector {
        let parts = rest.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let path = parts.first, !path.isEmpty else {
            throw SelectorError(selector: text, reason: "name the line: serial:PATH[,SPEED]")
        }
        guard parts.count > 1 else { return .serial(path: path, speed: 115_200) }
        guard let speed = Int(parts[1]), ByteStream.serialSpeeds[speed] != nil else {
            let speeds = ByteStream.serialSpeeds.keys.sorted().map(String.init).joined(separator: ", ")
            throw SelectorError(selector: text, reason: "speed is one of \(speeds)")
        }
        return .serial(path: path, speed: speed)
    }
}

extension DeviceSelector {
    /// True if the program shares the server's virtual time.
    public var isInVirtualTime: Bool { if case .virtualTime = self { true } else { false } }
}

extension USBSelector {
    fileprivate init(_ rest: String, in text: String) throws(SelectorError) {
        if rest.isEmpty {
            self = .only
        } else if let dash = rest.firstIndex(of: "-"), !rest[..<dash].contains(":") {
            let ports = rest[rest.index(after: dash)...].split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
            guard let bus = Int(rest[..<dash]), bus > 0, !ports.isEmpty, ports.allSatisfy({ ($0 ?? 0) > 0 }) else {
                throw SelectorError(selector: text, reason: "name bus and ports in decimal: usb:1-2.3")
            }
            self = .location(bus: bus, ports: ports.compactMap { $0 })
        } else {
            let serialSplit = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let numbers = serialSplit[0].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard numbers.count == 2, numbers.allSatisfy({ $0.count <= 4 }), let vendor = UInt16(numbers[0], radix: 16),
                let product = UInt16(numbers[1], radix: 16)
            else { throw SelectorError(selector: text, reason: "name vendor and product in hexadecimal: usb:0BDA:8771[/SERIAL]") }
            self = .identity(vendor: vendor, product: product, serial: serialSplit.count > 1 ? serialSplit[1] : nil)
        }
    }
}

extension USBSelector: CustomStringConvertible {
    public var description: String {
        switch self {
        case .only: return "usb"
        case .location(let bus, let ports): return "usb:\(bus)-" + ports.map(String.init).joined(separator: ".")
        case .identity(let vendor, let product, let serial):
            let numbers = [vendor, product].map { number in
                let text = String(number, radix: 16)
                return String(repeating: "0", count: 4 - text.count) + text
            }
            return "usb:" + numbers.joined(separator: ":") + (serial.map { "/" + $0 } ?? "")
        }
    }
}

extension DeviceSelector: CustomStringConvertible {
    public var description: String {
        switch self {
        case .virtual: "virtual"
        case .socket(let address): address.description
        case .guarded(let address): "\(address),token"
        case .virtualTime(let address, let clients): "\(address),virtual-time" + (clients == 1 ? "" : "=\(clients)")
        case .serial(let path, let speed): speed == 115_200 ? "serial:\(path)" : "serial:\(path),\(speed)"
        case .usb(let selector): selector.description
        }
    }
}
