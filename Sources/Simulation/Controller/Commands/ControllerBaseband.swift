import Packets

/// Controller and baseband commands. Core Vol 4, Part E, 7.3.
extension CommandTable {
    mutating func addControllerAndBaseband() {
        perform(HCICommands.SetEventMask.self, 5, 6) { (controller, command) throws(CommandFailure) in
            controller.settings.masks.page1 = command.eventMask.rawValue
        }
        perform(HCICommands.Reset.self, 5, 7) { (controller, _) throws(CommandFailure) in controller.reset() }
        perform(HCICommands.SetEventMaskPage2.self, 22, 2) { (controller, command) throws(CommandFailure) in
            controller.settings.masks.page2 = command.eventMaskPage2.rawValue
        }
        complete(HCICommands.ReadTransmitPowerLevel.self, 10, 2, failing: .init(), echo: 2) {
            (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            try Check.that(command.type <= 1)
            return .init(
                status: .success, connectionHandle: link.handle,
                txPowerLevel: command.type == 0 ? TransmitPower.preferred : TransmitPower.maximum)
        }
    }
}

/// What the radio can send with, in dBm.
enum TransmitPower {
    static let minimum: Int8 = -20
    static let maximum: Int8 = 10
    static let preferred: Int8 = 0

    /// The power nearest to what the host asks for; 127 leaves the choice.
    static func select(_ wanted: Int8) -> Int8 { wanted == 127 ? preferred : min(max(wanted, minimum), maximum) }
}
