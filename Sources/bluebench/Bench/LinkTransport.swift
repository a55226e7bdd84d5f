import ArgumentParser
import Conformance
import Host
import Packets

/// What a command connects over.
enum LinkTransport: String, ExpressibleByArgument, CaseIterable {
    case le, bredr

    /// A peer as options name it: also by its name or a service over LE, where it has to be found first.
    func peer(_ text: String) throws -> PeerSelector {
        let selector = PeerSelector(text)
        if self == .le, !text.contains(":") || text.hasPrefix("name:") { return selector }
        let address = try address(text)
        return .address(address.value, address.kind)
    }

    /// A peer as options name it: over BR/EDR by its public address, which need not say so.
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
    /// The address, where that is what was named.
    var address: DeviceAddress? {
        if case .address(let value, let kind) = self { DeviceAddress(value: value, kind: kind ?? .random) } else { nil }
    }

    /// The address, looked for where it was not named.
    func found(by host: Host) async throws -> DeviceAddress {
        if let address { return address }
        do { return try await find(with: host) } catch let failure as SurveyFailure { throw CommandFailure(.fail, failure.description) }
    }
}
