import BBPackets

/// Direct Test Mode commands. Core Vol 4, Part E, 7.8.28 to 7.8.30.
extension LEController {
    static func testingCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LEReceiverTest.self) { try $0.execute($1) }
        rows.perform(HCICommands.LEReceiverTestV2.self) { try $0.execute($1) }
        rows.perform(HCICommands.LETransmitterTest.self) { try $0.execute($1) }
        rows.perform(HCICommands.LETransmitterTestV2.self) { try $0.execute($1) }
        rows.complete(HCICommands.LETestEnd.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.LEReceiverTest) throws(CommandRefusal) {
        try startTest(.receiver(.le1M), channel: command.rxChannel)
    }

    func execute(_ command: HCICommands.LEReceiverTestV2) throws(CommandRefusal) {
        guard let phy = PHY(rawValue: command.phy) else { throw .invalidParameters }
        try Check.that(configuration.allPHYs & phy.flag.rawValue != 0, else: .unsupportedValue)
        // Stable modulation index is not supported.
        try Check.that(command.modulationIndex == 0, else: .unsupportedValue)
        try startTest(.receiver(phy), channel: command.rxChannel)
    }

    func execute(_ command: HCICommands.LETransmitterTest) throws(CommandRefusal) {
        try startTransmitter(.le1M, command.txChannel, command.testDataLength, command.packetPayload)
    }

    func execute(_ command: HCICommands.LETransmitterTestV2) throws(CommandRefusal) {
        let phy: AirPHY = [.le1M, .le2M, .codedS8, .codedS2][Int(command.phy - 1)]
        try Check.that(configuration.allPHYs & phy.phy.flag.rawValue != 0, else: .unsupportedValue)
        try startTransmitter(phy, command.txChannel, command.testDataLength, command.packetPayload)
    }

    func execute(_ command: HCICommands.LETestEnd) throws(CommandRefusal) -> HCICommands.LETestEnd.Return {
        guard let test = test else { throw .disallowed }
        testing.stop(test)
        return .init(status: .success, numPackets: test.received)
    }
}

extension LEController {
    /// Allows an activity of the link layer in the absence of a test: each of them begins in the standby state. Core Vol 6, Part B, 1.1;
    /// Part F, 2.
    func checkNoTest() throws(CommandRefusal) { try Check.that(test == nil, else: .disallowed) }

    private func startTransmitter(_ phy: AirPHY, _ channel: UInt8, _ length: UInt8, _ pattern: UInt8) throws(CommandRefusal) {
        try startTest(.transmitter(phy: phy, length: length, pattern: pattern), channel: channel)
    }

    /// Allowed in the standby state only.
    private func startTest(_ mode: DirectTest.Mode, channel: UInt8) throws(CommandRefusal) {
        try Check.that(isIdle, else: .disallowed)
        let test = DirectTest(mode, channel: channel, radio: radio, quirks: configuration.quirks)
        try Check.that(test.start(), else: .disallowed)
        testing.add(test)
    }
}
