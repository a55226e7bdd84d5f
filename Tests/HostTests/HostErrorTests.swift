import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

@Suite struct HostErrorTests {
    /// A server's response to a client's procedure, and the resulting error.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var answers: [String]
        var fault: HostError.PeerFault
        var text: String
        var procedure: @Sendable (GATTClient) async throws -> Void

        init(
            _ name: String, _ answers: String..., fault: HostError.PeerFault, text: String,
            procedure: @escaping @Sendable (GATTClient) async throws -> Void
        ) {
            (testDescription, self.answers, self.fault, self.text, self.procedure) = (name, answers, fault, text, procedure)
        }
    }

    private static let service = RemoteService(uuid: 0xAAAA, handle: 1, endHandle: 9)
    private static let characteristic = RemoteCharacteristic(
        uuid: 0xAAA1, properties: .notify, declaration: 2, value: 3, endHandle: 3)

    static let rows: [Row] = [
        Row(
            "an error", "01 0a 0300 02", fault: .att(request: .attReadReq, handle: 3, .readNotPermitted),
            text: "ATT_READ_REQ on handle 0x0003 answered with Read_Not_Permitted"
        ) { _ = try await $0.read(3) },
        Row(
            "a response to something else", "0d 09", fault: .malformed(.response(.attReadBlobRsp, to: .attReadReq)),
            text: "malformed: ATT_READ_BLOB_RSP as the response to ATT_READ_REQ"
        ) { _ = try await $0.read(3) },
        Row(
            "an error about something else", "01 0c 0300 02", fault: .malformed(.errorResponse(about: .attReadBlobReq, to: .attReadReq)),
            text: "malformed: ATT_ERROR_RSP about ATT_READ_BLOB_REQ as the response to ATT_READ_REQ"
        ) { _ = try await $0.read(3) },
        Row(
            "an error cut short", "01 0a 03",
            fault: .malformed(
                .pdu(PDUError(pdu: "ATT_ERROR_RSP", field: "Attribute_Handle_In_Error", offset: 2, problem: .short(needed: 2, left: 1)))),
            text: "malformed: ATT_ERROR_RSP: Attribute_Handle_In_Error at octet 2: needs 2 octets, 1 left"
        ) { _ = try await $0.read(3) },
        Row(
            "a search that goes back", "11 06 0100 0500 0018", "11 06 0100 0500 0018",
            fault: .malformed(.searchStandsStill(from: 6, last: 1)), text: "malformed: handle 0x0001 in a search from 0x0006"
        ) { _ = try await $0.discoverServices() },
        Row(
            "services out of order", "11 06 0600 0600 0018 0100 0500 0118",
            fault: .malformed(.searchStandsStill(from: 1, last: 1)), text: "malformed: handle 0x0001 in a search from 0x0001"
        ) { _ = try await $0.discoverServices() },
        Row(
            "a characteristic without handle", "09 07 0300 02 0400 01aa 0000 02 0600 02aa 0700 02 0800 03aa",
            fault: .malformed(.searchStandsStill(from: 1, last: 0)), text: "malformed: handle 0x0000 in a search from 0x0001"
        ) { _ = try await $0.discoverCharacteristics(in: service) },
        Row(
            "a characteristic beyond its service", "09 07 0a00 02 0b00 01aa",
            fault: .malformed(.searchStandsStill(from: 1, last: 10)), text: "malformed: handle 0x000A in a search from 0x0001"
        ) { _ = try await $0.discoverCharacteristics(in: service) },
        Row(
            "descriptors out of order", "05 01 0600 0129 0500 0229",
            fault: .malformed(.searchStandsStill(from: 4, last: 5)), text: "malformed: handle 0x0005 in a search from 0x0004"
        ) { _ = try await $0.discoverDescriptors(from: 4, to: 9) },
        Row(
            "a service with a UUID of three octets", "11 07 0100 0500 001800",
            fault: .malformed(.declaration(.primaryService, octets: 3)), text: "malformed: declaration 0x2800 of 3 octets"
        ) { _ = try await $0.discoverServices() },
        Row(
            "an include of one octet", "09 03 0200 01", "01 08 0300 0a", fault: .malformed(.declaration(.include, octets: 1)),
            text: "malformed: declaration 0x2802 of 1 octets"
        ) { _ = try await $0.discoverIncludedServices(in: service) },
        Row(
            "a characteristic of two octets", "09 04 0200 0102", "01 08 0300 0a",
            fault: .malformed(.declaration(.characteristic, octets: 2)), text: "malformed: declaration 0x2803 of 2 octets"
        ) { _ = try await $0.discoverCharacteristics(in: service) },
        Row(
            "an echo of other octets", "17 0300 0000 02", "19", fault: .malformed(.preparedValueDiffers(handle: 3)),
            text: "malformed: ATT_PREPARE_WRITE_RSP for handle 0x0003 differs from the request (Core Vol 3, Part G, 4.9.5)"
        ) { try await $0.reliableWrite([(3, [1])]) },
        Row(
            "no configuration", fault: .malformed(.noClientConfiguration(characteristic: 3)),
            text: "malformed: characteristic 0x0003 has no Client Characteristic Configuration (Core Vol 3, Part G, 3.3.3.3)"
        ) { try await $0.subscribe(characteristic) { _, _, _ in } },
        Row(
            "silence", fault: .timedOut(.attResponse), text: "no answer from the peer: ATT transaction, 30 s (Core Vol 3, Part F, 3.3.3)"
        ) { _ = try await $0.read(3) },
    ]

    @Test(arguments: rows) func aPeersFaultIsACase(_ row: Row) throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            let answers = Answers()
            answers.pdus = row.answers.map(octets)
            let channel = pair.peripheral.channel(CID.att)
            channel.handler = { _ in
                if !answers.pdus.isEmpty { channel.trySend(answers.pdus.removeFirst()) }
            }
            let fault = await failure { try await row.procedure(pair.central.gatt) }
            #expect(fault == .peer(row.fault))
            #expect(fault?.description == row.text)
        }
    }
}
