import Packets

/// Inquiry, inquiry scan, and the settings of BR/EDR that a host reads and writes when it starts. Core Vol 4, Part E, 7.1 and 7.3.
extension CommandTable {
    mutating func addBREDR() {
        start(HCICommands.Inquiry.self, BREDRController.execute)
        perform(HCICommands.InquiryCancel.self, BREDRController.execute)
        perform(HCICommands.SetEventFilter.self, BREDRController.execute)
        complete(HCICommands.ReadInquiryMode.self, BREDRController.execute)
        perform(HCICommands.WriteInquiryMode.self, BREDRController.execute)
        complete(HCICommands.ReadInquiryResponseTransmitPowerLevel.self, BREDRController.execute)
        perform(HCICommands.WriteInquiryTransmitPowerLevel.self, BREDRController.execute)
        complete(HCICommands.ReadScanEnable.self, BREDRController.execute)
        perform(HCICommands.WriteScanEnable.self, BREDRController.execute)
        complete(HCICommands.ReadInquiryScanActivity.self, BREDRController.execute)
        perform(HCICommands.WriteInquiryScanActivity.self, BREDRController.execute)
        complete(HCICommands.ReadInquiryScanType.self, BREDRController.execute)
        perform(HCICommands.WriteInquiryScanType.self, BREDRController.execute)
        complete(HCICommands.ReadNumberOfSupportedIAC.self, BREDRController.execute)
        complete(HCICommands.ReadCurrentIACLAP.self, BREDRController.execute)
        perform(HCICommands.WriteCurrentIACLAP.self, BREDRController.execute)
        perform(HCICommands.WriteLocalName.self, BREDRController.execute)
        complete(HCICommands.ReadLocalName.self, BREDRController.execute)
        complete(HCICommands.ReadClassOfDevice.self, BREDRController.execute)
        perform(HCICommands.WriteClassOfDevice.self, BREDRController.execute)
        complete(HCICommands.ReadExtendedInquiryResponse.self, BREDRController.execute)
        perform(HCICommands.WriteExtendedInquiryResponse.self, BREDRController.execute)
        complete(HCICommands.ReadPageScanActivity.self, BREDRController.execute)
        perform(HCICommands.WritePageScanActivity.self, BREDRController.execute)
        complete(HCICommands.ReadVoiceSetting.self, BREDRController.execute)
        perform(HCICommands.WriteVoiceSetting.self, BREDRController.execute)
        complete(HCICommands.ReadLEHostSupport.self, BREDRController.execute)
        perform(HCICommands.WriteLEHostSupport.self, BREDRController.execute)
        complete(HCICommands.ReadConnectionAcceptTimeout.self, BREDRController.execute)
        perform(HCICommands.WriteConnectionAcceptTimeout.self, BREDRController.execute)
        complete(HCICommands.ReadPageTimeout.self, BREDRController.execute)
        perform(HCICommands.WritePageTimeout.self, BREDRController.execute)
    }
}
