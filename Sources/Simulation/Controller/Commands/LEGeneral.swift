import BBPackets

/// LE commands that concern the controller as a whole. Core Vol 4, Part E, 7.8.
extension LEController {
    static func generalCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LESetEventMask.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetEventMaskV2.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadBufferSize.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadBufferSizeV2.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadLocalSupportedFeatures.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadSupportedStates.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetRandomAddress.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetHostFeature.self) { try $0.setHostFeature(Int($1.bitNumber), $1.bitValue) }
        rows.perform(HCICommands.LESetHostFeatureV2.self) { try $0.setHostFeature(Int($1.bitNumber), $1.bitValue) }
        rows.complete(HCICommands.LEReadTransmitPower.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadRFPathCompensation.self) { try $0.execute($1) }
        rows.perform(HCICommands.LEWriteRFPathCompensation.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.LESetEventMask) throws(CommandRefusal) {
        controller.masks.le = command.leEventMask
    }

    func execute(_ command: HCICommands.LESetEventMaskV2) throws(CommandRefusal) {
        controller.masks.le = command.firstBits
    }

    func execute(_ command: HCICommands.LEReadBufferSize) throws(CommandRefusal) -> HCICommands.LEReadBufferSize.Return {
        .init(
            status: .success, leACLDataPacketLength: configuration.choices.sharesBuffers ? 0 : configuration.aclLength,
            totalNumLEACLDataPackets: configuration.choices.sharesBuffers ? 0 : configuration.aclCount)
    }

    func execute(_ command: HCICommands.LEReadBufferSizeV2) throws(CommandRefusal) -> HCICommands.LEReadBufferSizeV2.Return {
        .init(
            status: .success, leACLDataPacketLength: configuration.choices.sharesBuffers ? 0 : configuration.aclLength,
            totalNumLEACLDataPackets: configuration.choices.sharesBuffers ? 0 : configuration.aclCount)
    }

    func execute(_ command: HCICommands.LEReadLocalSupportedFeatures) throws(CommandRefusal)
        -> HCICommands.LEReadLocalSupportedFeatures.Return
    {
        .init(status: .success, leFeatures: LEFeatures(rawValue: configuration.features.rawValue))
    }

    func execute(_ command: HCICommands.LEReadSupportedStates) throws(CommandRefusal) -> HCICommands.LEReadSupportedStates.Return {
        .init(status: .success, leStates: LinkLayerStates.supported(by: controller.table))
    }

    func execute(_ command: HCICommands.LESetRandomAddress) throws(CommandRefusal) {
        let isLegacyAdvertising = advertisers.contains { !$0.isExtendedCommand }
        let isBusy = isLegacyAdvertising || scanner != nil || initiator != nil
        try Check.that(!isBusy, else: .disallowed)
        settings.randomAddress = DeviceAddress(command.randomAddress, kind: .random)
    }

    func execute(_ command: HCICommands.LEReadRFPathCompensation) throws(CommandRefusal) -> HCICommands.LEReadRFPathCompensation.Return {
        let path = settings.pathCompensation
        return .init(status: .success, rfTXPathCompensationValue: path.transmit, rfRXPathCompensationValue: path.receive)
    }

    /// Stores the RF path compensation, within +/- 128 dB.
    func execute(_ command: HCICommands.LEWriteRFPathCompensation) throws(CommandRefusal) {
        let path = LESettings.PathCompensation(transmit: command.rfTXPathCompensationValue, receive: command.rfRXPathCompensationValue)
        try Check.that((-1_280...1_280).contains(path.transmit) && (-1_280...1_280).contains(path.receive))
        settings.pathCompensation = path
    }

    func execute(_ command: HCICommands.LEReadTransmitPower) throws(CommandRefusal) -> HCICommands.LEReadTransmitPower.Return {
        .init(status: .success, minTXPower: TransmitPower.minimum, maxTXPower: TransmitPower.maximum)
    }

    /// Features that the host controls: isochronous streams, subrating, coding selection, channel sounding and shorter intervals. This
    /// controller has none of the features that they need, so they remain clear. Core Vol 6, Part B, 4.6.
    private static let hostFeatures = [32, 38, 41, 47, 72]

    private func setHostFeature(_ bit: Int, _ value: UInt8) throws(CommandRefusal) {
        try Check.that(links.isEmpty, else: .disallowed)
        try Check.that(value == 0 && Self.hostFeatures.contains(bit), else: .unsupportedValue)
    }
}
