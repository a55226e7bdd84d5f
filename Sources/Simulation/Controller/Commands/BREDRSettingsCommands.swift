import BBPackets

/// BR/EDR settings that a host reads and writes during initialization. Core Vol 4, Part E, 7.3.13 to 7.3.20, 7.3.27, 7.3.28, 7.3.78 and
/// 7.3.79.
extension BREDRController {
    static func settingsCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.complete(HCICommands.ReadPageScanActivity.self) { try $0.execute($1) }
        rows.perform(HCICommands.WritePageScanActivity.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadVoiceSetting.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteVoiceSetting.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLEHostSupport.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteLEHostSupport.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadConnectionAcceptTimeout.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteConnectionAcceptTimeout.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadPageTimeout.self) { try $0.execute($1) }
        rows.perform(HCICommands.WritePageTimeout.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.ReadPageScanActivity) throws(CommandRefusal) -> HCICommands.ReadPageScanActivity.Return {
        let scan = settings.pageScan
        return .init(status: .success, pageScanInterval: scan.interval, pageScanWindow: scan.window)
    }

    func execute(_ command: HCICommands.WritePageScanActivity) throws(CommandRefusal) {
        try settings.pageScan.set(interval: command.pageScanInterval, window: command.pageScanWindow)
        updatePageScan()
    }

    func execute(_ command: HCICommands.ReadVoiceSetting) throws(CommandRefusal) -> HCICommands.ReadVoiceSetting.Return {
        .init(status: .success, voiceSetting: settings.voiceSetting)
    }

    func execute(_ command: HCICommands.WriteVoiceSetting) throws(CommandRefusal) {
        settings.voiceSetting = command.voiceSetting
    }

    func execute(_ command: HCICommands.ReadLEHostSupport) throws(CommandRefusal) -> HCICommands.ReadLEHostSupport.Return {
        .init(status: .success, leSupportedHost: settings.isLESupportedByHost ? 1 : 0)
    }

    func execute(_ command: HCICommands.WriteLEHostSupport) throws(CommandRefusal) {
        settings.isLESupportedByHost = command.leSupportedHost == 1
    }

    func execute(_ command: HCICommands.ReadConnectionAcceptTimeout) throws(CommandRefusal)
        -> HCICommands.ReadConnectionAcceptTimeout.Return
    {
        .init(status: .success, connectionAcceptTimeout: settings.connectionAcceptTimeout)
    }

    func execute(_ command: HCICommands.WriteConnectionAcceptTimeout) throws(CommandRefusal) {
        settings.connectionAcceptTimeout = command.connectionAcceptTimeout
    }

    func execute(_ command: HCICommands.ReadPageTimeout) throws(CommandRefusal) -> HCICommands.ReadPageTimeout.Return {
        .init(status: .success, pageTimeout: settings.pageTimeout)
    }

    func execute(_ command: HCICommands.WritePageTimeout) throws(CommandRefusal) {
        settings.pageTimeout = command.pageTimeout
    }
}
