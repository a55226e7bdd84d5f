import BBPackets
import Testing

@Suite("Masks and legal values from the declarations")
struct MaskTests {
    @Test("A mask covers the events that it is given, and LE Meta for those of LE. Core Vol 4, Part E, 7.3.1 and 7.8.1")
    func covering() {
        let events: [any HCIEvent.Type] = [
            HCIEvents.DisconnectionComplete.self, HCIEvents.LEConnectionComplete.self, HCIEvents.LEPHYUpdateComplete.self,
            HCIEvents.AuthenticatedPayloadTimeoutExpired.self, HCIEvents.CommandComplete.self,
        ]
        #expect(EventMask.covering(events) == [.disconnectionComplete, .leMeta])
        #expect(EventMask.covering(events).rawValue == 1 << 4 | 1 << 61)
        #expect(EventMaskPage2.covering(events).rawValue == 1 << 23)
        #expect(LEEventMask.covering(events).rawValue == 1 << 0 | 1 << 11)
        #expect(EventMask.covering([HCIEvents.CommandStatus.self]).isEmpty)
    }

    @Test("The supported commands are found and set by their type. Core Vol 4, Part E, 6.27")
    func supportedCommands() {
        var mask = SupportedCommands()
        #expect(!mask.contains(HCICommands.LESetPHY.self))
        mask.insert(HCICommands.LESetPHY.supportedCommandsBit)
        #expect(mask.contains(HCICommands.LESetPHY.self) && mask.octets[35] == 1 << 6 && !mask.contains(HCICommands.Reset.self))
        mask.insert(HCICommands.ReadLocalSupportedCommands.supportedCommandsBit)
        #expect(mask.octets.reduce(0) { $0 + $1.nonzeroBitCount } == 1)
        #expect(!SupportedCommands([]).contains(HCICommands.Reset.self))
    }

    @Test("The features that a command or an event needs. Core Vol 4, Part E, 3.1")
    func neededFeatures() {
        #expect(HCICommands.LESetPHY.neededFeatures == [.le2MPHY, .leCodedPHY])
        #expect(HCIEvents.LEDataLengthChange.neededFeatures == .leDataPacketLengthExtension)
        #expect(HCICommands.Reset.neededFeatures.isEmpty)
        #expect(
            PDUCatalog.declaration(layer: .hciCommands, name: "LE_Create_CIS")?.neededFeatures == ["Connected_Isochronous_Stream_Central"])
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var problem: IllegalValue?
        var validate: @Sendable () throws(IllegalValue) -> Void

        init(_ name: String, _ command: some HCICommand, _ problem: IllegalValue? = nil) {
            testDescription = name
            self.problem = problem
            validate = { () throws(IllegalValue) in try command.validate() }
        }
    }

    static let cases: [Case] = [
        Case("a range's ends", HCICommands.LESetDataLength(txOctets: 0x001B, txTime: 0x4290)),
        Case(
            "below it", HCICommands.LESetDataLength(txOctets: 0x001A, txTime: 0x4290),
            IllegalValue(field: "TX_Octets", value: 0x1A, allowed: [0x1B...0xFB])),
        Case(
            "a value without a label", HCICommands.LEReceiverTestV2(rxChannel: 0, phy: 4),
            IllegalValue(field: "PHY", value: 4, allowed: [1...3])),
        Case(
            "a signed field", HCICommands.WriteInquiryTransmitPowerLevel(txPower: -71),
            IllegalValue(field: "TX_Power", value: -71, allowed: [-70...20])),
        Case("a named value", HCICommands.LESetRandomAddress(randomAddress: 0)),
        Case(
            "a type's unnamed value", HCICommands.LESetScanParameters(leScanType: 2, leScanInterval: 4, leScanWindow: 4),
            IllegalValue(field: "LE_Scan_Type", value: 2, allowed: [0...1])),
        Case(
            "a label beside the range",
            HCICommands.LESetExtendedAdvertisingParameters(
                primaryAdvertisingChannelMap: 7, advertisingTXPower: 127, primaryAdvertisingPHY: 3)),
        Case(
            "a count that follows from a list", HCICommands.WriteCurrentIACLAP(iacLAP: []),
            IllegalValue(field: "Num_Current_IAC", value: 0, allowed: [1...64])),
        Case(
            "an element of a list", HCICommands.WriteCurrentIACLAP(iacLAP: [0x9E8B33, 0x9E8B40]),
            IllegalValue(field: "IAC_LAP", value: 0x9E8B40, allowed: [0x9E8B00...0x9E8B3F])),
        Case(
            "a field of a row", HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init(), .init(advertisingHandle: 0xF0)]),
            IllegalValue(field: "Advertising_Handle", value: 0xF0, allowed: [0...0xEF])),
        Case("what counts only sometimes is left out", HCICommands.LESetScanEnable(leScanEnable: 0, filterDuplicates: 9)),
        Case("a handle is somebody else's to know", HCICommands.LEReadPHY(connectionHandle: 0x0FFF)),
    ]

    @Test("A command's fields are checked against their declarations", arguments: cases)
    func validate(_ row: Case) {
        do {
            try row.validate()
            #expect(row.problem == nil)
        } catch {
            #expect(error == row.problem)
        }
    }

    @Test("A field with a unit of time is read and set as a time")
    func times() {
        var event = HCIEvents.LEConnectionUpdateComplete(connectionInterval: 24, supervisionTimeout: 200)
        #expect(event.connectionIntervalMicroseconds == .milliseconds(30) && event.supervisionTimeoutMicroseconds == .seconds(2))
        event.connectionIntervalMicroseconds = 8_749
        #expect(event.connectionInterval == 6)
        event.supervisionTimeoutMicroseconds = .never
        #expect(event.supervisionTimeout == .max)
        #expect(HCICommands.LESetExtendedScanEnable(period: 2).periodMicroseconds == 2_560_000)
        #expect(HCICommands.LESetDataLength(txTime: 328).txTimeMicroseconds == 328)
    }
}
