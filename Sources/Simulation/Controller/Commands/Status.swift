import Packets

/// Status parameters. Core Vol 4, Part E, 7.5.
extension CommandTable {
    mutating func addStatus() {
        complete(HCICommands.ReadRSSI.self, 15, 5, failing: .init(), echo: 2) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.handle)
            return .init(status: .success, handle: link.handle, rssi: link.connection.rssi)
        }
    }
}
