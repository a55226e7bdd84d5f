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

    func execute(_ command: HCICommands.Inquiry) throws(CommandRefusal) {
        try Check.that(inquiry == nil, else: .disallowed)
        startInquiry(
            lap: command.lap, duration: command.inquiryLengthMicroseconds, mostResponses: Int(command.numResponses))
    }

    func execute(_ command: HCICommands.InquiryCancel) throws(CommandRefusal) {
        try Check.that(inquiry != nil, else: .disallowed)
        stopInquiry()
    }

    func execute(_ command: HCICommands.SetEventFilter) throws(CommandRefusal) {
        try settings.filters.apply(type: command.filterType, command.filterCondition)
    }

    func execute(_ command: HCICommands.ReadInquiryMode) throws(CommandRefusal) -> HCICommands.ReadInquiryMode.Return {
        .init(status: .success, inquiryMode: settings.inquiryMode.rawValue)
    }

    func execute(_ command: HCICommands.WriteInquiryMode) throws(CommandRefusal) {
        guard let mode = BREDRSettings.InquiryMode(rawValue: command.inquiryMode) else { throw .invalidParameters }
        settings.inquiryMode = mode
    }

    func execute(_ command: HCICommands.ReadInquiryResponseTransmitPowerLevel) throws(CommandRefusal)
        -> HCICommands.ReadInquiryResponseTransmitPowerLevel.Return
    {
        .init(status: .success, txPower: TransmitPower.preferred)
    }

    func execute(_ command: HCICommands.WriteInquiryTransmitPowerLevel) throws(CommandRefusal) {
        settings.inquiryPower = TransmitPower.select(command.txPower)
    }
}
