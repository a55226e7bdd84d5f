import Testing

@testable import BBPackets

/// Packets with known octets.
@Suite struct CodecTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var packet: HCIPacket
        var hex: String
        var text: String
        var testDescription: String { text }
    }

    static let examples: [Example] = [
        Example(
            packet: HCIPacket(command: HCICommands.LESetPHY(connectionHandle: 0x40, txPHYs: .le2M, rxPHYs: [.le1M, .le2M], phyOptions: 0)),
            hex: "3220074000000203 0000",
            text: "LE_Set_PHY Connection_Handle=0x0040 All_PHYs=0 TX_PHYs=LE_2M RX_PHYs=LE_1M|LE_2M PHY_Options=No_Preference"),
        Example(packet: HCIPacket(command: HCICommands.Reset()), hex: "030C00", text: "Reset"),
        Example(
            packet: HCIPacket(
                command: HCICommands.LESetExtendedScanParameters(
                    ownAddressType: .randomDevice, scanningPHYs: [.le1M, .leCoded],
                    phyParameters: [
                        .init(scanType: .active, scanInterval: 0x10, scanWindow: 0x08), .init(scanInterval: 0x30, scanWindow: 0x18),
                    ])),
            hex: "41200D 01 00 05 01 1000 0800 00 3000 1800",
            text:
                "LE_Set_Extended_Scan_Parameters Own_Address_Type=Random_Device Scanning_Filter_Policy=Basic_Unfiltered Scanning_PHYs=LE_1M|LE_Coded "
                + "PHY_Parameters=[{Scan_Type=Active Scan_Interval=16 (10 ms) Scan_Window=8 (5 ms)}, {Scan_Type=Passive Scan_Interval=48 (30 ms) Scan_Window=24 (15 ms)}]"
        ),
        Example(
            packet: HCIPacket(
                event: HCIEvents.LEConnectionComplete(
                    connectionHandle: 0x40, role: .peripheral, peerAddressType: .randomDevice, peerAddress: 0xC0FF_EE12_3456,
                    connectionInterval: 24,
                    supervisionTimeout: 72)),
            hex: "3E13 01 00 4000 01 01 563412EEFFC0 1800 0000 4800 00",
            text:
                "LE_Connection_Complete Status=Success Connection_Handle=0x0040 Role=Peripheral Peer_Address_Type=Random_Device Peer_Address=C0:FF:EE:12:34:56 (random) "
                + "Connection_Interval=24 (30 ms) Peripheral_Latency=0 events Supervision_Timeout=72 (720 ms) Central_Clock_Accuracy=500ppm"
        ),
        Example(
            packet: HCIPacket(
                event: HCIEvents.NumberOfCompletedPackets(handles: [
                    .init(connectionHandle: 1, numCompletedPackets: 2), .init(connectionHandle: 3),
                ])),
            hex: "1309 02 0100 0200 0300 0000",
            text:
                "Number_Of_Completed_Packets Num_Handles=2 Handles=[{Connection_Handle=0x0001 Num_Completed_Packets=2}, {Connection_Handle=0x0003 Num_Completed_Packets=0}]"
        ),
        Example(
            packet: HCIPacket(complete: HCICommands.LEReadPHY.self, .init(connectionHandle: 0x40, txPHY: 2, rxPHY: 1)),
            hex: "0E08 01 3020 00 4000 02 01",
            text:
                "Command_Complete Num_HCI_Command_Packets=1 Command_Opcode=LE_Read_PHY Status=Success Connection_Handle=0x0040 TX_PHY=LE_2M RX_PHY=LE_1M"
        ),
        Example(
            packet: HCIPacket(completeOpcode: 0x2030, returns: [0x02]), hex: "0E04 01 3020 02",
            text: "Command_Complete Num_HCI_Command_Packets=1 Command_Opcode=LE_Read_PHY Status=Unknown_Connection_Identifier"),
        Example(
            packet: HCIPacket(statusOpcode: HCICommands.LESetPHY.opcode, .commandDisallowed), hex: "0F04 0C 01 3220",
            text: "Command_Status Status=Command_Disallowed Num_HCI_Command_Packets=1 Command_Opcode=LE_Set_PHY"),
        Example(
            packet: HCIPacket(acl: 0x40, .firstNonFlushable, [3, 0, 4, 0, 0x0A, 3, 0]), hex: "4000 0700 03000400 0A0300",
            text:
                "ACL_Data Connection_Handle=0x0040 PB_Flag=First_Non_Flushable BC_Flag=Point_To_Point Data_Total_Length=7 octets Data=030004000A0300"
        ),
    ]

    @Test("Octets and text", arguments: examples)
    func known(_ example: Example) throws {
        #expect(Hex.octets(example.packet.bytes) == Hex.octets(try #require(Hex.parse(example.hex))))
        let read = DynamicPDU(hci: example.packet)
        #expect(read.description == example.text)
        #expect(try read.hciPacket() == example.packet)
    }

    @Test("Elements whose size another field gives")
    func elementSizes() throws {
        let list = ATT.ReadByTypeRsp(attributeDataList: [
            .init(attributeHandle: 2, attributeValue: [1, 2, 3]), .init(attributeHandle: 5, attributeValue: [4, 5, 6]),
        ])
        #expect(list.bytes == [0x09, 5, 2, 0, 1, 2, 3, 5, 0, 4, 5, 6])
        #expect(try ATT.ReadByTypeRsp(bytes: list.bytes) == list)
        let short = ATT.FindInformationRsp(informationData: [.init(handle: 1, uuid: 0x2800), .init(handle: 2, uuid: 0x2803)])
        #expect(short.bytes == [0x05, 1, 1, 0, 0x00, 0x28, 2, 0, 0x03, 0x28])
        let long = ATT.FindInformationRsp(informationData: [.init(handle: 1, uuid: BluetoothUUID(0x2800).long)])
        #expect(long.bytes.count == 20 && long.bytes[1] == 2)
        #expect(try ATT.FindInformationRsp(bytes: long.bytes) == long)
        for wrong: [UInt8] in [[0x09, 0, 1], [0x09, 3, 1, 2], [0x09, 1, 1]] {
            #expect(throws: PDUError.self) { try ATT.ReadByTypeRsp(bytes: wrong) }
        }
        #expect(throws: PDUError.self) { try ATT.FindInformationRsp(bytes: [0x05, 3, 1, 0, 0, 0x28]) }
    }

    @Test("The common extended advertising payload")
    func extendedAdvertising() throws {
        typealias Payload = Advertising.CommonExtendedAdvertisingPayload
        let pointer = Structures.AuxPtr(channelIndex: 12, ca: true, auxOffset: 100, auxPHY: 1)
        let payload = Payload(advMode: 1, advDataInfo: .init(did: 0x123, sid: 4), auxPtr: pointer, advData: [])
        #expect(payload.parameters == [0x46, 0x18, 0x23, 0x41, 0x4C, 0x64, 0x20])
        #expect(payload.extendedHeaderLength == 6)
        #expect(try Payload(parameters: payload.parameters) == payload)
        #expect(Payload(advData: [1, 2]).parameters == [0, 1, 2])
        let text = DynamicPDU(advertising: [0x07, 7] + payload.parameters, secondary: false)
        #expect(text["AuxPtr.AUX_PHY"] == 1 && text["AdvDataInfo.SID"] == 4 && text.problem == nil)
    }

    @Test("An error tells PDU, field and offset")
    func errors() {
        #expect(throws: PDUError(pdu: "LE_Set_PHY", field: "TX_PHYs", offset: 3, problem: .short(needed: 1, left: 0))) {
            try HCICommands.LESetPHY(parameters: [0, 0, 0])
        }
        #expect(throws: PDUError(pdu: "LE_Rand", field: "", offset: 0, problem: .trailing(1))) { try HCICommands.LERand(parameters: [0]) }
        #expect(DynamicPDU(hci: HCIPacket(.command, [0x32, 0x20, 7, 0x40, 0])).problem?.field == "All_PHYs")
    }

    @Test("After an error the return parameters may end")
    func shortReturns() throws {
        let answer = try HCIEvents.CommandComplete(commandOpcode: 0x2030, returnParameters: [0x0C]).returns(of: HCICommands.LEReadPHY.self)
        #expect(answer.status == .commandDisallowed && answer.connectionHandle == 0)
        #expect(throws: PDUError.self) {
            try HCIEvents.CommandComplete(commandOpcode: 0x2030, returnParameters: [0]).returns(of: HCICommands.LEReadPHY.self)
        }
    }

    @Test("Any PDU of a layer by its opcode")
    func messages() throws {
        let update = LLControl.PHYUpdateInd(phyCToP: .le2M, phyPToC: .le2M, instant: 9)
        var reader = ByteReader(update.parameters.span.bytes)
        #expect(try LLControl.Message(opcode: LLControl.PHYUpdateInd.opcode, from: &reader) == .phyUpdateInd(update))
        let other: [UInt8] = [1, 2]
        var rest = ByteReader(other.span.bytes)
        #expect(try SMP.Message(opcode: 0x77, from: &rest) == .unknown(opcode: 0x77, parameters: other))
    }

    @Test("UUIDs")
    func uuids() throws {
        let short = try #require(BluetoothUUID("180D"))
        #expect(short.description == "0x180D" && short.octets == [0x0D, 0x18])
        let long = try #require(BluetoothUUID("0000180D-0000-1000-8000-00805F9B34FB"))
        #expect(long == short && long.short == 0x180D && long.octets.count == 16)
        #expect(long.description == "0000180D-0000-1000-8000-00805F9B34FB")
        #expect(BluetoothUUID(octets: [1, 2, 3]) == nil && BluetoothUUID("xyz") == nil)
    }
}
