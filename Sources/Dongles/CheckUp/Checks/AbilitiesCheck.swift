import BBHCI
import BBPackets

extension CheckUp {
    /// Reads the capabilities of the dongle and checks them for consistency.
    func checkAbilities() async throws {
        try await checkFeaturePages()
        judgeFeatures()
        if has(.leExtendedAdvertising) { try await checkAdvertisingSets() }
        _ = try await link.ask(HCICommands.Reset())
    }

    private func checkFeaturePages() async throws {
        guard identity.supportedCommands.isEmpty || claims(HCICommands.ReadLocalExtendedFeatures.self),
            let first = try await link.returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 0)), first.maxPageNumber >= 2
        else { return }
        let page = try await link.ask(HCICommands.ReadLocalExtendedFeatures(pageNumber: 2))
        let again = try await link.ask(HCICommands.ReadLocalExtendedFeatures(pageNumber: 2))
        if let status = page.status, status != .success {
            link.note("no-extended-features-page-2", "page 2 of the features is claimed and answered by \(status)")
        } else if page.answer?.returns != again.answer?.returns {
            link.note("no-extended-features-page-2", "page 2 of the features is different each time")
        }
    }

    private func judgeFeatures() {
        guard !identity.supportedCommands.isEmpty, !link.has("unclaimed-le-commands"), has(.llPrivacy) else { return }
        let commands = [
            HCICommands.LEAddDeviceToResolvingList.supportedCommandsBit, HCICommands.LEClearResolvingList.supportedCommandsBit,
            HCICommands.LESetAddressResolutionEnable.supportedCommandsBit,
        ]
        guard commands.allSatisfy({ !claims.contains($0) }) else { return }
        link.note("features-without-commands", "LL Privacy is claimed, and no command of the resolving list")
    }

    private func checkAdvertisingSets() async throws {
        let sets = try await link.returns(HCICommands.LEReadNumberOfSupportedAdvertisingSets())?.numSupportedAdvertisingSets
        let length = try await link.returns(HCICommands.LEReadMaximumAdvertisingDataLength())?.maxAdvertisingDataLength
        if let sets {
            figure("advertising sets", "\(sets)")
            if sets == 0 { link.note("advertising-sets", "extended advertising is claimed, with room for no set") }
        }
        guard let length else { return }
        figure("advertising data", "\(length) octets")
        if length <= 31 { link.note("advertising-data-length", .note, "extended advertising has room for \(length) octets of data") }
    }
}
