import BBHCI
import BBHost
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBConformance

struct EndpointTests {
    /// LE Connection Complete of handle 64, and an ATT_READ_REQ on it.
    static let connected = HCIPacket(
        eventCode: 0x3E, parameters: [0x01, 0, 64, 0, 1, 0, 1, 2, 3, 4, 5, 6, 6, 0, 0, 0, 100, 0, 0])
    static let data = HCIPacket(.acl, [64, 0x20, 7, 0, 3, 0, 4, 0, 0x0A, 1, 0])

    /// Packets that a host would drop do not count as received.
    @Test(arguments: [([connected, data], 1, 0), ([data, connected], 0, 1), ([data, connected, data], 1, 1)])
    func dataCountsOnceItsConnectionIsKnown(_ packets: [HCIPacket], _ received: Int, _ stray: Int) throws {
        let loop = RunLoop()
        let pair = InProcessTransport.pair(name: "virtual", on: loop)
        let log = ObservationLog(loop: loop)
        let end = Endpoint(.subject, on: pair.host, log: log, recorder: try Recorder(path: nil), loop: loop)
        try end.start()
        for packet in packets { pair.controller.send(packet) }
        try loop.run { try await loop.sleep(for: 1_000) }
        #expect(log.observations.count { $0.name == "ATT_READ_REQ" } == received)
        #expect(end.strayData == stray)
    }

    // MARK: One queue and one count of buffers for a case and a host

    @Test func commandsOfACaseAndAHostGoInTurnAndAnswersFindTheirOwner() throws {
        let bench = try Bench()
        try bench.loop.run {
            bench.end.send(HCIPacket(command: HCICommands.LERand()))
            let step = bench.loop.start { try await bench.end.ask(HCICommands.ReadBDADDR()) }
            try await bench.loop.sleep(for: 10)
            #expect(bench.controller.opcodes == [HCICommands.LERand.opcode])
            bench.controller.say(HCIPacket(complete: HCICommands.LERand.self, .init()))
            try await bench.loop.sleep(for: 10)
            #expect(bench.controller.opcodes == [HCICommands.LERand.opcode, HCICommands.ReadBDADDR.opcode])
            bench.controller.say(HCIPacket(complete: HCICommands.ReadBDADDR.self, .init(), credits: 3))
            let reply = try await step.value()
            #expect(reply.commandNumber == 3 && reply.number == 4 && !reply.isStatus)
            #expect(bench.host.packets.map(\.completedOpcode) == [HCICommands.LERand.opcode, CommandQueue.noCommand])
        }
    }

    @Test func aHostThatGaveUpACommandDoesNotBlockTheNext() throws {
        let bench = try Bench()
        try bench.loop.run {
            bench.end.send(HCIPacket(command: HCICommands.LERand()))
            try await bench.loop.sleep(for: Host.commandTimeOut - 1)
            bench.end.send(HCIPacket(command: HCICommands.ReadBDADDR()))
            try await bench.loop.sleep(for: 1)
            #expect(bench.controller.opcodes == [HCICommands.LERand.opcode])
            bench.end.send(HCIPacket(command: HCICommands.ReadBufferSize()))
            try await bench.loop.sleep(for: 1)
            #expect(bench.controller.opcodes == [HCICommands.LERand.opcode, HCICommands.ReadBDADDR.opcode])
        }
    }

    @Test func buffersAreSharedAndCreditsForNothingAreCounted() throws {
        let bench = try Bench()
        try bench.loop.run {
            bench.end.setBuffers([ACLBuffers(fragmentLength: 27, total: 2)])
            bench.controller.say(Self.connected)
            try await bench.loop.sleep(for: 10)
            bench.end.send(HCIPacket(acl: 64, .firstNonFlushable, [1, 0, 4, 0, 0x0A]))
            bench.end.sendFrame([UInt8](repeating: 7, count: 40), channel: 4, handle: 64)
            try await bench.loop.sleep(for: 10)
            #expect(bench.controller.data.map(\.bytes.count) == [9, 31])
            bench.controller.say(Self.completed(1))
            try await bench.loop.sleep(for: 10)
            #expect(bench.controller.data.map(\.bytes.count) == [9, 31, 21])
            bench.controller.say(Self.completed(5))
            try await bench.loop.sleep(for: 10)
            #expect(bench.end.strayCredits == 3)
        }
    }

    /// The buffers that a report frees are used at once; what is sent then does not count as outstanding before the report. Core Vol 4,
    /// Part E, 7.7.19.
    @Test(arguments: [(1, false), (2, true)] as [(UInt16, Bool)])
    func aReportIsJudgedByWhatWasOutstandingBeforeIt(_ count: UInt16, _ isViolation: Bool) throws {
        let bench = try Bench()
        try bench.loop.run {
            bench.end.send(HCIPacket(command: HCICommands.Reset()))
            try await bench.loop.sleep(for: 10)
            bench.controller.say(HCIPacket(complete: HCICommands.Reset.self, .init(status: .success)))
            bench.controller.say(Self.connected)
            try await bench.loop.sleep(for: 10)
            bench.end.sendFrame([UInt8](repeating: 7, count: 40), channel: 4, handle: 64)
            try await bench.loop.sleep(for: 10)
            bench.controller.say(Self.completed(count))
            try await bench.loop.sleep(for: 10)
            #expect(bench.controller.data.count == 2 && (bench.end.violation != nil) == isViolation)
        }
    }

    /// A stopped run still closes its link; with a controller that does not answer, it waits for a limited time only.
    @Test(arguments: [true, false])
    func aCancelledCaseLeavesItsConnections(_ answers: Bool) throws {
        let bench = try Bench()
        try bench.loop.run {
            bench.controller.say(Self.connected)
            try await bench.loop.sleep(for: 10)
            let leaving = bench.loop.start { await bench.end.leaveConnections() }
            leaving.cancel()
            try await bench.loop.sleep(for: .milliseconds(100))
            #expect(bench.controller.opcodes == [HCICommands.Disconnect.opcode])
            if answers {
                bench.controller.say(HCIPacket(statusOpcode: HCICommands.Disconnect.opcode, .success))
                try await bench.loop.sleep(for: .milliseconds(100))
                #expect(!leaving.isOver)
                bench.controller.say(HCIPacket(.event, [0x05, 4, 0, 64, 0, 0x16]))
            }
            await leaving.ended()
            #expect(bench.end.tracker[64] == nil || !answers)
            #expect(bench.loop.now < .seconds(1))
        }
    }

    static func completed(_ count: UInt16) -> HCIPacket {
        HCIPacket(event: HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: 64, numCompletedPackets: count)]))
    }

    private final class Far: HCITransportSink {
        var packets: [HCIPacket] = []
        var opcodes: [UInt16] { packets.compactMap(\.commandOpcode) }
        var data: [HCIPacket] { packets.filter { $0.kind == .acl } }
        var end: InProcessTransport?

        func say(_ packet: HCIPacket) { end?.send(packet) }
        func received(_ packet: HCIPacket, at time: Microseconds) { packets.append(packet) }
        func closed(_ reason: TransportError) {}
    }

    /// An endpoint between a controller and a host that only record packets.
    private struct Bench {
        let loop = RunLoop()
        let end: Endpoint
        let controller = Far()
        let host = Far()

        init() throws {
            let pair = InProcessTransport.pair(name: "virtual", on: loop)
            end = Endpoint(.subject, on: pair.host, log: ObservationLog(loop: loop), recorder: try Recorder(path: nil), loop: loop)
            controller.end = pair.controller
            try pair.controller.open(controller)
            try end.start()
            try end.open(host)
        }
    }
}
