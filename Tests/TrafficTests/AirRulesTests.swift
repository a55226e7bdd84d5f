import BBPackets
import Testing

@testable import BBTraffic

/// Rules about the control PDUs of a link, as sequences of PDUs of the controller under test and its peer.
struct AirRulesTests {
    enum Sender: Sendable { case own, peer }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// The octets of LL control PDUs, or of LMP messages.
        var pdus: [(Sender, [UInt8])]
        /// The position of the PDU that violates a rule.
        var fault: Int?
    }

    private static let encryption = [0x03] + [UInt8](repeating: 0, count: 22)

    // LL_PING_REQ is 0x12, LL_PING_RSP 0x13, LL_REJECT_EXT_IND 0x11, LL_PHY_REQ 0x16, LL_VERSION_IND 0x0C, LL_CHANNEL_MAP_IND 0x01.
    static let linkLayer: [Row] = [
        Row(testDescription: "an answer", pdus: [(.peer, [0x12]), (.own, [0x13])]),
        Row(testDescription: "an answer twice", pdus: [(.peer, [0x12]), (.own, [0x13]), (.own, [0x13])], fault: 2),
        Row(testDescription: "two answers for two requests", pdus: [(.peer, [0x12]), (.peer, [0x12]), (.own, [0x13]), (.own, [0x13])]),
        Row(testDescription: "an answer to another request", pdus: [(.peer, [0x16, 1, 1]), (.own, [0x13])], fault: 1),
        Row(testDescription: "a refusal", pdus: [(.peer, [0x16, 1, 1]), (.own, [0x11, 0x16, 0x23])]),
        Row(testDescription: "a refusal of what nobody sent", pdus: [(.peer, [0x16, 1, 1]), (.own, [0x11, 0x14, 0x23])], fault: 1),
        Row(testDescription: "an opcode that is not declared is unknown", pdus: [(.peer, [0xF0]), (.own, [0x07, 0xF0])]),
        Row(testDescription: "a request twice", pdus: [(.own, [0x12]), (.own, [0x12])], fault: 1),
        Row(testDescription: "a request after an answer", pdus: [(.own, [0x12]), (.peer, [0x13]), (.own, [0x12])]),
        Row(
            testDescription: "the version twice", pdus: [(.own, [0x0C, 9, 0, 0, 0, 0]), (.peer, [0x12]), (.own, [0x0C, 9, 0, 0, 0, 0])],
            fault: 2),
        Row(
            testDescription: "a map for the same instant",
            pdus: [(.own, [0x01, 1, 2, 3, 4, 5, 9, 0]), (.own, [0x01, 1, 2, 3, 4, 6, 9, 0])],
            fault: 1),
        Row(
            testDescription: "a map for a later instant",
            pdus: [(.own, [0x01, 1, 2, 3, 4, 5, 9, 0]), (.own, [0x01, 1, 2, 3, 4, 6, 10, 0])]),
        Row(
            testDescription: "a PHY for the same instant",
            pdus: [(.peer, [0x16, 2, 2]), (.own, [0x18, 2, 2, 9, 0]), (.peer, [0x16, 1, 1]), (.own, [0x18, 1, 1, 9, 0])], fault: 3),
        Row(
            testDescription: "twice no other PHY, without an instant",
            pdus: [(.peer, [0x16, 2, 2]), (.own, [0x18, 0, 0, 0, 0]), (.peer, [0x16, 1, 1]), (.own, [0x18, 0, 0, 0, 0])]),
        // A peripheral answers LL_ENC_REQ with LL_ENC_RSP, and its host may then refuse.
        Row(
            testDescription: "encryption refused after the answer",
            pdus: [
                (.peer, encryption), (.own, [0x04] + [UInt8](repeating: 0, count: 12)),
                (.own, [0x11, 3, 6]),
            ]),
        Row(
            testDescription: "a peripheral returns the answer to its own request",
            pdus: [(.peer, encryption), (.own, [0x05]), (.peer, [0x06]), (.own, [0x06]), (.own, [0x06])], fault: 4),
        Row(
            testDescription: "a central answers once, and keeps the returned answer",
            pdus: [(.peer, [0x05]), (.own, [0x06]), (.peer, [0x06]), (.own, [0x06])], fault: 3),
        Row(testDescription: "PHYs that do not exist", pdus: [(.own, [0x16, 1, 0xFF])], fault: 0),
        Row(testDescription: "no offsets", pdus: [(.own, parameters([]))]),
        Row(testDescription: "two offsets", pdus: [(.own, parameters([3, 0]))]),
        Row(testDescription: "an offset after an invalid one", pdus: [(.own, parameters([0xFFFF, 3]))], fault: 0),
        Row(testDescription: "an offset twice", pdus: [(.own, parameters([3, 3]))], fault: 0),
        Row(
            testDescription: "encryption started twice",
            pdus: [(.peer, encryption), (.own, [0x05]), (.own, [0x05])], fault: 2),
    ]

    /// LL_CONNECTION_PARAM_REQ with these offsets, and others that are not given.
    private static func parameters(_ offsets: [UInt16]) -> [UInt8] {
        let all = offsets + [UInt16](repeating: 0xFFFF, count: 6 - offsets.count)
        return [0x0F, 24, 0, 40, 0, 0, 0, 100, 0, 0, 0, 0] + all.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    }

    @Test(arguments: linkLayer) func judgesTheLinkLayer(_ row: Row) {
        var exchange = ControlExchange()
        let faults = row.pdus.indices.filter { index in
            let (sender, bytes) = row.pdus[index]
            let pdu = DynamicPDU(layer: .llControl, bytes: bytes)
            return LinkLayerRules.violation(by: pdu, bytes, sender == .own, &exchange) != nil
        }
        #expect(faults == row.fault.map { [$0] } ?? [])
    }

    // The opcode is shifted by the transaction ID: LMP_accepted 3, LMP_not_accepted 4, LMP_encryption_mode_req 15, LMP_switch_req 19,
    // LMP_features_req 39, LMP_features_res 40, LMP_setup_complete 49.
    static let linkManager: [Row] = [
        Row(testDescription: "a response", pdus: [(.peer, [78, 0, 0, 0, 0, 0, 0, 0, 0]), (.own, [80, 0, 0, 0, 0, 0, 0, 0, 0])]),
        Row(testDescription: "a response to nothing", pdus: [(.own, [80, 0, 0, 0, 0, 0, 0, 0, 0])], fault: 0),
        Row(testDescription: "an acceptance", pdus: [(.peer, [102]), (.own, [6, 51])]),
        Row(testDescription: "an acceptance twice", pdus: [(.peer, [102]), (.own, [6, 51]), (.own, [6, 51])], fault: 2),
        Row(testDescription: "an acceptance of something else", pdus: [(.peer, [102]), (.own, [6, 50])], fault: 1),
        Row(testDescription: "an extended acceptance", pdus: [(.peer, [254, 11, 1]), (.own, [254, 1, 127, 11])]),
        Row(
            testDescription: "an extended acceptance twice",
            pdus: [(.peer, [254, 11, 1]), (.own, [254, 1, 127, 11]), (.own, [254, 1, 127, 11])], fault: 2),
        Row(testDescription: "a second request with other values", pdus: [(.own, [2, 0]), (.own, [2, 14])]),
        Row(testDescription: "a request twice", pdus: [(.own, [2, 0]), (.own, [2, 0])], fault: 1),
        Row(testDescription: "part of a key twice", pdus: [(.own, part), (.own, part)], fault: 1),
        Row(testDescription: "an equal part after an acceptance", pdus: [(.own, part), (.peer, [6, 62]), (.own, part)]),
        Row(testDescription: "more power is asked for again and again", pdus: [(.own, [62, 0]), (.own, [62, 0])]),
        Row(testDescription: "a step twice", pdus: [(.own, [30, 1]), (.peer, [6, 15]), (.own, [30, 1])], fault: 2),
        Row(testDescription: "a step again after a refusal", pdus: [(.own, [30, 1]), (.peer, [8, 15, 0x23]), (.own, [30, 1])]),
        Row(
            testDescription: "a step after another",
            pdus: [(.own, [30, 1]), (.peer, [6, 15]), (.own, [30, 0]), (.peer, [6, 15]), (.own, [30, 1])]),
        Row(
            testDescription: "an instant twice", pdus: [(.own, [38, 9, 0, 0, 0]), (.peer, [8, 19, 0x23]), (.own, [38, 9, 0, 0, 0])],
            fault: 2),
        Row(testDescription: "a later instant", pdus: [(.own, [38, 9, 0, 0, 0]), (.peer, [8, 19, 0x23]), (.own, [38, 80, 0, 0, 0])]),
        Row(testDescription: "set-up complete twice", pdus: [(.own, [98]), (.peer, [98]), (.own, [98])], fault: 2),
    ]

    /// LMP_ENCAPSULATED_PAYLOAD.
    private static let part = [124] + [UInt8](repeating: 0, count: 16)

    @Test(arguments: linkManager) func judgesTheLinkManager(_ row: Row) {
        var exchange = ControlExchange()
        let faults = row.pdus.indices.filter { index in
            let (sender, bytes) = row.pdus[index]
            return LinkManagerRules.violation(by: DynamicPDU(layer: .lmp, bytes: bytes), bytes, sender == .own, &exchange) != nil
        }
        #expect(faults == row.fault.map { [$0] } ?? [])
    }
}
