import BBHCI
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBCases
@testable import BBConformance

/// Devices without a public address, and devices that are to use another one.
struct OwnAddressTests {
    /// Read_BD_ADDR returns zeros, and commands that need a public address are rejected. Core Vol 4, Part E, 7.4.6 and 7.8.5.
    private static func withoutPublicAddress(_ direction: Trial.Direction, _ packet: HCIPacket) -> [HCIPacket] {
        if direction == .toHost, packet.completedOpcode == HCICommands.ReadBDADDR.opcode {
            return [HCIPacket(complete: HCICommands.ReadBDADDR.self, .init(bdADDR: 0))]
        }
        guard direction == .toController, let opcode = packet.commandOpcode else { return [packet] }
        return [asRefused(opcode, packet) ?? packet]
    }

    /// A command with Public Device Address is changed to an invalid type.
    private static func asRefused(_ opcode: UInt16, _ packet: HCIPacket) -> HCIPacket? {
        guard let declaration = PDUCatalog.command(opcode: opcode) else { return nil }
        var pdu = DynamicPDU(declaration, parameters: packet.parameters)
        guard let index = pdu.fields.firstIndex(where: { $0.name == "Own_Address_Type" }), pdu.fields[index].value == .integer(0) else {
            return nil
        }
        pdu.fields[index] = DynamicField("Own_Address_Type", .integer(0x7F))
        return (try? pdu.parameters()).map { HCIPacket(opcode: opcode, parameters: $0) }
    }

    @Test(arguments: Side.allCases) func casesPassWithoutAPublicAddress(at side: Side) throws {
        let catalogue = try SuiteTests.catalogue()
        let cases = try RunPlan.select(catalogue.cases, ["gap-*", "hci/reset-*", "gatt/whole-session", "gatt/read-long"])
        // BR/EDR has no other address than the public one. Rounds about it have no verdict on such a controller.
        let isAboutPublicAddress = { (id: String) in
            ["=public", "address=device", "setting=advertising-parameters", "setting=scan-parameters", "no-private-addresses"].contains {
                id.contains($0)
            }
        }
        let isAboutBREDR = { (id: String) in ["reset-with-bredr-link", "reset-restores-bredr", "beside-bredr"].contains { id.contains($0) }
        }
        for testCase in cases where !isAboutBREDR(testCase.id) {
            let result = try Trial.run(testCase.id, at: side, catalogue: catalogue, change: Self.withoutPublicAddress)
            let isRight = isAboutPublicAddress(testCase.id) ? result.verdict != .fail && result.verdict != .error : result.verdict == .pass
            #expect(isRight, "\(testCase.id): \(result.message)")
        }
    }

    /// An address given to the bench takes precedence over the controller's.
    @Test(arguments: ["random", "C1:B1:BE:00:00:07"]) func anAddressByChoice(_ text: String) throws {
        let choice = try #require(OwnAddress(text))
        let text = """
            title: t
            purpose: p
            reference: Core Vol 4, Part E, 7.8.4
            steps:
              - use: advertise
              - use: scan
              - expect: LE_Advertising_Report
                as: tester
                where: {Reports: {some: {Address_Type: Random_Device, Address: $subject.address}}}
                states: The advertiser goes by its random address.
              - check: $subject.type
                is: 1
            """
        let seen = Seen()
        let result = try Trial.run("phy/made", own: [.subject: choice], catalogue: try Trial.catalogue(with: text)) { direction, packet in
            if direction == .toController, let command = try? packet.command(as: HCICommands.LESetRandomAddress.self) {
                seen.addresses.append(DeviceAddress(command.randomAddress, kind: .random))
            }
            return [packet]
        }
        #expect(result.verdict == .pass, "\(result.message)")
        #expect(seen.addresses.count == 1 && seen.addresses.allSatisfy(OwnAddress.isStatic))
        if case .fixed(let address) = choice { #expect(seen.addresses == [address]) }
    }

    private final class Seen { var addresses: [DeviceAddress] = [] }

    @Test(arguments: [
        ("auto", OwnAddress.automatic), ("random", .drawn),
        ("C0:00:00:00:00:01", .fixed(DeviceAddress(value: 0xC000_0000_0001, kind: .random))),
        ("40:00:00:00:00:01", nil), ("C0:00:00:00:00:00", nil), ("FF:FF:FF:FF:FF:FF", nil), ("C0:00:00:00:01", nil), ("public", nil),
        ("", nil),
    ])
    func whatPeopleWrite(_ text: String, _ choice: OwnAddress?) { #expect(OwnAddress(text) == choice) }
}
