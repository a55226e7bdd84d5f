import Packets

/// What makes a device discoverable, and what it tells of itself. Core Vol 4, Part E, 7.3.11, 7.3.17 to 7.3.26, 7.3.43 to 7.3.48, 7.3.55 and 7.3.56.
extension CommandTable {
    mutating func addInquiryScanning() {
        complete(HCICommands.ReadScanEnable.self, 7, 6, failing: .init()) { (controller, _) throws(CommandFailure) in
            let bredr = controller.settings.bredr
            return .init(status: .success, scanEnable: (bredr.isInquiryScanning ? 1 : 0) | (bredr.isPageScanning ? 2 : 0))
        }
        perform(HCICommands.WriteScanEnable.self, 7, 7) { (controller, command) throws(CommandFailure) in
            try Check.that(command.scanEnable <= 3)
            controller.settings.bredr.isInquiryScanning = command.scanEnable & 1 != 0
            controller.settings.bredr.isPageScanning = command.scanEnable & 2 != 0
            controller.updateInquiryScan()
        }
        complete(HCICommands.ReadInquiryScanActivity.self, 8, 2, failing: .init()) { (controller, _) throws(CommandFailure) in
            let scan = controller.settings.bredr.inquiryScan
            return .init(status: .success, inquiryScanInterval: scan.interval, inquiryScanWindow: scan.window)
        }
        perform(HCICommands.WriteInquiryScanActivity.self, 8, 3) { (controller, command) throws(CommandFailure) in
            try controller.settings.bredr.inquiryScan.set(interval: command.inquiryScanInterval, window: command.inquiryScanWindow)
            controller.updateInquiryScan()
        }
        complete(HCICommands.ReadInquiryScanType.self, 12, 4, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, inquiryScanType: controller.settings.bredr.inquiryScan.isInterlaced ? 1 : 0)
        }
        perform(HCICommands.WriteInquiryScanType.self, 12, 5) { (controller, command) throws(CommandFailure) in
            controller.settings.bredr.inquiryScan.isInterlaced = try Check.flag(command.scanType)
            controller.updateInquiryScan()
        }
        addInquiryAccessCodes()
        addDescription()
    }

    private mutating func addInquiryAccessCodes() {
        complete(HCICommands.ReadNumberOfSupportedIAC.self, 11, 2, failing: .init()) { (_, _) throws(CommandFailure) in
            .init(status: .success, numSupportIAC: UInt8(BREDRSettings.mostLAPs))
        }
        complete(HCICommands.ReadCurrentIACLAP.self, 11, 3, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, iacLAP: controller.settings.bredr.laps)
        }
        perform(HCICommands.WriteCurrentIACLAP.self, 11, 4) { (controller, command) throws(CommandFailure) in
            try Check.that((0x01...0x40).contains(command.iacLAP.count) && command.iacLAP.allSatisfy(InquiryLAP.reserved.contains))
            // Those for which there is no room are left out, and that is no error.
            controller.settings.bredr.laps = Array(command.iacLAP.prefix(BREDRSettings.mostLAPs))
            controller.updateInquiryScan()
        }
    }

    private mutating func addDescription() {
        perform(HCICommands.WriteLocalName.self, 7, 0) { (controller, command) throws(CommandFailure) in
            controller.settings.bredr.localName = command.localName
        }
        complete(HCICommands.ReadLocalName.self, 7, 1, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, localName: controller.settings.bredr.localName)
        }
        complete(HCICommands.ReadClassOfDevice.self, 9, 0, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, classOfDevice: controller.settings.bredr.classOfDevice)
        }
        perform(HCICommands.WriteClassOfDevice.self, 9, 1) { (controller, command) throws(CommandFailure) in
            controller.settings.bredr.classOfDevice = command.classOfDevice
        }
        complete(HCICommands.ReadExtendedInquiryResponse.self, 17, 0, failing: .init()) { (controller, _) throws(CommandFailure) in
            let bredr = controller.settings.bredr
            return .init(
                status: .success, fecRequired: bredr.isResponseForwardErrorCorrected ? 1 : 0,
                extendedInquiryResponse: bredr.extendedResponse)
        }
        perform(HCICommands.WriteExtendedInquiryResponse.self, 17, 1) { (controller, command) throws(CommandFailure) in
            controller.settings.bredr.isResponseForwardErrorCorrected = try Check.flag(command.fecRequired)
            controller.settings.bredr.extendedResponse = command.extendedInquiryResponse
        }
    }
}

extension BREDRSettings {
    /// How many inquiry access codes it listens for at a time: the general and one limited.
    static let mostLAPs = 2
}

extension BREDRSettings.ScanActivity {
    /// Intervals are even, and no window is longer. Core Vol 4, Part E, 7.3.20 and 7.3.22.
    mutating func set(interval: UInt16, window: UInt16) throws(CommandFailure) {
        try Check.that((0x0012...0x1000).contains(interval) && interval & 1 == 0)
        try Check.that((0x0011...0x1000).contains(window) && window <= interval)
        self.interval = interval
        self.window = window
    }
}
