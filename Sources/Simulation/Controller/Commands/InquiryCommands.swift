import Packets

/// Inquiry and how its results are told. Core Vol 4, Part E, 7.1.1, 7.1.2, 7.3.3, 7.3.49, 7.3.50 and 7.3.62.
extension CommandTable {
    mutating func addInquiry() {
        start(HCICommands.Inquiry.self, 0, 0) { (controller, command) throws(CommandFailure) in
            try Check.that(InquiryLAP.reserved.contains(command.lap) && (0x01...0x30).contains(command.inquiryLength))
            try Check.that(controller.inquiry == nil, else: .disallowed)
            controller.startInquiry(
                lap: command.lap, duration: Microseconds(Int(command.inquiryLength) * 1_280_000), mostResponses: Int(command.numResponses))
        }
        perform(HCICommands.InquiryCancel.self, 0, 1) { (controller, _) throws(CommandFailure) in
            try Check.that(controller.inquiry != nil, else: .disallowed)
            controller.stopInquiry()
        }
        perform(HCICommands.SetEventFilter.self, 6, 0) { (controller, command) throws(CommandFailure) in
            try controller.settings.bredr.filters.apply(type: command.filterType, command.filterCondition)
        }
        complete(HCICommands.ReadInquiryMode.self, 12, 6, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, inquiryMode: controller.settings.bredr.inquiryMode.rawValue)
        }
        perform(HCICommands.WriteInquiryMode.self, 12, 7) { (controller, command) throws(CommandFailure) in
            guard let mode = BREDRSettings.InquiryMode(rawValue: command.inquiryMode) else { throw .invalidParameters }
            controller.settings.bredr.inquiryMode = mode
        }
        complete(HCICommands.ReadInquiryResponseTransmitPowerLevel.self, 18, 0, failing: .init()) { (_, _) throws(CommandFailure) in
            .init(status: .success, txPower: TransmitPower.preferred)
        }
        perform(HCICommands.WriteInquiryTransmitPowerLevel.self, 18, 1) { (controller, command) throws(CommandFailure) in
            try Check.that((-70...20).contains(command.txPower))
            controller.settings.bredr.inquiryPower = TransmitPower.select(command.txPower)
        }
    }
}
