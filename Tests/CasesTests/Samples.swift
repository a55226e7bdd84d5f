import BBMisbehaviour

@testable import BBCases

/// A small vocabulary, so that the loader's tests do not change when PDUs are declared.
enum Samples {
    static let vocabulary: Vocabulary = {
        var vocabulary = bare
        vocabulary.worlds.controllers = ["max-octets": QuirkDeclaration("max-octets", .linkLayer, .number(27...251), "sends less")]
        return vocabulary
    }()

    private static let bare = Vocabulary(
        pdus: [
            .init(
                name: "LE_Set_PHY", layer: .hciCommands,
                fields: [.init("Connection_Handle", .number(0...0x0EFF), isRequired: true), .init("TX_PHYS"), .init("RX_PHYS")],
                returns: nil),
            .init(name: "Reset", layer: .hciCommands, fields: [], returns: [status]),
            .init(
                name: "LE_PHY_Update_Complete", layer: .hciEvents,
                fields: [
                    status, .init("Connection_Handle"), .init("TX_PHY", .number(0...255), labels: ["LE_2M": 2]), .init("RX_PHY"),
                    .init("PHYs", .number(0...255), labels: ["LE_1M": 1, "LE_2M": 2], isFlags: true),
                ]),
            .init(
                name: "LE_Advertising_Report", layer: .hciEvents,
                fields: [
                    .init(
                        "Reports",
                        columns: [
                            .init("Event_Type"), .init("Address", .address), .init("Data", .octets(atMost: 31)),
                            .init("RSSI", .number(-128...127)),
                        ])
                ]),
            .init(
                name: "LE_Set_Data", layer: .hciCommands,
                fields: [.init("Data", .octets(atMost: 3)), .init("Step", .number(1...9), initial: 1)]),
            .init(name: "LE_Connected", layer: .hciEvents, fields: [status]),
            .init(name: "LE_Enhanced_Connected", layer: .hciEvents, fields: [status]),
            .init(name: "Any_LE_Connected", layer: .hciEvents, fields: [status]),
            .init(name: "Command_Status", layer: .hciEvents, fields: [status]),
            .init(name: "ATT_READ_REQ", layer: .att, fields: [.init("Attribute_Handle")]),
            .init(name: "LL_LENGTH_REQ", layer: .llControl, fields: [.init("MaxRxOctets")]),
        ],
        alternatives: ["Any_LE_Connected": ["LE_Connected", "LE_Enhanced_Connected"]],
        actions: [
            .init(
                name: "connect", about: "",
                arguments: [.init("to", .uuid, "whom"), .init("interval", .number(6...3_200), default: .number(24), "")],
                results: ["handle"])
        ],
        features: ["LE_2M_PHY", "LE_Coded_PHY"], commands: ["LE_Set_PHY", "LE_Read_PHY"],
        covers: ["LL/CON/PER/BV-40-C", "GAP/CONN/TERM/BV-01-C"])

    static let status = Vocabulary.Field("Status", .number(0...255), labels: ["Success": 0, "Command_Disallowed": 12])

    static let procedures = """
        about: One side advertises.
        roles: {advertiser: subject, scanner: tester}
        parameters:
          interval: {default: 32, range: [32, 100]}
        steps:
          - send: LE_Set_PHY
            as: $advertiser
            with: {Connection_Handle: $interval, TX_PHYS: $scanner.type}
            saveAs: result
        gives: {handle: $result.Status}
        """

    static func load(_ text: String, _ vocabulary: Vocabulary = vocabulary) -> (testCase: TestCase?, problems: [Problem]) {
        var first = SourceReader(file: "advertise.yaml", vocabulary: vocabulary)
        let procedure = first.compose(procedures).flatMap { first.procedure($0, name: "advertise") }
        let known = procedure.map { ["advertise": $0] } ?? [:]
        var reader = SourceReader(file: "case.yaml", vocabulary: vocabulary)
        reader.signatures = known.mapValues(\.parameters)
        guard let root = reader.compose(text) else { return (nil, first.problems + reader.problems) }
        let testCase = reader.readings(of: root).first.flatMap { reader.testCase($0.root, id: "phy/case") }
        let more = testCase.map { CaseCheck.problems(of: $0, ProcedureTable(known), vocabulary, lost: reader.lost) } ?? []
        return (testCase, first.problems + reader.problems + more)
    }

    static func head(_ rest: String) -> String { "title: t\npurpose: p\nreference: Core Vol 6, Part B, 5.1.10\n" + rest }
}
