import Packets

/// Informational parameters. Core Vol 4, Part E, 7.4.
extension CommandTable {
    mutating func addInformational() {
        complete(HCICommands.ReadLocalVersionInformation.self, 14, 3, failing: .init()) { (controller, _) throws(CommandFailure) in
            let configuration = controller.configuration
            return .init(
                status: .success, hciVersion: configuration.version, hciSubversion: configuration.subversion,
                lmpVersion: configuration.version,
                companyIdentifier: configuration.companyIdentifier, lmpSubversion: configuration.subversion)
        }
        complete(HCICommands.ReadLocalSupportedCommands.self, 14, 1, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, supportedCommands: controller.table.supportedCommands)
        }
        complete(HCICommands.ReadLocalSupportedFeatures.self, 14, 5, failing: .init()) { (_, _) throws(CommandFailure) in
            // BR/EDR Not Supported, LE Supported (Controller). Core Vol 2, Part C, 3.3.
            .init(status: .success, lmpFeatures: 1 << 37 | 1 << 38)
        }
        complete(HCICommands.ReadBufferSize.self, 14, 7, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(
                status: .success, aclDataPacketLength: controller.configuration.aclLength,
                totalNumACLDataPackets: UInt16(controller.configuration.aclCount))
        }
        complete(HCICommands.ReadBDADDR.self, 15, 1, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, bdADDR: controller.configuration.address.bdADDR)
        }
    }
}
