import BBPackets

/// Inquiry scan, class of device, name and extended inquiry response. Core Vol 4, Part E, 7.3.11, 7.3.17 to 7.3.26, 7.3.43 to 7.3.48,
/// 7.3.55 and 7.3.56.
extension BREDRController {
    static func inquiryScanCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.complete(HCICommands.ReadScanEnable.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteScanEnable.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadInquiryScanActivity.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteInquiryScanActivity.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadInquiryScanType.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteInquiryScanType.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadNumberOfSupportedIAC.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadCurrentIACLAP.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteCurrentIACLAP.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteLocalName.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalName.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadClassOfDevice.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteClassOfDevice.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadExtendedInquiryResponse.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteExtendedInquiryResponse.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.ReadScanEnable) throws(CommandRefusal) -> HCICommands.ReadScanEnable.Return {
        .init(status: .success, scanEnable: (settings.isInquiryScanning ? 1 : 0) | (settings.isPageScanning ? 2 : 0))
    }

    func execute(_ command: HCICommands.WriteScanEnable) throws(CommandRefusal) {
        settings.isInquiryScanning = command.scanEnable & 1 != 0
        settings.isPageScanning = command.scanEnable & 2 != 0
        updateInquiryScan()
        updatePageScan()
    }

    func execute(_ command: HCICommands.ReadInquiryScanActivity) throws(CommandRefusal) -> HCICommands.ReadInquiryScanActivity.Return {
        let scan = settings.inquiryScan
        return .init(status: .success, inquiryScanInterval: scan.interval, inquiryScanWindow: scan.window)
    }

    func execute(_ command: HCICommands.WriteInquiryScanActivity) throws(CommandRefusal) {
        try settings.inquiryScan.set(interval: command.inquiryScanInterval, window: command.inquiryScanWindow)
        updateInquiryScan()
    }

    func execute(_ command: HCICommands.ReadInquiryScanType) throws(CommandRefusal) -> HCICommands.ReadInquiryScanType.Return {
        .init(status: .success, inquiryScanType: settings.inquiryScan.isInterlaced ? 1 : 0)
    }

    func execute(_ command: HCICommands.WriteInquiryScanType) throws(CommandRefusal) {
        settings.inquiryScan.isInterlaced = command.scanType == 1
        updateInquiryScan()
    }

    func execute(_ command: HCICommands.ReadNumberOfSupportedIAC) throws(CommandRefusal) -> HCICommands.ReadNumberOfSupportedIAC.Return {
        .init(status: .success, numSupportedIAC: UInt8(BREDRSettings.mostLAPs))
    }

    func execute(_ command: HCICommands.ReadCurrentIACLAP) throws(CommandRefusal) -> HCICommands.ReadCurrentIACLAP.Return {
        .init(status: .success, iacLAP: settings.laps)
    }

    func execute(_ command: HCICommands.WriteCurrentIACLAP) throws(CommandRefusal) {
        // Excess LAPs are ignored, which is not an error.
        settings.laps = Array(command.iacLAP.prefix(BREDRSettings.mostLAPs))
        updateInquiryScan()
    }

    func execute(_ command: HCICommands.WriteLocalName) throws(CommandRefusal) {
        settings.localName = command.localName
    }

    func execute(_ command: HCICommands.ReadLocalName) throws(CommandRefusal) -> HCICommands.ReadLocalName.Return {
        .init(status: .success, localName: settings.localName)
    }

    func execute(_ command: HCICommands.ReadClassOfDevice) throws(CommandRefusal) -> HCICommands.ReadClassOfDevice.Return {
        .init(status: .success, classOfDevice: settings.classOfDevice)
    }

    func execute(_ command: HCICommands.WriteClassOfDevice) throws(CommandRefusal) {
        settings.classOfDevice = command.classOfDevice
    }

    func execute(_ command: HCICommands.ReadExtendedInquiryResponse) throws(CommandRefusal)
        -> HCICommands.ReadExtendedInquiryResponse.Return
    {
        .init(
            status: .success, fecRequired: settings.isResponseForwardErrorCorrected ? 1 : 0,
            extendedInquiryResponse: settings.extendedResponse)
    }

    func execute(_ command: HCICommands.WriteExtendedInquiryResponse) throws(CommandRefusal) {
        settings.isResponseForwardErrorCorrected = command.fecRequired == 1
        settings.extendedResponse = command.extendedInquiryResponse
    }
}

extension BREDRSettings {
    /// Maximum number of inquiry access codes received at a time: general and one limited.
    static let mostLAPs = 2
}

extension BREDRSettings.ScanActivity {
    /// Intervals must be even, and the window must not be longer than the interval. Core Vol 4, Part E, 7.3.20 and 7.3.22.
    mutating func set(interval: UInt16, window: UInt16) throws(CommandRefusal) {
        try Check.that(interval & 1 == 0 && window <= interval)
        self.interval = interval
        self.window = window
    }
}
