import BBL2CAP
import BBPackets
import Testing

@testable import BBTraffic

/// Packets of one controller, by seconds, and what the follower makes of them. The handle of the connection is 0x0040.
private struct Course: Sendable, CustomTestStringConvertible {
    enum Packet: Sendable {
        case command(any HCICommand)
        case event(any HCIEvent)
        /// Command Status.
        case status(UInt16, ErrorCode)
        /// Command Complete without further values.
        case complete(UInt16, ErrorCode)
        /// A PDU of ATT to the controller or from it.
        case out(any ATTPDU)
        case back(any ATTPDU)
    }

    var testDescription: String
    var packets: [(Int64, Packet)]
    var expected: [String]

    init(_ description: String, opens: Bool = true, _ packets: [(Int64, Packet)], _ expected: String...) {
        testDescription = description
        self.packets = (opens ? [(0, .event(opened()))] : []) + packets
        self.expected = (opens ? ["opened", "parameters 24 0 500"] : []) + expected
    }
}

private let handle: ConnectionHandle = 0x0040
private func opened(_ role: ConnectionRole = .central) -> HCIEvents.LEConnectionComplete {
    HCIEvents.LEConnectionComplete(
        status: .success, connectionHandle: handle, role: role, peerAddressType: .publicDevice, peerAddress: 0x0605_0403_0201,
        connectionInterval: 24, peripheralLatency: 0, supervisionTimeout: 500)
}

private let setPHY = HCICommands.LESetPHY(connectionHandle: handle, txPHYs: [.le2M], rxPHYs: [.le2M])
private let phyChanged = HCIEvents.LEPHYUpdateComplete(status: .success, connectionHandle: handle, txPHY: 2, rxPHY: 1)
private let lengthChanged = HCIEvents.LEDataLengthChange(
    connectionHandle: handle, maxTXOctets: 251, maxTXTime: 2_120, maxRXOctets: 27, maxRXTime: 328)
private let ended = HCIEvents.DisconnectionComplete(status: .success, connectionHandle: handle, reason: .connectionTimeout)
private let read = ATT.ReadReq(attributeHandle: 3)

private let courses = [
    Course(
        "a PHY update", [(1, .command(setPHY)), (2, .status(0x2032, .success)), (3, .event(phyChanged))], "phys le2M le1M"),
    Course(
        "a PHY update that is refused", [(1, .command(setPHY)), (2, .status(0x2032, .commandDisallowed))]),
    Course(
        "a PHY update that nothing completes", [(1, .command(setPHY)), (2, .status(0x2032, .success)), (9, .event(ended))],
        "left open LE_Set_PHY", "disconnected Connection_Timeout"),
    Course(
        "a PHY update that is refused by Command Complete",
        [(1, .command(setPHY)), (2, .complete(HCICommands.LESetPHY.opcode, .unknownHCICommand)), (9, .event(ended))],
        "disconnected Connection_Timeout"),
    Course(
        "a voice connection, whose event has a handle of its own",
        [
            (1, .command(HCICommands.SetupSynchronousConnection(connectionHandle: handle))), (2, .status(0x0428, .success)),
            (3, .event(HCIEvents.SynchronousConnectionComplete(connectionHandle: 0x0041))), (9, .event(ended)),
        ], "disconnected Connection_Timeout"),
    Course("a reset", [(1, .command(HCICommands.Reset())), (2, .complete(HCICommands.Reset.opcode, .success))], "reset"),
    Course("data length", [(1, .event(lengthChanged))], "length 251 27"),
    Course(
        "parameters",
        [
            (
                1,
                .event(
                    HCIEvents.LEConnectionUpdateComplete(
                        status: .success, connectionHandle: handle, connectionInterval: 6, peripheralLatency: 1, supervisionTimeout: 100))
            )
        ], "parameters 6 1 100"),
    Course(
        "encryption",
        [
            (1, .event(HCIEvents.EncryptionChange(status: .success, connectionHandle: handle, encryptionEnabled: 1))),
            (2, .event(HCIEvents.EncryptionKeyRefreshComplete(status: .success, connectionHandle: handle))),
            (3, .event(HCIEvents.EncryptionChange(status: .success, connectionHandle: handle, encryptionEnabled: 0))),
        ], "encrypted", "encrypted", "in clear"),
    Course(
        "a request and its response", [(1, .out(read)), (2, .back(ATT.ReadRsp(attributeValue: [5])))]),
    Course(
        "a request that is refused", [(1, .out(read)), (2, .back(ATT.ErrorRsp(requestOpcodeInError: 0x0A)))]),
    Course(
        "an answer that comes twice",
        [
            (1, .out(read)), (2, .back(ATT.ReadRsp())), (3, .out(ATT.ExchangeMTUReq())), (4, .back(ATT.ReadRsp())),
            (5, .back(ATT.ExchangeMTURsp())),
        ], "11 answers ATT_READ_REQ again", "mtu 23"),
    Course(
        "an answer to another request", [(1, .out(read)), (2, .back(ATT.WriteRsp()))], "19 does not answer ATT_READ_REQ"),
    Course("a response without a request", [(1, .back(ATT.ReadRsp(attributeValue: [5])))], "unasked 11"),
    Course(
        "a confirmation while a request waits",
        [(1, .back(ATT.HandleValueInd(attributeHandle: 3))), (2, .out(read)), (3, .out(ATT.HandleValueCfm()))],
        "left open ATT_READ_REQ"),
    Course(
        "the MTU", [(1, .out(ATT.ExchangeMTUReq(clientRxMTU: 247))), (2, .back(ATT.ExchangeMTURsp(serverRxMTU: 185)))], "mtu 185"),
    Course(
        "a request that waits for too long", [(1, .out(read)), (40, .event(lengthChanged))], "length 251 27",
        "left open ATT_READ_REQ"),
    Course(
        "two requests at once", [(1, .out(read)), (2, .out(ATT.ExchangeMTUReq())), (3, .back(ATT.ReadRsp())), (4, .event(ended))],
        "ATT_EXCHANGE_MTU_REQ before the answer to ATT_READ_REQ", "left open ATT_EXCHANGE_MTU_REQ", "disconnected Connection_Timeout"),
    Course(
        "a link whose end is missing",
        [
            (1, .command(HCICommands.Disconnect(connectionHandle: handle))),
            (2, .status(HCICommands.Disconnect.opcode, .unknownConnectionIdentifier)),
        ], "end missed"),
    Course("the same handle again", [(1, .event(opened()))], "replaced", "opened", "parameters 24 0 500"),
    Course(
        "a link that was open before", opens: false, [(1, .out(read)), (2, .event(phyChanged))], "opened", "phys le2M le1M",
        "left open ATT_READ_REQ"),
    Course("an event of an unknown connection", opens: false, [(1, .event(phyChanged)), (2, .event(ended))]),
]

@Suite struct HCIFollowerTests {
    @Test(arguments: courses) fileprivate func linksAreFollowed(_ course: Course) {
        var follower = HCIFollower()
        var links: [Link] = []
        var log: [String] = []
        for (index, (second, packet)) in course.packets.enumerated() {
            let moment = Moment(packet: index + 1, time: second * 1_000_000)
            let followed = Self.follow(packet, &follower, at: moment)
            let events = followed.before + followed.after
            links += events.filter { $0.kind == .opened }.map(\.link)
            log += (events + links.flatMap { $0.overdue(at: moment.time, isEnd: false) }).map(\.words)
        }
        let end = (course.packets.last?.0 ?? 0) * 1_000_000
        log += links.flatMap { $0.overdue(at: end, isEnd: true) }.map(\.words)
        #expect(log == course.expected)
    }

    private static func follow(_ packet: Course.Packet, _ follower: inout HCIFollower, at moment: Moment) -> Followed {
        func event(_ event: some HCIEvent) -> Followed { follower.received(HCIPacket(event: event), at: moment) }
        func command(_ command: some HCICommand) -> Followed { follower.sent(HCIPacket(command: command), at: moment) }
        func data(_ pdu: some ATTPDU, isOut: Bool) -> Followed {
            let bytes = pdu.bytes
            let acl = HCIPacket(.acl, [0x40, 0x20, UInt8(bytes.count + 4), 0, UInt8(bytes.count), 0, 4, 0] + bytes)
            let layer = DecodedLayer(layer: .att, acl.bytes, 8..<acl.bytes.count)
            return follower.data(acl, isOut: isOut, [layer], on: CID.att, at: moment)
        }
        switch packet {
        case .command(let value): return command(value)
        case .event(let value): return event(value)
        case .status(let opcode, let status): return follower.received(HCIPacket(statusOpcode: opcode, status), at: moment)
        case .complete(let opcode, let status):
            return follower.received(HCIPacket(completeOpcode: opcode, returns: [status.rawValue]), at: moment)
        case .out(let pdu): return data(pdu, isOut: true)
        case .back(let pdu): return data(pdu, isOut: false)
        }
    }

    @Test func commandsWithoutAnAnswerAreReportedOnce() {
        var follower = HCIFollower()
        let (reset, leave) = (HCIPacket(command: HCICommands.Reset()), HCIPacket(command: setPHY))
        _ = follower.sent(reset, at: Moment(packet: 1, time: 0))
        _ = follower.received(HCIPacket(completeOpcode: HCICommands.Reset.opcode, returns: [0]), at: Moment(packet: 2, time: 1))
        _ = follower.sent(leave, at: Moment(packet: 3, time: 2))
        _ = follower.sent(HCIPacket(command: HCICommands.HostNumberOfCompletedPackets()), at: Moment(packet: 4, time: 3))
        #expect(follower.unanswered(at: 1_000_000).isEmpty)
        #expect(follower.unanswered(at: 6_000_000).map(\.name) == [HCICommands.LESetPHY.name])
        #expect(follower.unanswered(at: 9_000_000).isEmpty)
    }

    @Test func aPeerThatAdvertisesIsNoted() throws {
        var follower = HCIFollower()
        let link = try #require(follower.received(HCIPacket(event: opened()), at: Moment(packet: 1, time: 0)).before.first?.link)
        for (time, address) in [(1, 1), (2, 0x0605_0403_0201)] as [(Int64, BDADDR)] {
            let report = HCIEvents.LEAdvertisingReport(reports: [.init(address: address)])
            _ = follower.received(HCIPacket(event: report), at: Moment(packet: 2, time: time))
            #expect(link.signs.advertised == (time == 1 ? nil : 2))
        }
    }

    @Test func advertisingAllAlongIsNoted() throws {
        var follower = HCIFollower()
        let link = try #require(follower.received(HCIPacket(event: opened()), at: Moment(packet: 1, time: 0)).before.first?.link)
        let report = HCIPacket(event: HCIEvents.LEAdvertisingReport(reports: [.init(address: 0x0605_0403_0201)]))
        _ = follower.received(report, at: Moment(packet: 2, time: 1))
        _ = follower.received(
            HCIPacket(event: HCIEvents.LEPHYUpdateComplete(status: .connectionTimeout, connectionHandle: handle)),
            at: Moment(packet: 3, time: 2))
        #expect(link.signs.advertised == 1 && link.signs.last.time == 0)
        _ = follower.received(HCIPacket(event: lengthChanged), at: Moment(packet: 4, time: 3))
        #expect(link.signs.advertised == nil && link.signs.advertisesAlways)
    }

    @Test func dataAfterTheEndOpenNoLink() {
        var follower = HCIFollower()
        let packet = HCIPacket(.acl, [0x40, 0x00, 1, 0, 5])
        _ = follower.received(HCIPacket(event: opened()), at: Moment(packet: 1, time: 0))
        _ = follower.received(HCIPacket(event: ended), at: Moment(packet: 2, time: 1))
        let followed = follower.data(packet, isOut: false, [], on: nil, at: Moment(packet: 3, time: 2))
        #expect(followed.ended == Moment(packet: 2, time: 1) && followed.before.isEmpty)
    }

    @Test func dataBeforeTheirConnectionAreEarly() {
        var follower = HCIFollower()
        _ = follower.data(HCIPacket(.acl, [0x40, 0x00, 1, 0, 5]), isOut: false, [], on: nil, at: Moment(packet: 1, time: 0))
        let followed = follower.received(HCIPacket(event: opened()), at: Moment(packet: 2, time: 1_500))
        #expect(followed.before.map(\.words) == ["early", "opened", "parameters 24 0 500"])
    }

    @Test func aProcedureWithoutAnEndIsReportedOnce() {
        var follower = HCIFollower()
        _ = follower.sent(HCIPacket(command: HCICommands.RemoteNameRequest()), at: Moment(packet: 1, time: 0))
        _ = follower.received(HCIPacket(statusOpcode: HCICommands.RemoteNameRequest.opcode, .success), at: Moment(packet: 2, time: 1))
        #expect(follower.incomplete(at: 100_000_000).isEmpty)
        #expect(follower.incomplete(at: 126_000_000).map(\.name) == [HCICommands.RemoteNameRequest.name])
        #expect(follower.incomplete(at: 127_000_000).isEmpty)
    }

    @Test func buffersThatAreNotFreedStall() throws {
        var follower = HCIFollower()
        let link = try #require(follower.received(HCIPacket(event: opened()), at: Moment(packet: 1, time: 0)).before.first?.link)
        let packet = HCIPacket(.acl, [0x40, 0x00, 1, 0, 5])
        for time in [1, 2] as [Int64] {
            _ = follower.data(packet, isOut: true, [], on: nil, at: Moment(packet: 2, time: time))
        }
        let completed = HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: handle, numCompletedPackets: 1)])
        _ = follower.received(HCIPacket(event: completed), at: Moment(packet: 4, time: 3))
        #expect(link.buffers.outstanding == 1)
        #expect(follower.stalled(at: 4_000_000).isEmpty)
        #expect(follower.stalled(at: 6_000_000).map(\.words) == ["stalled"])
        #expect(follower.stalled(at: 7_000_000).isEmpty)
    }
}

extension LinkEvent {
    /// The event in a few words.
    var words: String {
        switch kind {
        case .opened: "opened"
        case .parameters: link.parameters.map { "parameters \($0.interval) \($0.latency) \($0.supervisionTimeout)" } ?? "no parameters"
        case .phys: "phys \(link.phys.central) \(link.phys.peripheral)"
        case .length: "length \(link.octets.central) \(link.octets.peripheral)"
        case .mtu: "mtu \(link.mtu ?? 0)"
        case .encryption(let isOn, let status): status != .success ? "not encrypted" : isOn ? "encrypted" : "in clear"
        case .unasked(let opcode): "unasked \(opcode)"
        case .repeated(let answer, let request): "\(answer) answers \(request.name) again"
        case .misfit(let answer, let request): "\(answer) does not answer \(request.name)"
        case .leftOpen(let request): "left open \(request.name)"
        case .overlapping(let first, let second): "\(second.name) before the answer to \(first.name)"
        case .endMissed: "end missed"
        case .stalled: "stalled"
        case .gap: "gap"
        case .ended(.disconnected(let reason)): "disconnected \(reason)"
        case .ended(.terminated(let sender, _)): "terminated by \(sender.map { "\($0)" } ?? "unknown")"
        case .ended(.silent): "silent"
        case .ended(.replaced): "replaced"
        case .ended(.early): "early"
        case .ended(.reset): "reset"
        }
    }
}
