import ArgumentParser
import BBConformance
import BBHost
import BBPackets
import BBProducts

/// The transport of a command's connection.
enum TransportOption: String, ExpressibleByArgument, CaseIterable {
    case le, bredr

    /// Reads a peer: an address, or over LE also a name or a service to search for.
    func peer(_ text: String) throws -> PeerSelector {
        let selector = PeerSelector(text)
        if self == .le, !text.contains(":") || text.hasPrefix("name:") { return selector }
        let address = try address(text)
        return .address(address.value, address.kind)
    }

    /// Reads a peer's address; over BR/EDR it is public by default.
    func address(_ text: String) throws -> DeviceAddress {
        guard self == .bredr else { return try Arguments.address(text) }
        let address = try Arguments.address(text.contains("/") ? text : text + "/public")
        guard address.kind == .public else {
            throw CommandFailure(.usage, "over BR/EDR a peer goes by its public address: 00:1B:DC:00:00:01")
        }
        return address
    }
}

extension PeerSelector {
    /// The address, if the selector is an address.
    var address: DeviceAddress? {
        if case .address(let value, let kind) = self { DeviceAddress(value: value, kind: kind ?? .random) } else { nil }
    }

    /// Returns the address, after a search if it is not known.
    func found(by host: Host) async throws -> DeviceAddress {
        if let address { return address }
        do { return try await find(with: host) } catch let failure as SurveyFailure { throw CommandFailure(.bench, failure.description) }
    }
}
