import Packets

/// LE commands about the controller as a whole. Core Vol 4, Part E, 7.8.
extension CommandTable {
    mutating func addLEGeneral() {
        perform(HCICommands.LESetEventMask.self, 25, 0) { (controller, command) throws(CommandFailure) in
            controller.settings.masks.le = command.leEventMask.rawValue
        }
        complete(HCICommands.LEReadBufferSize.self, 25, 1, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(
                status: .success, leACLDataPacketLength: controller.configuration.aclLength,
                totalNumLEACLDataPackets: controller.configuration.aclCount)
        }
        complete(HCICommands.LEReadBufferSizeV2.self, 41, 5, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(
                status: .success, leACLDataPacketLength: controller.configuration.aclLength,
                totalNumLEACLDataPackets: controller.configuration.aclCount)
        }
        complete(HCICommands.LEReadLocalSupportedFeatures.self, 25, 2, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, leFeatures: LEFeatures(rawValue: controller.configuration.features.rawValue))
        }
        complete(HCICommands.LEReadSupportedStates.self, 28, 3, failing: .init()) { (_, _) throws(CommandFailure) in
            // Every combination of states that has a bit. Core Vol 4, Part E, 7.8.27.
            .init(status: .success, leStates: 0x03FF_FFFF_FFFF)
        }
        perform(HCICommands.LESetRandomAddress.self, 25, 4) { (controller, command) throws(CommandFailure) in
            let isLegacyAdvertising = controller.advertisers.contains { !$0.isExtendedCommand }
            let isBusy = isLegacyAdvertising || controller.scanner != nil || controller.initiator != nil
            try Check.that(!isBusy, else: .disallowed)
            controller.settings.randomAddress = DeviceAddress(command.randomAddress, kind: .random)
        }
        complete(HCICommands.LEReadTransmitPower.self, 38, 7, failing: .init()) { (_, _) throws(CommandFailure) in
            .init(status: .success, minTXPower: TransmitPower.minimum, maxTXPower: TransmitPower.maximum)
        }
    }
}
