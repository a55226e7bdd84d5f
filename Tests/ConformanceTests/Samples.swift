@testable import Conformance

/// A small vocabulary, so that the loader's tests do not change when PDUs are declared.
enum Samples {
    static let vocabulary = Vocabulary(
        pdus: [
            .init(
                name: "LE_Set_PHY", layer: .command, fields: [.init("Connection_Handle"), .init("TX_PHYS"), .init("RX_PHYS")],
                returns: nil),
            .init(name: "Reset", layer: .command, fields: [], returns: [status]),
            .init(
                name: "LE_PHY_Update_Complete", layer: .event,
                fields: [status, .init("Connection_Handle"), .init("TX_PHY", labels: ["LE_2M": 2]), .init("RX_PHY")]),
            .init(
                name: "LE_Advertising_Report", layer: .event,
                fields: [.init("Reports", columns: [.init("Event_Type"), .init("Address"), .init("Data"), .init("RSSI")])]),
            .init(name: "Command_Status", layer: .event, fields: [status]),
            .init(name: "ATT_READ_REQ", layer: .att, fields: [.init("Attribute_Handle")]),
            .init(name: "LL_LENGTH_REQ", layer: .linkLayer, fields: [.init("MaxRxOctets")]),
        ],
        actions: [
            .init(
                name: "connect", about: "",
                arguments: [.init("to", .uuid, "whom"), .init("interval", .number(6...3_200), default: .number(24), "")],
                results: ["handle"])
        ],
        features: ["LE_2M_PHY", "LE_Coded_PHY"], settings: ["maxOctets"], covers: ["LL/CON/PER/BV-40-C", "GAP/CONN/TERM/BV-01-C"])

    static let status = Vocabulary.Field("Status", labels: ["Success": 0, "Command_Disallowed": 12])

    static func load(_ text: String) -> (testCase: TestCase?, problems: [Problem]) {
        var reader = SourceReader(file: "case.yaml", vocabulary: vocabulary)
        guard let root = reader.compose(text) else { return (nil, reader.problems) }
        let testCase = reader.testCase(root, id: "phy/case")
        return (testCase, reader.problems)
    }

    static func head(_ rest: String) -> String { "title: t\npurpose: p\n" + rest }
}
