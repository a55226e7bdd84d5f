import BBHost
import BBPackets
import BBProducts

/// The transport of a session's connection.
package enum SessionTransport: String, CaseIterable, Sendable {
    case le, bredr

    /// Reads a peer: an address, or over LE also a name or a service to search for.
    package func peer(_ text: String) throws -> PeerSelector {
        let selector = PeerSelector(text)
        if self == .le, !text.contains(":") || text.hasPrefix("name:") { return selector }
        let address = try address(text)
        return .address(address.value, address.kind)
    }

    /// Reads a peer's address; over BR/EDR it is public by default.
    package func address(_ text: String) throws -> DeviceAddress {
        guard self == .bredr else { return try DeviceAddress(argument: text) }
        let address = try DeviceAddress(argument: text.contains("/") ? text : text + "/public")
        guard address.kind == .public else {
            throw CommandFailure(.usage, "over BR/EDR, --peer takes a public address: 00:1B:DC:00:00:01")
        }
        return address
    }
}

extension PeerSelector {
    /// The address, if the selector is an address.
    package var address: DeviceAddress? {
        if case .address(let value, let kind) = self { DeviceAddress(value: value, kind: kind ?? .random) } else { nil }
    }

    /// Returns the address, after a search if it is not known.
    package func found(by host: Host) async throws -> DeviceAddress {
        if let address { return address }
        do { return try await find(with: host) } catch let failure as SurveyFailure { throw CommandFailure(.bench, failure.description) }
    }
}

extension DeviceAddress {
    /// Reads an address such as `C0:B1:BE:00:00:01`, with `/public` or `/random`; random by default.
    ///
    /// - Throws: a usage error.
    package init(argument text: String) throws {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let octets = parts[0].split(separator: ":", omittingEmptySubsequences: false).map { $0.count == 2 ? UInt8($0, radix: 16) : nil }
        let kinds: [Substring: DeviceAddress.Kind] = ["public": .public, "random": .random]
        guard parts.count <= 2, octets.count == 6, let kind = parts.count == 2 ? kinds[parts[1]] : .random else {
            throw CommandFailure(.usage, "'\(text)' is not a device address: write C0:B1:BE:00:00:01/random or 00:1B:DC:00:00:01/public")
        }
        var value: UInt64 = 0
        for octet in octets {
            guard let octet else {
                throw CommandFailure(.usage, "'\(text)' is not a device address: it needs two hexadecimal digits in each place")
            }
            value = value << 8 | UInt64(octet)
        }
        self.init(value: value, kind: kind)
    }

    /// The address in the format of options: `C0:B1:BE:00:00:01/random`.
    package var argument: String { Hex.octets(octets.reversed(), separator: ":") + (kind == .public ? "/public" : "/random") }
}

extension PHY {
    /// The common name.
    package var shortName: String {
        switch self {
        case .le1M: "1M"
        case .le2M: "2M"
        case .leCoded: "Coded"
        }
    }
}
