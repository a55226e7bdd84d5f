import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBVirtualDongle

/// A scripted controller: records received packets and sends given ones.
private final class ScriptedController: HCITransportSink {
    let pipe: any HCITransport
    var received: [HCIPacket] = []

    init(_ pipe: any HCITransport) throws {
        self.pipe = pipe
        try pipe.open(self)
    }

    func received(_ packet: HCIPacket, at time: Microseconds) { received.append(packet) }
    func closed(_ reason: TransportError) {}
}

private final class Bench {
    let loop = RunLoop()
    let controller: ScriptedController
    let dongle: USBDongle
    var completions: [USBCompletion] = []

    init() throws {
        let (host, controllerEnd) = InProcessTransport.pair(on: loop)
        controller = try ScriptedController(controllerEnd)
        dongle = try USBDongle(descriptors: DongleDescriptors(serialNumber: "BB-1"), pipe: host, loop: loop)
        dongle.complete = { [unowned self] in completions.append($0) }
    }

    func settle(_ time: Microseconds = 10) throws { try loop.run { [loop] in try await loop.sleep(for: time) } }

    func control(_ setup: [UInt8], data: [UInt8] = []) -> USBCompletion? {
        dongle.submit(USBRequest(id: 99, endpoint: 0, isIn: setup[0] & 0x80 != 0, setup: setup, data: data, length: 255))
        return completions.popLast()
    }
}

@Suite struct USBDongleTests {
    @Test func descriptorsAreWellFormedAndAnnounceBluetooth() throws {
        let bench = try Bench()
        let device = try #require(bench.control([0x80, 6, 0, 1, 0, 0, 18, 0]))
        #expect(device.data.count == 18)
        #expect(Array(device.data[4..<7]) == [0xE0, 0x01, 0x01])
        let configuration = try #require(bench.control([0x80, 6, 0, 2, 0, 0, 255, 0])).data
        #expect(Int(configuration[2]) + Int(configuration[3]) << 8 == configuration.count)
        var walked = 0
        var kinds: [UInt8: Int] = [:]
        while walked < configuration.count {
            kinds[configuration[walked + 1], default: 0] += 1
            walked += Int(configuration[walked])
        }
        #expect(walked == configuration.count)
        #expect(kinds == [2: 1, 4: 8, 5: 17])
        #expect(try #require(bench.control([0x80, 6, 3, 3, 9, 4, 255, 0])).data == [10, 3, 0x42, 0, 0x42, 0, 0x2D, 0, 0x31, 0])
        #expect(try #require(bench.control([0x80, 6, 9, 3, 9, 4, 255, 0])).status == .stall)
    }

    /// A packet has the voice length of its setting, whatever packet length the controller uses, and starts in a new frame. Core Vol 4,
    /// Part B, 2.1.1.
    @Test(arguments: [(1, 9, 24), (2, 17, 48), (3, 25, 72), (4, 33, 96), (5, 49, 144), (6, 63, 60)])
    func voiceIsCutToItsSetting(alternate: UInt8, frameSize: Int, octets: Int) throws {
        var voice = InboundVoice(alternate: alternate, frameSize: frameSize)
        let sent = (0..<300).map { UInt8($0 & 0xFF) }
        for start in stride(from: 0, to: sent.count, by: 30) {
            for handle in [1, 2] as [ConnectionHandle] {
                let packet = HCIData.SynchronousData(connectionHandle: handle, data: Array(sent[start..<start + 30]))
                let isKept = voice.put(HCIPacket(.sco, packet.parameters))
                #expect(isKept)
            }
        }
        var heard: [ConnectionHandle: [UInt8]] = [:]
        let frames = alternate == 6 ? 1 : 3
        for _ in 0..<2 * (300 / octets) {
            let (bytes, moved) = voice.take([Int](repeating: frameSize, count: frames))
            #expect(moved == [Int](repeating: frameSize, count: frames))
            let packet = try HCIData.SynchronousData(parameters: bytes)
            #expect(packet.data.count == octets)
            heard[packet.connectionHandle, default: []] += packet.data
        }
        #expect(heard.count == 2 && heard.values.allSatisfy { $0 == Array(sent.prefix(300 / octets * octets)) })
        let rest = voice.take([frameSize]).data
        #expect(rest.isEmpty)
    }

    @Test(arguments: [UInt8(0x20), 0x21])
    func aClassRequestIsACommand(requestType: UInt8) throws {
        let bench = try Bench()
        let reset: [UInt8] = [0x03, 0x0C, 0x00]
        #expect(bench.control([requestType, 0, 0, 0, 0, 0, 3, 0], data: reset)?.status == .success)
        try bench.settle()
        #expect(bench.controller.received == [HCIPacket(.command, reset)])
    }

    /// Request size, event length, expected pieces: a request ends when it is full or the event ends.
    @Test(arguments: [(16, 7, [7]), (16, 16, [16]), (16, 40, [16, 16, 8]), (64, 32, [32]), (260, 257, [257])])
    func eventsComeInPieces(size: Int, length: Int, pieces: [Int]) throws {
        let bench = try Bench()
        for id in 0..<6 { bench.dongle.submit(USBRequest(id: UInt32(id), endpoint: 1, isIn: true, length: size)) }
        let event = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        bench.controller.pipe.send(HCIPacket(.event, event))
        try bench.settle()
        #expect(bench.completions.map(\.data.count) == pieces)
        #expect(bench.completions.flatMap(\.data) == event)
        #expect(bench.completions.map(\.id) == pieces.indices.map(UInt32.init))
    }

    @Test func dataIsReassembledFromAnyPieces() throws {
        let bench = try Bench()
        let packets: [[UInt8]] = [[0x40, 0x20, 3, 0, 1, 2, 3], [0x41, 0x20, 0, 0], [0x40, 0x10, 1, 0, 9]]
        let stream = packets.flatMap { $0 }
        for cut in 0...stream.count {
            bench.controller.received = []
            bench.dongle.submit(USBRequest(id: 1, endpoint: 2, isIn: false, data: Array(stream[..<cut])))
            bench.dongle.submit(USBRequest(id: 2, endpoint: 2, isIn: false, data: Array(stream[cut...])))
            try bench.settle()
            #expect(bench.controller.received == packets.map { HCIPacket(.acl, $0) })
        }
    }

    @Test func cancelledRequestsGetNoAnswerAndUnpluggedOnesGetOne() throws {
        let bench = try Bench()
        for id in 1...3 { bench.dongle.submit(USBRequest(id: UInt32(id), endpoint: id == 3 ? 2 : 1, isIn: true, length: 16)) }
        #expect(bench.dongle.cancel(1))
        #expect(!bench.dongle.cancel(1))
        bench.dongle.unplug()
        bench.dongle.submit(USBRequest(id: 4, endpoint: 1, isIn: true, length: 16))
        #expect(bench.completions.map(\.id) == [2, 3, 4])
        #expect(bench.completions.allSatisfy { $0.status == .shutdown })
    }

    @Test func aHaltedEndpointStallsUntilCleared() throws {
        let bench = try Bench()
        _ = bench.control([0x02, 3, 0, 0, 0x81, 0, 0, 0])
        bench.dongle.submit(USBRequest(id: 1, endpoint: 1, isIn: true, length: 16))
        #expect(bench.completions.popLast()?.status == .stall)
        _ = bench.control([0x02, 1, 0, 0, 0x81, 0, 0, 0])
        bench.dongle.submit(USBRequest(id: 2, endpoint: 1, isIn: true, length: 16))
        #expect(bench.completions.isEmpty)
    }

    @Test func voiceRequestsTakeAFrameAPacketAndOnlyWithAnAlternateSetting() throws {
        let bench = try Bench()
        let request = USBRequest(id: 1, endpoint: 3, isIn: true, length: 27, packetLengths: [9, 9, 9])
        bench.dongle.submit(request)
        #expect(bench.completions.popLast()?.status == .noEndpoint)
        #expect(bench.control([0x01, 11, 1, 0, 1, 0, 0, 0])?.status == .success)
        #expect(bench.control([0x01, 11, 7, 0, 1, 0, 0, 0])?.status == .stall)
        bench.dongle.submit(request)
        try bench.settle(2_999)
        #expect(bench.completions.isEmpty)
        try bench.settle(2)
        #expect(bench.completions.last?.packetLengths == [0, 0, 0])
    }

    @Test func pendingRequestsAreBounded() throws {
        let bench = try Bench()
        for id in 0..<300 { bench.dongle.submit(USBRequest(id: UInt32(id), endpoint: 1, isIn: true, length: 16)) }
        #expect(bench.completions.count == 44)
        #expect(bench.completions.allSatisfy { $0.status == .noMemory })
    }

    @Test func aPortResetForgetsThePast() throws {
        let bench = try Bench()
        bench.controller.pipe.send(HCIPacket(.event, [0x05, 0x04, 0, 0x40, 0, 0x08]))
        try bench.settle()
        bench.dongle.reset()
        bench.dongle.submit(USBRequest(id: 1, endpoint: 1, isIn: true, length: 64))
        bench.controller.pipe.send(HCIPacket(.event, [0x05, 0x04, 0, 0x40, 0, 0x08]))
        bench.controller.pipe.send(HCIPacket(.event, [0x0E, 0x04, 1, 0x03, 0x0C, 0]))
        bench.controller.pipe.send(HCIPacket(.event, [0x10, 0x01, 7]))
        try bench.settle()
        #expect(bench.completions.map(\.data) == [[0x10, 0x01, 7]])
        #expect(bench.controller.received.map(\.bytes) == [[0x03, 0x0C, 0x00]])
    }
}
