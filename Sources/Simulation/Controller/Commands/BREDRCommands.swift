import Packets

/// Inquiry, inquiry scan, and BR/EDR settings of host initialization. Core Vol 4, Part E, 7.1 and 7.3.
extension CommandTable {
    mutating func addBREDR() {
        addBREDRConnections()
        addLinkManager()
        addLinkPolicy()
        addLinkStatus()
        addSynchronous()
        addChannelClassification()
        addBREDRSecurity()
        start(HCICommands.Inquiry.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.InquiryCancel.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.SetEventFilter.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadInquiryMode.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteInquiryMode.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadInquiryResponseTransmitPowerLevel.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteInquiryTransmitPowerLevel.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadScanEnable.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteScanEnable.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadInquiryScanActivity.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteInquiryScanActivity.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadInquiryScanType.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteInquiryScanType.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadNumberOfSupportedIAC.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadCurrentIACLAP.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteCurrentIACLAP.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteLocalName.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadLocalName.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadClassOfDevice.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteClassOfDevice.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadExtendedInquiryResponse.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteExtendedInquiryResponse.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadPageScanActivity.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WritePageScanActivity.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadVoiceSetting.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteVoiceSetting.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadLEHostSupport.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteLEHostSupport.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadConnectionAcceptTimeout.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WriteConnectionAcceptTimeout.self, by: BREDRController.self) { try $0.execute($1) }
        complete(HCICommands.ReadPageTimeout.self, by: BREDRController.self) { try $0.execute($1) }
        perform(HCICommands.WritePageTimeout.self, by: BREDRController.self) { try $0.execute($1) }
    }
}
