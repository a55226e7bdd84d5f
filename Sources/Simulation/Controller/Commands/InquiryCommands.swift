import BBPackets

/// Inquiry and inquiry results. Core Vol 4, Part E, 7.1.1, 7.1.2, 7.3.3, 7.3.49, 7.3.50 and 7.3.62.
extension BREDRController {
    static func inquiryCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.start(HCICommands.Inquiry.self) { try $0.execute($1) }
        rows.perform(HCICommands.InquiryCancel.self) { try $0.execute($1) }
        rows.perform(HCICommands.SetEventFilter.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadInquiryMode.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteInquiryMode.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadInquiryResponseTransmitPowerLevel.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteInquiryTransmitPowerLevel.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.Inquiry) throws(CommandFailure) {
        try Check.that(inquiry == nil, else: .disallowed)
        startInquiry(
            lap: command.lap, duration: command.inquiryLengthMicroseconds, mostResponses: Int(command.numResponses))
    }

    func execute(_ command: HCICommands.InquiryCancel) throws(CommandFailure) {
        try Check.that(inquiry != nil, else: .disallowed)
        stopInquiry()
    }

    func execute(_ command: HCICommands.SetEventFilter) throws(CommandFailure) {
        try settings.filters.apply(type: command.filterType, command.filterCondition)
    }

    func execute(_ command: HCICommands.ReadInquiryMode) throws(CommandFailure) -> HCICommands.ReadInquiryMode.Return {
        .init(status: .success, inquiryMode: settings.inquiryMode.rawValue)
    }

    func execute(_ command: HCICommands.WriteInquiryMode) throws(CommandFailure) {
        guard let mode = BREDRSettings.InquiryMode(rawValue: command.inquiryMode) else { throw .invalidParameters }
        settings.inquiryMode = mode
    }

    func execute(_ command: HCICommands.ReadInquiryResponseTransmitPowerLevel) throws(CommandFailure)
        -> HCICommands.ReadInquiryResponseTransmitPowerLevel.Return
    {
        .init(status: .success, txPower: TransmitPower.preferred)
    }

    func execute(_ command: HCICommands.WriteInquiryTransmitPowerLevel) throws(CommandFailure) {
        settings.inquiryPower = TransmitPower.select(command.txPower)
    }
}
