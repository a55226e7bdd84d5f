import BBPackets
import BBTiming
import BBTransport
import Testing

@Suite struct InProcessTransportTests {
    private final class Sink: HCITransportSink {
        var packets: [HCIPacket] = []
        var times: [Microseconds] = []
        var reason: TransportError?
        var onPacket: ((HCIPacket) -> Void)?
        func received(_ packet: HCIPacket, at time: Microseconds) {
            packets.append(packet)
            times.append(time)
            onPacket?(packet)
        }
        func closed(_ reason: TransportError) { self.reason = reason }
    }

    @Test func packetsCrossInOrderAfterTheLatencyAndNeverWithinSend() throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop, latency: 25)
        let hostSink = Sink()
        let controllerSink = Sink()
        controllerSink.onPacket = { controller.send(HCIPacket(.event, $0.bytes)) }
        try host.open(hostSink)
        try controller.open(controllerSink)
        try loop.run {
            for octet in 0..<3 { host.send(HCIPacket(.command, [UInt8(octet)])) }
            #expect(controllerSink.packets.isEmpty)
            try await loop.sleep(for: 51)
        }
        #expect(hostSink.packets.map(\.bytes) == [[0], [1], [2]])
        #expect(hostSink.times == [50, 50, 50])
    }

    @Test func whatArrivedBeforeOpeningIsDeliveredAndClosingIsHeardOnce() throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let sink = Sink()
        try loop.run {
            controller.send(HCIPacket(.event, [1]))
            try host.open(sink)
            controller.send(HCIPacket(.event, [2]))
            try await loop.sleep(for: 1)
            controller.send(HCIPacket(.event, [3]))
            controller.close()
            controller.send(HCIPacket(.event, [4]))
            try await loop.sleep(for: 1)
        }
        #expect(sink.packets.map(\.bytes) == [[1], [2], [3]])
        #expect(sink.reason == .lost("virtual"))
        #expect(throws: TransportError.lost("virtual")) { try controller.open(sink) }
    }
}
