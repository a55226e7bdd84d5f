import BBCapture
import BBPackets
import BBTraffic
import Testing

@testable import BBDiagnosis

/// Fields with a name as of a report that report no refusal, with the reason.
private let others: [(pdu: String, field: String, why: String)] = [
    ("LE_Set_Data_Related_Address_Changes", "Change_Reasons", "a choice of the host: Core Vol 4, Part E, 7.8.122"),
    ("LE_CS_Subevent_Result", "Abort_Reason", "a detail of the done status: Core Vol 4, Part E, 7.7.65.44"),
    ("LE_CS_Subevent_Result_Continue", "Abort_Reason", "a detail of the done status: Core Vol 4, Part E, 7.7.65.45"),
    ("LE_Connectionless_IQ_Report", "Packet_Status", "the CRC of a packet on the air: Core Vol 4, Part E, 7.7.65.21"),
    ("LE_Connection_IQ_Report", "Packet_Status", "the CRC of a packet on the air: Core Vol 4, Part E, 7.7.65.22"),
    ("Synchronous_Data", "Packet_Status_Flag", "the quality of voice on the air: Core Vol 4, Part E, 5.4.3"),
    ("ISO_SDU", "Packet_Status_Flag", "the rule isochronous-lost: Core Vol 4, Part E, 5.4.5"),
    ("ISO_SDU_With_Time_Stamp", "Packet_Status_Flag", "the rule isochronous-lost: Core Vol 4, Part E, 5.4.5"),
    ("RFCOMM_RLS_CMD", "Line_Status", "the state of a serial line: TS 07.10, 5.4.6.3.10"),
    ("RFCOMM_RLS_RSP", "Line_Status", "the state of a serial line: TS 07.10, 5.4.6.3.10"),
]

@Suite struct RefusalTests {
    /// A field whose name or type says that it reports whether something succeeded.
    private static func isReport(_ field: FieldDeclaration) -> Bool {
        let words = ["Status", "Result", "Reason", "Reasons", "Error_Code", "ErrorCode", "Status_Flag"]
        let types = ["Error_Code", "ATT_Error_Code", "SDP_Error_Code", "AVDTP_Reason", "Pairing_Failed_Reason", "L2CAP_Reject_Reason"]
        return words.contains { field.name == $0 || field.name.hasSuffix("_" + $0) }
            || types.contains { field.type?.name == $0 || field.type?.name == $0.filter { $0 != "_" } }
    }

    @Test func everyReportOfTheDeclarationsIsCovered() {
        var reports = 0
        var uncovered: [String] = []
        for pdu in PDUCatalog.all where Refusal.layers.contains(pdu.layer) && pdu.company == nil {
            for field in (pdu.fields + (pdu.returns ?? [])).flat where Self.isReport(field) {
                reports += 1
                let isOther = others.contains { $0.pdu == pdu.name && $0.field == field.name }
                if !Refusal.isReport(field, of: pdu), !isOther { uncovered.append("\(pdu.name).\(field.name)") }
            }
        }
        #expect(uncovered == [])
        #expect(reports > 280)
    }

    @Test func whatIsLeftOutExists() {
        for row in others {
            let pdu = PDUCatalog.all.first { $0.name == row.pdu }
            #expect(pdu?.fields.flat.contains { $0.name == row.field } == true, "\(row)")
        }
    }

    @Test func theHarmlessHaveASection() throws {
        let harmless = try DiagnosisRule.builtIn().filter { $0.severity == .harmless }
        #expect(!harmless.isEmpty && harmless.count + others.count <= 60)
        for rule in harmless { #expect(rule.section != nil, "\(rule.id)") }
    }

    /// An error in any of these fields is a refusal, whatever the PDU.
    @Test func anErrorIsARefusal() {
        var tried = 0
        for pdu in PDUCatalog.all where Refusal.layers.contains(pdu.layer) && pdu.company == nil {
            let field = pdu.fields.first { Refusal.isReport($0, of: pdu) && Refusal.reports.contains($0.name) }
            guard let field, case .integer(let octets, _, let isBigEndian, _) = field.shape else { continue }
            guard let offset = pdu.fields.offset(of: field.name) else { continue }
            var bytes = [UInt8](repeating: 0, count: max(pdu.fields.octets ?? 40, offset + 2))
            bytes[offset + (isBigEndian ? octets - 1 : 0)] = 0x03
            tried += 1
            #expect(Refusal(DecodedLayer(pdu, bytes, 0..<bytes.count))?.code == 3, "\(pdu.name)")
        }
        #expect(tried > 80)
    }
}

extension [FieldDeclaration] {
    /// The octets before a field of the first level; nil if they vary.
    fileprivate func offset(of name: String) -> Int? {
        var offset = 0
        for field in self {
            if field.name == name { return offset }
            guard let octets = [field].octets else { return nil }
            offset += octets
        }
        return nil
    }
}
