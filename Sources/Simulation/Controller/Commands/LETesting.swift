import Packets

/// Direct test mode. Core Vol 4, Part E, 7.8.28 to 7.8.30.
extension CommandTable {
    mutating func addLETesting() {
        perform(HCICommands.LEReceiverTest.self, 28, 4) { (controller, command) throws(CommandFailure) in
            try controller.startTest(.receiver(.le1M), channel: command.rxChannel)
        }
        perform(HCICommands.LEReceiverTestV2.self, 35, 7) { (controller, command) throws(CommandFailure) in
            guard let phy = PHY(rawValue: command.phy) else { throw .invalidParameters }
            try Check.that(controller.configuration.allPHYs & phy.flag.rawValue != 0, else: .unsupportedValue)
            // A receiver that relies on a stable modulation index is not offered.
            try Check.that(try !Check.flag(command.modulationIndex), else: .unsupportedValue)
            try controller.startTest(.receiver(phy), channel: command.rxChannel)
        }
        perform(HCICommands.LETransmitterTest.self, 28, 5) { (controller, command) throws(CommandFailure) in
            try controller.startTransmitter(.le1M, command.txChannel, command.testDataLength, command.packetPayload)
        }
        perform(HCICommands.LETransmitterTestV2.self, 36, 0) { (controller, command) throws(CommandFailure) in
            try Check.that((1...4).contains(command.phy))
            let phy: AirPHY = [.le1M, .le2M, .codedS8, .codedS2][Int(command.phy - 1)]
            try Check.that(controller.configuration.allPHYs & phy.phy.flag.rawValue != 0, else: .unsupportedValue)
            try controller.startTransmitter(phy, command.txChannel, command.testDataLength, command.packetPayload)
        }
        complete(HCICommands.LETestEnd.self, 28, 6, failing: .init()) { (controller, _) throws(CommandFailure) in
            guard let test = controller.test else { throw .disallowed }
            test.stop()
            controller.test = nil
            return .init(status: .success, numPackets: test.received)
        }
    }
}

extension Controller {
    fileprivate func startTransmitter(_ phy: AirPHY, _ channel: UInt8, _ length: UInt8, _ pattern: UInt8) throws(CommandFailure) {
        try Check.that(pattern <= 7)
        try startTest(.transmitter(phy: phy, length: length, pattern: pattern), channel: channel)
    }

    /// Only from the standby state.
    fileprivate func startTest(_ mode: DirectTest.Mode, channel: UInt8) throws(CommandFailure) {
        try Check.that(channel <= 0x27)
        try Check.that(isIdle, else: .disallowed)
        let test = DirectTest(mode, channel: channel, radio: radio, quirks: configuration.quirks)
        try Check.that(test.start(), else: .disallowed)
        self.test = test
    }

    /// Whether nothing at all is under way.
    var isIdle: Bool {
        test == nil && advertisers.isEmpty && scanner == nil && initiator == nil && links.isEmpty && inquiry == nil && inquiryScanner == nil
    }
}
