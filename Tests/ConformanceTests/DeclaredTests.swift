import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// Cases that compare a controller with the conformance statement of its maker, and commands of the newest version.
struct DeclaredTests {
    struct Row: Sendable {
        var id: String
        var statement: String?
        var verdict: Verdict
        var words = ""
    }

    static let rows: [Row] = [
        Row(id: "hci/masks-as-declared[mask=le-features]", statement: "TSPC_LL_9_1 TRUE\nTSPC_LL_9_34 FALSE", verdict: .pass),
        Row(
            id: "hci/masks-as-declared[mask=le-features]", statement: "TSPC_LL_9_1 FALSE", verdict: .fail,
            words: "LE_Encryption: expected 0, as TSPC_LL_9_1 is denied, got 1"),
        Row(
            id: "hci/masks-as-declared[mask=le-features]", statement: "TSPC_LL_9_34 TRUE", verdict: .fail,
            words: "Synchronized_Receiver: expected 1, as TSPC_LL_9_34 is declared, got 0"),
        Row(
            id: "hci/masks-as-declared[mask=le-features]", statement: "TSPC_GATT_3_1 TRUE", verdict: .notApplicable,
            words: "the conformance statement names no item about LE_Read_Local_Supported_Features"),
        Row(
            id: "hci/masks-as-declared[mask=le-features]", statement: nil, verdict: .notApplicable,
            words: "there is no conformance statement to compare with"),
        Row(id: "hci/masks-as-declared[mask=commands]", statement: "TSPC_HCI_2_1 TRUE\nTSPC_HCI_20_1 FALSE", verdict: .pass),
        Row(
            id: "hci/masks-as-declared[mask=commands]", statement: "TSPC_HCI_2_1 FALSE", verdict: .fail,
            words: "Reset: expected 0, as TSPC_HCI_2_1 is denied, got 1"),
        Row(id: "hci/masks-as-declared[mask=lmp-features]", statement: "TSPC_LMP_2_3 TRUE\nTSPC_LMP_2_22 TRUE", verdict: .pass),
        Row(id: "hci/masks-as-declared[mask=extended-lmp-features]", statement: "TSPC_LMP_2_26 TRUE", verdict: .pass),
        Row(
            id: "hci/masks-as-declared[mask=extended-lmp-features]", statement: "TSPC_LMP_2_26 FALSE", verdict: .fail,
            words: "Secure_Connections_Controller: expected 0"),
        Row(id: "hci/masks-as-declared[mask=commands-v2]", statement: "TSPC_HCI_2_1 TRUE", verdict: .notApplicable),
        Row(id: "hci/voice-buffers-as-declared[with=with]", statement: "TSPC_HCI_9_6 TRUE", verdict: .pass),
        Row(id: "hci/voice-buffers-as-declared[with=with]", statement: "TSPC_HCI_9_6 FALSE", verdict: .notApplicable),
        Row(
            id: "hci/voice-buffers-as-declared[with=without]", statement: "TSPC_HCI_9_6 FALSE\nTSPC_HCI_9_7 FALSE", verdict: .fail,
            words: "Total_Num_Synchronous_Data_Packets: expected 0"),
        Row(
            id: "hci/voice-buffers-as-declared[with=without]", statement: nil, verdict: .notApplicable,
            words: "needs denied.TSPC_HCI_9_6, denied.TSPC_HCI_9_7"),
        Row(id: "hci/version-as-declared", statement: nil, verdict: .notApplicable),
    ]

    @Test(arguments: rows) func aControllerIsComparedWithItsStatement(_ row: Row) throws {
        let masks = try DeclaredMasks.load(SuiteTests.folder)
        let declared = try row.statement.map { DeclaredItems(try ConformanceStatement($0, file: "a"), masks) }
        let result = try Trial.run(row.id, declared: declared) { [$1] }
        #expect(result.verdict == row.verdict && (row.words.isEmpty || result.message.contains(row.words)), "\(result.message)")
    }

    /// A controller of Core 6.3 has 251 octets of Supported_Commands, and a mask of 255 octets whose first 64 bits are those of version 1.
    @Test func commandsOfCore63AreThere() throws {
        let catalogue = try Trial.catalogue(
            with: """
                title: t
                purpose: p
                reference: Core Vol 4, Part E, 7.8.1
                needs: virtual
                world: {subject: {core-version: 17}}
                steps:
                  - {send: Read_Local_Supported_Commands, as: subject, saveAs: own}
                  - send: "Read_Local_Supported_Commands [v2]"
                    as: subject
                    answer: {Status: Success, Supported_Commands: {allOf: [{length: 251}, {startsWith: $own.Supported_Commands}]}}
                    states: Version 2 begins with the octets of version 1.
                  - {use: advertise, as: tester}
                  - {send: "LE_Set_Event_Mask [v2]", as: subject, with: {LE_Event_Mask: "FD EF FF FF FF FF FF FF"}, name: masked}
                  - {use: scan, as: subject}
                  - {none: LE_Advertising_Report, as: subject, since: masked, within: 1 s, states: The event is masked.}
                  - {send: "LE_Set_Event_Mask [v2]", as: subject, with: {LE_Event_Mask: "02"}}
                  - {expect: LE_Advertising_Report, as: subject, within: 2 s, states: The event comes.}
                """)
        let result = try Trial.run("phy/made", catalogue: catalogue) { [$1] }
        #expect(result.verdict == .pass, "\(result.message)")
    }
}
