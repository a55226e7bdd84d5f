import BBHCI
import BBPackets
import BBTiming

extension CheckUp {
    /// Extended scanning, connecting and advertising, each after a reset, since command families must not be mixed. Core Vol 4, Part E,
    /// 3.1.1.
    func checkExtendedCommands() async throws {
        guard has(.leExtendedAdvertising) else { return }
        let hasScan = claims(HCICommands.LESetExtendedScanParameters.self) && claims(HCICommands.LESetExtendedScanEnable.self)
        if hasScan { try await checkExtendedScan() }
        if claims(HCICommands.LEExtendedCreateConnection.self) { try await checkExtendedCreate() }
        if claims(HCICommands.LESetExtendedAdvertisingEnable.self), !link.has("advertising-sets") { try await checkEndOfSet() }
        _ = try await link.ask(HCICommands.Reset())
    }

    private func checkExtendedScan() async throws {
        _ = try await link.ask(HCICommands.Reset())
        let parameters = try await link.ask(Self.extendedScan(.le1M))
        let enabled = parameters.isSuccess ? try await link.ask(HCICommands.LESetExtendedScanEnable(enable: 1)) : parameters
        if enabled.isRefused { link.note("no-ext-scan", "extended scanning is claimed and answered by \(Self.text(enabled))") }
    }

    private func checkExtendedCreate() async throws {
        _ = try await link.ask(HCICommands.Reset())
        let reply = try await link.ask(Self.extendedCreate(toward: Self.nobody))
        if reply.isRefused {
            link.note("no-ext-create", "LE_Extended_Create_Connection is claimed and answered by \(Self.text(reply))")
        } else if reply.isSuccess {
            _ = try await link.ask(HCICommands.LECreateConnectionCancel())
            try await link.rest(.milliseconds(100))
        }
    }

    /// LE_Advertising_Set_Terminated reports the end by duration, number of events or connection, but not by the host. Core Vol 4, Part E,
    /// 7.7.65.18.
    private func checkEndOfSet() async throws {
        guard
            try await link.succeed(
                HCICommands.Reset(), HCICommands.SetEventMask(eventMask: Self.everyEvent),
                HCICommands.LESetEventMask(leEventMask: Self.leEvents), Self.set(properties: [.legacy]),
                HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init(advertisingHandle: 1)]))
        else { return }
        try await link.rest(.milliseconds(100))
        let start = link.log.count
        _ = try await link.ask(HCICommands.LESetExtendedAdvertisingEnable(enable: 0))
        guard try await link.event(HCIEvents.LEAdvertisingSetTerminated.self, from: start, within: .milliseconds(100)) != nil else {
            return
        }
        link.note("set-terminated-after-disable", "LE_Advertising_Set_Terminated reports a set that the host has ended")
    }

    static func text(_ reply: CheckUpLink.Reply) -> String { reply.status.map { "\($0)" } ?? "nothing" }

    static func extendedScan(_ phys: PHYs) -> HCICommands.LESetExtendedScanParameters {
        let count = phys.rawValue.nonzeroBitCount
        return HCICommands.LESetExtendedScanParameters(
            scanningPHYs: phys, phyParameters: Array(repeating: .init(scanType: 0, scanInterval: 0x60, scanWindow: 0x30), count: count))
    }

    static func extendedCreate(toward peer: DeviceAddress) -> HCICommands.LEExtendedCreateConnection {
        HCICommands.LEExtendedCreateConnection(
            peerAddressType: AddressType(rawValue: peer.kind.rawValue), peerAddress: peer.bdADDR, initiatingPHYs: .le1M,
            phyParameters: [
                .init(
                    scanInterval: 0x60, scanWindow: 0x60, connectionIntervalMin: 24, connectionIntervalMax: 24, maxLatency: 0,
                    supervisionTimeout: 200)
            ])
    }

    /// Advertising set 1 on LE 1M.
    static func set(properties: AdvertisingEventProperties, secondary: UInt8 = 1) -> HCICommands.LESetExtendedAdvertisingParameters {
        HCICommands.LESetExtendedAdvertisingParameters(
            advertisingHandle: 1, advertisingEventProperties: properties, primaryAdvertisingIntervalMin: 0xA0,
            primaryAdvertisingIntervalMax: 0xA0, primaryAdvertisingChannelMap: 7, advertisingTXPower: 127, primaryAdvertisingPHY: 1,
            secondaryAdvertisingPHY: secondary, advertisingSID: 1)
    }

    /// Events that the checks use, limited to those that every controller of the kind knows.
    static let leEvents: LEEventMask = LEEventMask(
        rawValue: [
            HCIEvents.LEConnectionComplete.maskPosition, HCIEvents.LEAdvertisingReport.maskPosition,
            HCIEvents.LEConnectionUpdateComplete.maskPosition, HCIEvents.LEReadRemoteFeaturesComplete.maskPosition,
            HCIEvents.LELongTermKeyRequest.maskPosition, HCIEvents.LEExtendedAdvertisingReport.maskPosition,
            HCIEvents.LEAdvertisingSetTerminated.maskPosition,
        ].reduce(0) { mask, position in if case .le(let bit) = position { mask | 1 << UInt64(bit) } else { mask } })
}
