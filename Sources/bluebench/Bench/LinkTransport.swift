import ArgumentParser
import Host
import Packets

/// What a command connects over.
enum LinkTransport: String, ExpressibleByArgument, CaseIterable {
    case le, bredr

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
