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
        complete(HCICommands.ReadLocalSupportedFeatures.self, 14, 5, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, lmpFeatures: controller.lmpFeatures(page: 0) ?? 0)
        }
        complete(HCICommands.ReadLocalExtendedFeatures.self, 14, 6, failing: .init()) { (controller, command) throws(CommandFailure) in
            guard let features = controller.lmpFeatures(page: command.pageNumber) else { throw .invalidParameters }
            let last: UInt8 = controller.configuration.profile == .dual ? 1 : 0
            return .init(status: .success, pageNumber: command.pageNumber, maxPageNumber: last, extendedLMPFeatures: features)
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
}
