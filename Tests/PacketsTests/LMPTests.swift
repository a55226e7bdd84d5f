import Testing

@testable import BBPackets

/// Link manager PDUs as they are sent. Core Vol 2, Part C, 5.1.
@Suite struct LMPTests {
    /// Octets, initiator of the transaction, and the PDU.
    static let samples: [([UInt8], LMPTransaction, LMP.Message)] = [
        ([0x4A, 0x08, 0x01, 0x00, 0x02, 0x03], .central, .versionReq(LMP.VersionReq(version: 8, companyIdentifier: 1, subversion: 0x302))),
        ([0x07, 0x33], .peripheral, .accepted(LMP.Accepted(opcode: .lmpHostConnectionReq))),
        ([0x08, 0x13, 0x21], .central, .notAccepted(LMP.NotAccepted(opcode: .lmpSwitchReq, errorCode: .roleChangeNotAllowed))),
        ([0x62], .central, .setupComplete(LMP.SetupComplete())),
        (
            [0x27, 0x78, 0x56, 0x34, 0x02], .peripheral, .switchReq(LMP.SwitchReq(switchInstant: 0x0234_5678))
        ),
        (
            [0xFE, 0x02, 0x7F, 0x0B, 0x24], .central,
            .notAcceptedExt(
                LMP.NotAcceptedExt(escapeOpcode: 127, extendedOpcode: .lmpPacketTypeTableReq, errorCode: .lmpPDUNotAllowed))
        ),
        (
            [0xFF, 0x19, 0x01, 0x00, 0x03], .peripheral,
            .ioCapabilityReq(LMP.IOCapabilityReq(ioCapabilities: .displayYesNo, oobAuthenticationData: 0, authenticationRequirements: 3))
        ),
        (
            [0x7A, 0x01, 0x02, 0x40], .central,
            .encapsulatedHeader(
                LMP.EncapsulatedHeader(encapsulatedMajorType: 1, encapsulatedMinorType: 2, encapsulatedPayloadLength: 64))
        ),
        ([0xFE, 0x7E, 0x05], .central, .unknown(opcode: 0x7F7E, parameters: [5])),
        ([0x33, 0x05], .peripheral, .unknown(opcode: 0x19, parameters: [5])),
    ]

    @Test(arguments: samples) func aPDUAsItIsSent(_ octets: [UInt8], _ transaction: LMPTransaction, _ message: LMP.Message) throws {
        #expect(try LMP.Message(bytes: octets) == message)
        #expect(message.bytes(transaction) == octets)
        var reader = ByteReader(octets.span.bytes)
        let header = try LMPHeader(from: &reader)
        #expect(header.transaction == transaction && header.opcode == message.opcode)
        #expect(header.bytes == Array(octets.prefix(header.count)))
        let dynamic = DynamicPDU(layer: .lmp, bytes: octets)
        #expect(dynamic.identifier == UInt16(transaction.rawValue) && dynamic.code == Int(message.opcode))
        #expect(try dynamic.bytes() == octets)
    }

    /// LMP PDUs fit a DM1 packet.
    @Test func noneIsLongerThanADM1Packet() throws {
        for declared in Declared.all where declared.declaration.layer == .lmp {
            let (_, parameters) = try declared.random(1)
            let count = LMPHeader(.central, opcode: UInt16(declared.declaration.code)).count
            #expect(count + parameters.count <= 17, "\(declared.testDescription)")
        }
    }

    @Test func whatIsCutIsRefusedAndKept() throws {
        for octets: [UInt8] in [[], [0xFE], [0x27, 0x78], [0x62, 0x00]] {
            #expect(throws: PDUError.self) { try LMP.Message(bytes: octets) }
            #expect(try DynamicPDU(layer: .lmp, bytes: octets).bytes() == octets)
        }
    }
}
