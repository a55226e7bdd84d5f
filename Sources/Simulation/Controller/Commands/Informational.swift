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
            .init(status: .success, lmpFeatures: Self.lmpFeatures)
        }
        complete(HCICommands.ReadLocalExtendedFeatures.self, 14, 6, failing: .init()) { (_, command) throws(CommandFailure) in
            guard command.pageNumber == 0 else { throw .invalidParameters }
            return .init(status: .success, pageNumber: 0, maxPageNumber: 0, extendedLMPFeatures: Self.lmpFeatures)
        }
        complete(HCICommands.ReadBufferSize.self, 14, 7, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(
                status: .success, aclDataPacketLength: controller.configuration.aclLength,
                synchronousDataPacketLength: controller.configuration.synchronousLength,
                totalNumACLDataPackets: UInt16(controller.configuration.aclCount),
                totalNumSynchronousDataPackets: controller.configuration.synchronousCount)
        }
        complete(HCICommands.ReadBDADDR.self, 15, 1, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, bdADDR: controller.configuration.address.bdADDR)
        }
        complete(HCICommands.ReadCountryCode.self, 15, 0, failing: .init()) { (_, _) throws(CommandFailure) in
            // Obsolete and still asked for: North America and Europe, the only value besides France's and Japan's past.
            .init(status: .success, countryCode: 0)
        }
        complete(HCICommands.ReadLocalSupportedCodecs.self, 29, 5, failing: .init()) { (_, _) throws(CommandFailure) in
            .init(status: .success, standardCodecID: [], vendorSpecificCodecID: [])
        }
    }

    /// BR/EDR Not Supported, LE Supported (Controller). Core Vol 2, Part C, 3.3.
    private static let lmpFeatures: UInt64 = 1 << 37 | 1 << 38
}
