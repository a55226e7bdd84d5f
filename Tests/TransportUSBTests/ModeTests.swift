import BBPackets
import BBTransport
import BBVirtualDongle
import Testing

@testable import BBTransportUSB

/// The choice of the mode, and what descriptors break of HCI over USB. Core Vol 4, Part B.
@Suite struct ModeTests {
    struct Row: Sendable, CustomStringConvertible {
        var description: String { "\(quirks)" }
        var quirks: [String]
        var faults: [USBFinding.Rule] = []
        var remarks: [USBFinding.Rule] = []
        var offers = false
    }

    static let rows: [Row] = [
        Row(quirks: []), Row(quirks: ["serialised-mode"], offers: true), Row(quirks: ["high-speed"]),
        Row(quirks: ["serialised-mode", "composite", "hci-interface=2", "extra-interfaces=2"], offers: true),
        Row(quirks: ["composite=00"], faults: [.association]), Row(quirks: ["no-association"], faults: [.association]),
        Row(quirks: ["amp-protocol"], faults: [.deviceClass], remarks: [.interfaceClass]),
        Row(quirks: ["vendor-interface"], faults: [.deviceClass], remarks: [.interfaceClass]),
        Row(quirks: ["event-interval=8"], remarks: [.eventInterval]), Row(quirks: ["high-speed", "event-interval=0"]),
        Row(quirks: ["high-speed", "event-interval=8"], remarks: [.eventInterval]),
        Row(quirks: ["no-voice-interface"], remarks: [.interfaces]),
        Row(quirks: ["composite", "no-voice-interface"], faults: [.interfaces]), Row(quirks: ["voice-alternates=6"]),
        Row(quirks: ["voice-alternates=3"], remarks: [.voiceSettings]),
    ]

    @Test(arguments: rows)
    func descriptorsAreComparedWithTheText(row: Row) throws {
        let descriptors = try DongleConduct(row.quirks).describe(serialNumber: "1")
        let shape = try #require(
            USBDescriptors.shape(
                device: descriptors.device, configuration: descriptors.configuration, isHighSpeed: descriptors.isHighSpeed))
        #expect(shape.findings.filter { $0.weight == .fault }.map(\.rule) == row.faults)
        #expect(shape.findings.filter { $0.weight == .remark }.map(\.rule) == row.remarks)
        #expect(shape.offersSerialisedMode == row.offers)
        #expect(shape.line.hasPrefix(row.offers ? "legacy and Bulk Serialization mode, " : "legacy mode, "))
    }

    /// Setting 1 with other endpoints than the bulk pair is not the mode.
    @Test func aSettingWithOtherEndpointsIsNotTheMode() throws {
        let descriptors = try DongleConduct(["serialised-mode"]).describe(serialNumber: "1")
        var configuration = descriptors.configuration
        let setting = try #require((0..<configuration.count - 4).first { Array(configuration[$0..<$0 + 4]) == [9, 4, 0, 1] })
        // The attributes of its first endpoint: interrupt in place of bulk.
        configuration[setting + 9 + 3] = 3
        let shape = try #require(USBDescriptors.shape(device: descriptors.device, configuration: configuration, isHighSpeed: false))
        #expect(!shape.offersSerialisedMode && shape.findings.map(\.rule) == [.serialisedSetting])
        #expect(shape.findings.map(\.weight) == [.remark])
    }

    /// The bulk endpoints alone, in another setting than 1, offer the mode where no host looks for it.
    @Test func theModeIsSettingOne() throws {
        let descriptors = try DongleConduct(["serialised-setting"]).describe(serialNumber: "1")
        let shape = try #require(
            USBDescriptors.shape(device: descriptors.device, configuration: descriptors.configuration, isHighSpeed: false))
        #expect(!shape.offersSerialisedMode && shape.findings.map(\.rule) == [.serialisedSetting])
        #expect(shape.findings.map(\.weight) == [.fault])
    }

    /// The interfaces of the controller are 2 and 3; a group may have more, and the class of the example is not demanded.
    @Test(
        arguments: [
            ([2, 2, 0xE0], nil), ([1, 3, 0xE0], nil), ([0, 255, 0xE0], nil), ([2, 2, 0xEF], USBFinding.Weight.remark),
            ([2, 1, 0xE0], .fault),
            ([3, 2, 0xE0], .fault),
        ] as [([UInt8], USBFinding.Weight?)])
    func aGroupHoldsBothInterfaces(group: [UInt8], weight: USBFinding.Weight?) throws {
        let descriptors = try DongleConduct(["composite", "hci-interface=2"]).describe(serialNumber: "1")
        var configuration = descriptors.configuration
        let place = try #require((0..<configuration.count - 2).first { Array(configuration[$0..<$0 + 2]) == [8, 11] })
        configuration.replaceSubrange(place + 2..<place + 5, with: group)
        let shape = try #require(USBDescriptors.shape(device: descriptors.device, configuration: configuration, isHighSpeed: false))
        #expect(shape.findings.first { $0.rule == .association }?.weight == weight)
    }

    @Test func bIntervalCountsMicroframesFromHighSpeedOn() {
        #expect([USBSpeed.low, .full, .high, .superSpeed].map(\.countsMicroframes) == [false, false, true, true])
    }

    @Test(arguments: [
        (Int32(0), USBRequestResult.done), (8, .done), (-9, .stalled), (-7, .unanswered(after: .seconds(1))),
        (-1, .failed("input/output error")), (-6, .failed("in use")),
    ])
    func onlyAStallIsARefusal(status: Int32, result: USBRequestResult) {
        #expect(USBRequestResult(status, after: USBRequestResult.limit(of: [0x01])) == result)
        #expect(USBRequestResult.limit(of: [0x21]) == .seconds(5))
    }

    /// Packets that were cancelled for a change of the mode go first, in their order; empty transfers do not come again.
    @Test func cancelledPacketsAreSentInTheNewMode() {
        let command = HCIPacket(command: HCICommands.Reset())
        let data = (0..<4).map { HCIPacket(.acl, [0x40, 0x20, 1, 0, $0]) }
        var outputs = USBOutputs()
        let areQueued = [data[2], command, data[3]].map { outputs.append($0, onBulk: false) }
        #expect(areQueued == [true, true, true])
        outputs.putBack(.init(packet: data[1]), .dataOut, sequence: 9)
        outputs.putBack(.init(packet: nil), .dataOut, sequence: 8)
        outputs.putBack(.init(packet: data[0]), .dataOut, sequence: 7)
        outputs.resumeReturned()
        outputs.changeMode(toSerialised: true)
        var sent: [HCIPacket?] = []
        while let next = outputs.next(.dataOut) { sent.append(next.packet) }
        #expect(sent == [command] + data && !outputs.has(.command))
    }

    /// Any prefix of descriptors is read without a trap.
    @Test func cutDescriptorsAreRead() throws {
        let descriptors = try DongleConduct(["serialised-mode", "composite"]).describe(serialNumber: "1")
        for length in descriptors.configuration.indices {
            let cut = Array(descriptors.configuration.prefix(length))
            let shape = USBDescriptors.shape(device: descriptors.device, configuration: cut, isHighSpeed: false)
            #expect(shape?.line.isEmpty != true)
        }
        #expect(USBDescriptors.shape(device: [18, 1], configuration: descriptors.configuration, isHighSpeed: false) == nil)
    }

    private static func path(_ id: UInt8) -> HCIPacket {
        HCIPacket(opcode: HCICommands.LESetupISODataPath.opcode, parameters: [0x60, 0, 0, id, 3, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test(arguments: [
        (USBMode.auto, true, UInt8(0), true), (.auto, true, 1, false), (.auto, false, 0, false), (.legacy, true, 0, false),
        (.serialised, true, 0, false),
    ])
    func onlyISODataOverHCINeedsTheMode(choice: USBMode, offers: Bool, id: UInt8, isNeeded: Bool) {
        var modes = USBModeControl(choice, offers: offers)
        let reset = modes.isNeeded(by: HCIPacket(command: HCICommands.Reset()))
        let needed = modes.isNeeded(by: Self.path(id))
        #expect((reset, needed) == (false, isNeeded))
        if isNeeded {
            modes.settled(true)
            #expect(modes.text == "Bulk Serialization mode (the host needs ISO data)")
            let again = modes.isNeeded(by: Self.path(id))
            #expect(!again)
        }
    }

    @Test func aModeThatIsMissingOrAvoidedIsRefused() {
        var avoiding = USBWorkarounds()
        let isKnown = avoiding.set("avoids-serialised-mode")
        #expect(isKnown)
        #expect(USBModeControl.refusal(.serialised, offers: false, USBWorkarounds())?.contains("has no Bulk Serialization mode") == true)
        #expect(USBModeControl.refusal(.serialised, offers: true, avoiding)?.contains("known to fail") == true)
        #expect(USBModeControl.refusal(.serialised, offers: true, USBWorkarounds()) == nil)
        #expect(USBModeControl.refusal(.auto, offers: false, avoiding) == nil)
        #expect(USBModeControl(.auto, offers: true, avoiding).text == nil)
    }
}
