import Foundation
import Testing

@testable import BBPackets

/// The relations between PDUs as the declarations state them.
@Suite struct RelationTests {
    private static func all(_ layer: Layer) -> [PDUDeclaration] { PDUCatalog.all.filter { $0.layer == layer } }
    private static func names(_ ids: [PDUID]) -> [String] { ids.map(\.name) }

    // MARK: HCI

    @Test(
        arguments: [
            (HCICommands.LESetPHY.id, ["LE_PHY_Update_Complete"]),
            (HCICommands.LECreateConnection.id, connections), (HCICommands.LEExtendedCreateConnectionV2.id, connections),
            (
                HCICommands.LEEnableEncryption.id,
                ["Encryption_Change", "Encryption_Key_Refresh_Complete", "Encryption_Change [v2]"]
            ),
            (HCICommands.LEGenerateDHKeyV2.id, ["LE_Generate_DHKey_Complete"]), (HCICommands.Reset.id, []),
            (HCICommands.SniffMode.id, ["Mode_Change"]),
        ])
    func theEventsOfACommand(_ command: PDUID, _ events: [String]) {
        #expect(Self.names(command.completedBy) == events)
        #expect(command.completedBy.allSatisfy { $0.completes.contains(command) })
    }

    private static let connections = ["LE_Connection_Complete", "LE_Enhanced_Connection_Complete", "LE_Enhanced_Connection_Complete [v2]"]

    @Test func commandStatusIsFollowedByAnEvent() {
        for command in Self.all(.hciCommands) {
            #expect((command.completion == .status) == !command.id.completedBy.isEmpty, "\(command.name)")
        }
    }

    /// The types of another implementation. Where they differ, the section decides, and is named here.
    @Test func commandsEndAsInAnotherImplementation() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../Fixtures/hci/command-answers--bt-hci.txt")
        var differences: [String: String] = [:]
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        for line in lines {
            let words = line.split(separator: " ")
            let opcode = try #require(UInt16(words[0].dropFirst(2), radix: 16))
            let command = try #require(PDUCatalog.command(opcode: opcode), "\(line)")
            if "\(command.completion)" != words[1] { differences[command.name] = command.section }
        }
        #expect(lines.count == 163)
        #expect(differences == Self.differences)
    }

    /// Theirs are of the other kind: BR/EDR procedures and two LE procedures as SyncCmd, two replies as AsyncCmd.
    private static let differences = [
        "Inquiry": "7.1.1", "Create_Connection": "7.1.5", "Disconnect": "7.1.6", "Accept_Connection_Request": "7.1.8",
        "Reject_Connection_Request": "7.1.9", "Change_Connection_Packet_Type": "7.1.14", "Authentication_Requested": "7.1.15",
        "Set_Connection_Encryption": "7.1.16", "Change_Connection_Link_Key": "7.1.17", "Link_Key_Selection": "7.1.18",
        "Remote_Name_Request": "7.1.19", "Read_Remote_Supported_Features": "7.1.21", "Read_Remote_Extended_Features": "7.1.22",
        "Read_Clock_Offset": "7.1.24", "Setup_Synchronous_Connection": "7.1.26", "Accept_Synchronous_Connection_Request": "7.1.27",
        "Reject_Synchronous_Connection_Request": "7.1.28", "Enhanced_Setup_Synchronous_Connection": "7.1.45",
        "Enhanced_Accept_Synchronous_Connection_Request": "7.1.46", "Truncated_Page": "7.1.47",
        "Start_Synchronization_Train": "7.1.51", "Receive_Synchronization_Train": "7.1.52",
        "LE_Remote_Connection_Parameter_Request_Reply": "7.8.31",
        "LE_Remote_Connection_Parameter_Request_Negative_Reply": "7.8.32", "LE_Frame_Space_Update": "7.8.151",
        "LE_Connection_Rate_Request": "7.8.154",
    ].mapValues { "Core Vol 4, Part E, " + $0 }

    // MARK: Answers

    /// The suffix of the names, which the specification does not rely on.
    @Test(arguments: [Layer.llControl, .att, .l2capSignaling, .sdp, .lmp])
    func requestsAreAnswered(_ layer: Layer) {
        let power = [LMP.IncrPowerReq.name, LMP.DecrPowerReq.name]
        let others = [
            LMP.AuRand.name, LMP.InRand.name, LMP.ClkAdj.name, LMP.EncapsulatedHeader.name, LMP.EncapsulatedPayload.name,
            LMP.SimplePairingNumber.name, LMP.DHKeyCheck.name, ATT.HandleValueInd.name,
        ]
        for pdu in Self.all(layer) {
            let isRequest = pdu.name.hasSuffix("_REQ") || pdu.name.hasSuffix("_REQ_EXT")
            #expect(pdu.id.isRequest == (isRequest && !power.contains(pdu.name) || others.contains(pdu.name)), "\(pdu.name)")
        }
    }

    @Test(
        arguments: [
            (LLControl.FeatureRsp.id, ["LL_FEATURE_REQ", "LL_PERIPHERAL_FEATURE_REQ"]), (LLControl.PHYUpdateInd.id, ["LL_PHY_REQ"]),
            (LLControl.StartEncReq.id, ["LL_ENC_REQ"]), (LMP.SRES.id, ["LMP_AU_RAND"]), (ATT.HandleValueCfm.id, ["ATT_HANDLE_VALUE_IND"]),
            (SMP.PairingRequest.id, ["Security_Request"]), (LLControl.VersionInd.id, []),
        ])
    func anAnswerNamesItsRequests(_ answer: PDUID, _ requests: [String]) {
        #expect(Self.names(answer.answers) == requests)
        #expect(answer.answers.allSatisfy { $0.answeredBy.contains(answer) })
    }

    @Test func aStepOfThePeersProcedureBeginsNone() {
        #expect(LLControl.EncReq.id.beginsProcedure && LLControl.StartEncReq.id.isRequest && !LLControl.StartEncReq.id.beginsProcedure)
        #expect(LLControl.StartEncRsp.id.isReturned && LLControl.PHYUpdateInd.id.comesUnasked && !LLControl.PHYRsp.id.comesUnasked)
    }

    private static let generalResponses: [(Layer, [UInt8], Int?)] = [
        (.llControl, [0x11, 0x16, 0x23], 0x16), (.llControl, [0x07, 0x0F], 0x0F), (.llControl, [0x0D, 0x23], nil),
        (.lmp, [8, 19, 0x23], 19), (.lmp, [254, 1, 127, 11], 0x7F0B), (.lmp, [254, 1], nil), (.att, [1, 0x0A, 1, 0, 5], 0x0A),
    ]

    @Test(arguments: generalResponses)
    func aGeneralResponseNamesItsRequest(_ layer: Layer, _ bytes: [UInt8], _ code: Int?) {
        #expect(DynamicPDU(layer: layer, bytes: bytes).answeredCode == code)
    }

    // MARK: Links and versions

    @Test(
        arguments: [
            (HCIEvents.LEEnhancedConnectionCompleteV2.id, LinkEffect.opens(.le)), (HCIEvents.ConnectionComplete.id, .opens(.bredr)),
            (HCIEvents.DisconnectionComplete.id, .closes(.link)), (HCIEvents.EncryptionChangeV2.id, .changes(.encryption)),
            (LLControl.TerminateInd.id, .closes(.link)), (L2CAPSignaling.DisconnectionRsp.id, .closes(.channel)),
        ])
    func anEffectOnALink(_ pdu: PDUID, _ effect: LinkEffect) { #expect(pdu.effect == effect) }

    @Test func aVersionHasTheRelationsOfTheOneBefore() {
        let versions = Self.names(HCIEvents.LEEnhancedConnectionComplete.id.versions)
        #expect(versions == Self.connections)
        #expect(HCIEvents.LEEnhancedConnectionCompleteV2.id.completes == HCIEvents.LEConnectionComplete.id.completes)
        #expect(Self.names(HCICommands.LEGenerateDHKey.id.versions) == ["LE_Generate_DHKey", "LE_Generate_DHKey [v2]"])
    }

    @Test func anyVersionIsReadAsTheNewest() throws {
        let old = HCIEvents.LEConnectionComplete(connectionHandle: 0x41, role: .peripheral, connectionInterval: 24)
        let read = try #require(try HCIEvents.LEEnhancedConnectionCompleteV2(anyVersion: HCIPacket(event: old)))
        #expect(read == .init(connectionHandle: 0x41, role: .peripheral, connectionInterval: 24))
        let newer = HCIEvents.LEEnhancedConnectionCompleteV2(connectionHandle: 0x42, syncHandle: 7)
        #expect(try HCIEvents.LEEnhancedConnectionCompleteV2(anyVersion: HCIPacket(event: newer)) == newer)
        let other = HCIPacket(event: HCIEvents.LEPHYUpdateComplete())
        #expect(try HCIEvents.LEEnhancedConnectionCompleteV2(anyVersion: other) == nil)
        #expect(throws: PDUError.self) {
            try HCIEvents.LEEnhancedConnectionCompleteV2(anyVersion: HCIPacket(eventCode: 0x3E, parameters: [0x01, 0]))
        }
    }

    @Test func theHandleOfACommandOrEvent() {
        let phy = HCIEvents.LEPHYUpdateComplete(connectionHandle: ConnectionHandle(0xF041))
        #expect(HCIPacket(event: phy).connectionHandle == 0x41)
        #expect(HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x42)).connectionHandle == 0x42)
        #expect(HCIPacket(command: HCICommands.ReadRSSI(handle: 0x43)).connectionHandle == 0x43)
        #expect(HCIPacket(command: HCICommands.Reset()).connectionHandle == nil)
        #expect(HCIPacket(eventCode: 0x3E, parameters: [0x0C, 0, 0x41]).connectionHandle == nil)
        for event in Self.all(.hciEvents) {
            guard let offset = event.offset(ofField: "Connection_Handle"),
                case .integer? = event.fields.first(where: { $0.name == "Connection_Handle" })?.shape
            else { continue }
            #expect(event.id.handleOffset == offset, "\(event.name)")
        }
    }

    @Test func everyPDUHasAnIDOfItsOwn() {
        let shared: Set<Layer> = [.advertising, .structures, .linkLayerHeaders, .avctp]
        var seen: [PDUID: String] = [:]
        for pdu in PDUCatalog.all where !shared.contains(pdu.layer) && pdu.company == nil {
            #expect(seen.updateValue(pdu.name, forKey: pdu.id) == nil, "\(pdu.name)")
            #expect(PDUCatalog.declaration(pdu.id) === pdu)
        }
    }
}
