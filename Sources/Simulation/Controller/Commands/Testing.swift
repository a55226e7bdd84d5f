import Packets

/// Testing commands. Core Vol 4, Part E, 7.6.
extension CommandTable {
    mutating func addTesting() {
        complete(HCICommands.ReadLoopbackMode.self, 16, 0, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, loopbackMode: controller.loopback == nil ? 0 : 1)
        }
        perform(HCICommands.WriteLoopbackMode.self, 16, 1) { (controller, command) throws(CommandFailure) in
            switch command.loopbackMode {
            case 0: controller.endLoopback()
            case 1: try controller.beginLoopback()
            // Remote loopback turns a BR/EDR link round.
            case 2: throw .unsupportedValue
            default: throw .invalidParameters
            }
        }
    }
}
