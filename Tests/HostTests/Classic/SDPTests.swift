import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// The server and the client of SDP, alone and with one another. Core Vol 3, Part B, 4.
@Suite struct SDPTests {
    static func server() -> SDPServer {
        var server = SDPServer()
        server.add(.attributeService(from: 1, to: 9))
        server.add(.serialPort(channel: 1))
        server.add(.audio(isSink: true))
        server.add(.handsFree(channel: 7, features: 0x003F))
        return server
    }

    // MARK: Server

    /// Requests and responses; searches with UUIDs of each length, answered as by BlueZ's server.
    static let exchanges: [(String, String, String)] = [
        ("search by 16 bits", "02 0001 0008 3503 191101 0001 00", "03 0001 0009 0001 0001 00010001 00"),
        ("search by 32 bits", "02 0001 000a 3505 1a00001101 0001 00", "03 0001 0009 0001 0001 00010001 00"),
        (
            "search by 128 bits", "02 0001 0016 3511 1c0000110100001000800000805f9b34fb 0001 00",
            "03 0001 0009 0001 0001 00010001 00"
        ),
        ("search for what is not there", "02 0002 0008 3503 191234 0001 00", "03 0002 0005 0000 0000 00"),
        ("search for all, two of them", "02 0003 0008 3503 190100 0002 00", "03 0003 000d 0002 0002 00010000 00010001 00"),
        ("search by two UUIDs", "02 0004 000b 3506 191002 190003 0009 00", "03 0004 000d 0002 0002 00010001 00010003 00"),
        ("one attribute", "04 0005 000c 00010001 0100 3503 090001 00", "05 0005 000d 000a 3508 090001 3503191101 00"),
        ("an attribute that is not there", "04 0006 000c 00010001 0100 3503 090300 00", "05 0006 0005 0002 3500 00"),
        ("a range", "04 0007 000e 00010002 0100 3505 0a00000001 00", "05 0007 0015 0012 3510 0900000a00010002 0900013503 19110b 00"),
        (
            "search and attributes", "06 0008 000d 3503 191101 0100 3503 090001 00",
            "07 0008 000f 000c 350a 3508 090001 3503191101 00"
        ),
        ("search and attributes of nothing", "06 0009 000d 3503 191234 0100 3503 090001 00", "07 0009 0005 0002 3500 00"),
    ]

    @Test(arguments: exchanges)
    func requestsAreAnswered(_ name: String, _ request: String, _ response: String) {
        #expect(Self.server().receive(octets(request), mtu: 672).map { hex($0) } == hex(octets(response)), "\(name)")
    }

    /// Core Vol 3, Part B, 4.4.1: each error code, and nothing for a response.
    static let refusals: [(String, String, SDPErrorCode?)] = [
        ("an unknown handle", "04 0001 000c 00020001 0100 3503 090001 00", .invalidRecordHandle),
        ("an unknown PDU", "08 0001 0000", .invalidSyntax),
        ("PDU ID 0", "00 0001 0000", .invalidSyntax),
        ("a pattern that is no sequence", "02 0001 0006 191101 0001 00", .invalidSyntax),
        ("a pattern of integers", "02 0001 0008 3503 091101 0001 00", .invalidSyntax),
        ("an empty pattern", "02 0001 0005 3500 0001 00", .invalidSyntax),
        (
            "13 UUIDs", "02 0001 002c 3527" + String(repeating: "190100", count: 13) + "0001 00", .invalidSyntax
        ),
        ("no record wanted", "02 0001 0008 3503 191101 0000 00", .invalidSyntax),
        ("6 octets wanted", "04 0001 000c 00010001 0006 3503 090001 00", .invalidSyntax),
        ("a range that ends before it begins", "04 0001 000e 00010001 0100 3505 0a00050004 00", .invalidSyntax),
        ("an attribute ID of one octet", "04 0001 000b 00010001 0100 3502 0801 00", .invalidSyntax),
        ("no continuation state", "02 0001 0007 3503 191101 0001", .invalidSyntax),
        ("octets after the continuation state", "02 0001 0009 3503 191101 0001 00 00", .invalidSyntax),
        ("a length that is too large", "02 0001 0009 3503 191101 0001 00", .invalidPDUSize),
        ("a length that is too small", "02 0001 0007 3503 191101 0001 00", .invalidPDUSize),
        ("a header of four octets", "02 0001 00", .invalidSyntax),
        ("one octet", "02", .invalidSyntax),
        ("nothing", "", .invalidSyntax),
        ("CVE-2017-0785: a state that nobody gave", "02 0001 0010 3503 191101 0001 08 0000000100000000", .invalidContinuationState),
        ("CVE-2017-1000250: a state beyond the response", "02 0001 000a 3503 191101 0001 02 ffff", .invalidContinuationState),
        ("CVE-2017-1000250: a state of 255 octets", "02 0001 0008 3503 191101 0001 ff", .invalidContinuationState),
        ("a state of 17 octets", "02 0001 0019 3503 191101 0001 11" + String(repeating: "00", count: 17), .invalidContinuationState),
        ("a response", "03 0001 0005 0000 0000 00", nil),
        ("an error", "01 0001 0002 0003", nil),
    ]

    @Test(arguments: refusals)
    func wrongRequestsAreRefused(_ name: String, _ request: String, _ code: SDPErrorCode?) {
        let transaction: UInt16 = octets(request).count >= 3 ? 1 : 0
        let wanted = code.map { hex(SDPPDU(.errorRsp(SDP.ErrorRsp(errorCode: $0)), transaction: transaction).octets) }
        #expect(Self.server().receive(octets(request), mtu: 672).map { hex($0) } == wanted, "\(name)")
    }

    /// CVE-2017-0785 and similar: a continuation state of the server with another request, modified, or after a change of the records.
    @Test func continuationStatesBelongToTheirRequest() throws {
        var server = Self.server()
        func ask(_ uuid: BluetoothUUID, _ ranges: [SDPAttributeRange] = [.all], _ state: [UInt8]) throws -> SDP.Message {
            let request = SDP.ServiceSearchAttributeReq(
                serviceSearchPattern: SDPPattern.element([uuid]), maximumAttributeByteCount: 20,
                attributeIDList: SDPAttributeRange.element(ranges), continuationState: state)
            let sent = SDPPDU(.serviceSearchAttributeReq(request), transaction: 9).octets
            return try SDPPDU(try #require(server.receive(sent, mtu: 672))).message
        }
        guard case .serviceSearchAttributeRsp(let none) = try ask(0x0100, [], []) else { return }
        #expect(none.attributeLists.count == 2 && none.continuationState.isEmpty)
        let state = try ask(0x0100, [.all], []).continuation
        #expect(!state.isEmpty)
        guard case .serviceSearchAttributeRsp = try ask(0x0100, [.all], state) else {
            Issue.record("the state is good")
            return
        }
        func expectRefusal(_ message: SDP.Message) {
            #expect(message == .errorRsp(SDP.ErrorRsp(errorCode: .invalidContinuationState)))
        }
        try expectRefusal(ask(0x1002, [.all], state))
        try expectRefusal(ask(0x0100, [.init(0, 1)], state))
        for index in state.indices {
            var other = state
            other[index] ^= 0x80
            try expectRefusal(ask(0x0100, [.all], other))
        }
        try expectRefusal(ask(0x0100, [.all], Array(state.dropLast())))
        server.remove(0x0001_0000)
        try expectRefusal(ask(0x0100, [.all], state))
    }

    // MARK: Both

    /// The records arrive completely with any MTU and client's limit, and no PDU exceeds the MTU.
    @Test(arguments: [48, 49, 64, 672, 65_535], [UInt16(7), 8, 100, 0xFFFF])
    func partsBecomeWhole(_ mtu: Int, _ limit: UInt16) throws {
        var server = Self.server()
        for channel in 10..<25 { server.add(.serialPort(channel: UInt8(channel))) }
        let queries: [SDPQuery] = [
            .search([.l2capProtocol]), .attributes(0x0001_0002, [.all]), .searchAttributes([.publicBrowseRoot], [.all]),
            .searchAttributes([.serialPort], [.init(.protocolDescriptorList)]),
        ]
        for query in queries {
            let result = try Self.run(query, SDPClient(maximumOctets: limit), server, mtu: mtu)
            switch (query, result) {
            case (.search, .handles(let handles)): #expect(handles == server.records.compactMap(\.handle))
            case (.attributes, .records(let records)): #expect(records == [server.records[2]])
            case (.searchAttributes(let pattern, _), .records(let records)) where pattern == [.publicBrowseRoot]:
                #expect(records == server.records)
            case (_, .records(let records)):
                #expect(records.map(\.rfcommChannel) == [1] + (10..<25).map { UInt8($0) })
            default: Issue.record("\(query) gave \(result)")
            }
        }
    }

    static func run(_ query: SDPQuery, _ client: SDPClient, _ server: SDPServer, mtu: Int) throws -> SDPResult {
        var client = client
        var actions = client.start(query, at: 0)
        while let action = actions.first {
            switch action {
            case .finished(let result):
                #expect(client.deadline == nil)
                return try result.get()
            case .send(let request):
                let response = try #require(server.receive(request, mtu: mtu))
                #expect(response.count <= mtu)
                actions = client.receive(response, at: 0)
            }
        }
        throw SDPFailure.endless
    }

    // MARK: Client

    /// Responses of a faulty server to the first request, transaction 1, for all attributes of a record.
    static let responses: [(String, [String], Result<Int, SDPFailure>?)] = [
        ("an empty list", ["05 0001 0005 0002 3500 00"], .success(1)),
        ("an error", ["01 0001 0002 0002"], .failure(.refused(.invalidRecordHandle))),
        ("another transaction", ["05 0002 0005 0002 3500 00"], nil),
        ("another kind of response", ["07 0001 0005 0002 3500 00"], .failure(.malformed)),
        ("a request", ["04 0001 000c 00010001 0100 3503 090001 00"], .failure(.malformed)),
        ("a count beyond the PDU", ["05 0001 0005 0004 3500 00"], .failure(.malformed)),
        ("half a list", ["05 0001 0004 0001 35 00"], .failure(.malformed)),
        ("a list with an ID alone", ["05 0001 0008 0005 3503 090001 00"], .failure(.malformed)),
        ("two lists", ["05 0001 0007 0004 3500 3500 00"], .failure(.malformed)),
        ("a part without anything in it", ["05 0001 0004 0000 01 aa"], .failure(.endless)),
        ("two parts", ["05 0001 0005 0001 35 01aa", "05 0002 0004 0001 00 00"], .success(1)),
        ("a part and no more", ["05 0001 0005 0001 35 01aa"], nil),
    ]

    @Test(arguments: responses)
    func responsesAreJudged(_ name: String, _ pdus: [String], _ wanted: Result<Int, SDPFailure>?) {
        var client = SDPClient()
        var actions = client.start(.attributes(0x0001_0000, [.all]), at: 5)
        #expect(client.deadline == 5 + SDPClient.timeOut)
        for pdu in pdus { actions = client.receive(octets(pdu), at: 6) }
        guard let wanted else {
            #expect(client.isBusy)
            let late = client.expire()
            #expect(late == [.finished(.failure(.timedOut))], "\(name)")
            return
        }
        let counted = actions.compactMap { action -> Result<Int, SDPFailure>? in
            guard case .finished(let result) = action else { return nil }
            return result.map { if case .records(let records) = $0 { records.count } else { -1 } }
        }
        #expect(counted == [wanted], "\(name)")
        #expect(!client.isBusy && client.deadline == nil)
    }

    /// A server that never ends is given up after 64 KiB.
    @Test func clientsAreBounded() {
        var client = SDPClient()
        _ = client.start(.searchAttributes([0x1002], [.all]), at: 0)
        var count: UInt16 = 0
        while client.isBusy, count < 2_000 {
            count += 1
            let part = SDP.ServiceSearchAttributeRsp(attributeLists: [UInt8](repeating: 0, count: 600), continuationState: [1])
            _ = client.receive(SDPPDU(.serviceSearchAttributeRsp(part), transaction: count).octets, at: 0)
        }
        #expect(count == 110)
    }

    // MARK: Records

    static let profiles: [(SDPRecord, [BluetoothUUID], UInt16?, UInt8?, BluetoothUUID?, UInt16?)] = [
        (.attributeService(from: 1, to: 0xFFFF), [0x1801], 0x001F, nil, nil, nil),
        (.serialPort(channel: 3), [0x1101], nil, 3, 0x1101, 0x0102),
        (.audio(isSink: false), [0x110A], 0x0019, nil, 0x110D, 0x0103),
        (.audio(isSink: true), [0x110B], 0x0019, nil, 0x110D, 0x0103),
        (.remoteControl(isTarget: true, hasBrowsing: true), [0x110C], 0x0017, nil, 0x110E, 0x0106),
        (.remoteControl(isTarget: false), [0x110E, 0x110F], 0x0017, nil, 0x110E, 0x0106),
        (.handsFree(channel: 30, features: 0), [0x111E, 0x1203], nil, 30, 0x111E, 0x0108),
        (.audioGateway(channel: 1, features: 0, version: 0x0109), [0x111F, 0x1203], nil, 1, 0x111E, 0x0109),
    ]

    @Test(arguments: profiles.indices)
    func recordsOfProfilesSayWhatClientsAskFor(_ index: Int) throws {
        let (record, classes, psm, channel, profile, version) = Self.profiles[index]
        #expect(record.serviceClasses == classes)
        #expect(record.psm == psm && record.rfcommChannel == channel)
        #expect(profile.flatMap { record.version(ofProfile: $0) } == version)
        #expect(record.matches([.l2capProtocol, .publicBrowseRoot]))
        #expect(SDPRecord(list: record.list) == record)
        #expect(record[.additionalProtocolDescriptorLists] != nil || index != 4)
    }
}
