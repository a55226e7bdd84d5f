import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBVirtualDongle

/// Bulk Serialization mode of a virtual dongle. Core Vol 4, Part B, 1.1, 2.1.1, 2.2 and 7.
@Suite struct SerialisedDongleTests {
    /// A dongle between a host that makes requests and a controller that records packets.
    private final class Bench: HCITransportSink {
        let loop = RunLoop()
        let controller: any HCITransport
        let dongle: USBDongle
        var received: [HCIPacket] = []
        var completions: [USBCompletion] = []
        private var nextID: UInt32 = 0

        init(_ quirks: [String] = []) throws {
            let (host, end) = InProcessTransport.pair(on: loop)
            controller = end
            let conduct = try DongleConduct(["serialised-mode"] + quirks)
            dongle = try USBDongle(descriptors: conduct.describe(serialNumber: "1"), pipe: host, loop: loop, conduct: conduct.usb)
            dongle.complete = { [unowned self] in completions.append($0) }
            try end.open(self)
        }

        func received(_ packet: HCIPacket, at time: Microseconds) { received.append(packet) }
        func closed(_ reason: TransportError) {}

        func settle() throws { try loop.run { [loop] in try await loop.sleep(for: 10) } }

        func control(_ setup: [UInt8], _ data: [UInt8] = []) -> USBStatus? {
            nextID += 1
            dongle.submit(USBRequest(id: nextID, endpoint: 0, isIn: setup[0] & 0x80 != 0, setup: setup, data: data, length: 255))
            return completions.first { $0.id == nextID }?.status
        }

        func select(_ alternate: UInt8, of interface: UInt8 = 0) -> USBStatus? { control([1, 11, alternate, 0, interface, 0, 0, 0]) }

        func write(_ octets: [UInt8]) {
            nextID += 1
            dongle.submit(USBRequest(id: nextID, endpoint: 2, isIn: false, data: octets))
        }

        /// Octets of the transfers that reads of an endpoint bring.
        func read(_ endpoint: UInt8, _ count: Int = 8, length: Int = 1_024) -> [[UInt8]] {
            let ids = (0..<count).map { _ in
                nextID += 1
                dongle.submit(USBRequest(id: nextID, endpoint: endpoint, isIn: true, length: length))
                return nextID
            }
            defer { for id in ids { dongle.cancel(id) } }
            return completions.filter { ids.contains($0.id) && $0.status == .success }.map(\.data)
        }
    }

    private static let event = HCIPacket(.event, [0x13, 5, 1, 0x40, 0, 1, 0])
    private static let data = HCIPacket(.acl, [0x40, 0x20, 2, 0, 1, 2])
    private static let voice = HCIPacket(.sco, [0x41, 0, 1, 7])
    private static let stream = HCIPacket(.iso, [0x42, 0x20, 1, 0, 9])
    private static let reset = HCIPacket(.command, [3, 12, 0])

    @Test func allKindsUseTheBulkEndpoints() throws {
        let bench = try Bench()
        #expect(bench.select(1) == .success && bench.dongle.isSerialised)
        let toHost = [Self.event, Self.data, Self.voice, Self.stream]
        for packet in toHost { bench.controller.send(packet) }
        try bench.settle()
        #expect(bench.read(2) == toHost.map(\.serialised))
        let toController = [Self.reset, Self.data, Self.voice, Self.stream]
        for packet in toController { bench.write(packet.serialised) }
        try bench.settle()
        #expect(bench.received == toController)
        #expect(bench.read(1).isEmpty && bench.completions.last?.status == .noEndpoint)
    }

    @Test func whatIsPendingAtASwitchKeepsItsOrder() throws {
        let bench = try Bench()
        let long = HCIPacket(.event, [0xFF, 30] + (0..<30).map { UInt8($0) })
        let order = [long, Self.data, Self.event, Self.data, Self.event]
        for packet in order { bench.controller.send(packet) }
        try bench.settle()
        // The first event has been fetched in part.
        #expect(bench.read(1, 1, length: 16).map(\.count) == [16])
        #expect(bench.select(1) == .success)
        #expect(bench.read(2, 2) == order.prefix(2).map(\.serialised))
        #expect(bench.select(0) == .success)
        #expect(bench.read(1) == order.dropFirst(2).filter { $0.kind == .event }.map(\.bytes))
        #expect(bench.read(2) == [Self.data.bytes])
        #expect(bench.dongle.modeSwitches == 2)
    }

    /// Only the defect named loses anything, and only its kind.
    @Test(arguments: [("events-lost", [data, data]), ("lost", []), ("reversed", [event, data, event, data])])
    func whatIsPendingAtASwitchIsTreatedAsTheQuirkSays(word: String, expected: [HCIPacket]) throws {
        let bench = try Bench(["switch-packets=\(word)"])
        for packet in [Self.data, Self.event, Self.data, Self.event] { bench.controller.send(packet) }
        try bench.settle()
        #expect(bench.select(1) == .success)
        #expect(bench.read(2) == expected.map(\.serialised))
    }

    /// A packet that fills its USB packets ends no read of more: the next one does, and a cancelled read loses none.
    @Test func anOpenTransferGoesOnWithTheNextPacket() throws {
        let bench = try Bench(["open-transfers"])
        let full = HCIPacket(.acl, [0x40, 0x20, 59, 0] + [UInt8](repeating: 4, count: 59))
        #expect(bench.select(1) == .success)
        bench.controller.send(full)
        try bench.settle()
        #expect(bench.read(2).isEmpty && bench.read(2, 1, length: 64) == [full.serialised])
        for packet in [full, full, Self.event] { bench.controller.send(packet) }
        try bench.settle()
        #expect(bench.read(2) == [full.serialised + full.serialised + Self.event.serialised])
        bench.controller.send(full)
        try bench.settle()
        #expect(bench.read(2).isEmpty && bench.select(0) == .success)
        bench.controller.send(Self.data)
        try bench.settle()
        #expect(bench.read(2) == [full.bytes, Self.data.bytes])
    }

    @Test func aFullEventWaitsForTheNextOne() throws {
        let bench = try Bench(["holds-full-events"])
        let full = HCIPacket(.event, [0xFF, 14] + [UInt8](repeating: 1, count: 14))
        bench.controller.send(full)
        try bench.settle()
        #expect(bench.read(1, length: 16).isEmpty)
        bench.controller.send(Self.event)
        try bench.settle()
        #expect(bench.read(1, length: 16) == [full.bytes, Self.event.bytes])
    }

    /// A request that the mode forbids is not answered, or ends with an error; others are done.
    @Test(arguments: [("silent", nil), ("error", USBStatus.protocolError)])
    func aRefusalWithoutAStall(word: String, status: USBStatus?) throws {
        let bench = try Bench(["refuses-without-stall=\(word)"])
        #expect(bench.control([0x20, 0, 0, 0, 0, 0, 3, 0], Self.reset.bytes) == .success && bench.select(1) == .success)
        #expect(bench.control([0x20, 0, 0, 0, 0, 0, 3, 0], Self.reset.bytes) == status)
        #expect(bench.select(2, of: 1) == status)
        #expect(bench.select(0) == .success)
    }

    @Test func voiceWaitsForItsInterface() throws {
        let bench = try Bench()
        #expect(bench.select(1) == .success)
        bench.controller.send(
            HCIPacket(.sco, HCIData.SynchronousData(connectionHandle: 1, data: [UInt8](repeating: 7, count: 24)).parameters))
        try bench.settle()
        #expect(bench.select(0) == .success && bench.select(1, of: 1) == .success)
        bench.dongle.submit(USBRequest(id: 900, endpoint: 3, isIn: true, length: 27, packetLengths: [9, 9, 9]))
        try bench.loop.run { [loop = bench.loop] in try await loop.sleep(for: .milliseconds(4)) }
        #expect(bench.completions.last?.data == [1, 0, 24] + [UInt8](repeating: 7, count: 24))
    }

    struct Refusal: Sendable, CustomStringConvertible {
        var description: String
        /// Settings of interface and alternate, in order; the last one is examined.
        var settings: [(interface: UInt8, alternate: UInt8)] = []
        var command: [UInt8]?
        var quirks: [String] = []
        var status: USBStatus
    }

    static let refusals: [Refusal] = [
        Refusal(description: "a command", settings: [(0, 1)], command: [0x20, 0, 0, 0, 0, 0, 3, 0], status: .stall),
        Refusal(description: "a command to the interface", settings: [(0, 1)], command: [0x21, 0, 0, 0, 0, 0, 3, 0], status: .stall),
        Refusal(description: "a voice setting", settings: [(0, 1), (1, 2)], status: .stall),
        Refusal(description: "the present voice setting", settings: [(0, 1), (1, 0)], status: .success),
        Refusal(description: "the mode in a voice setting", settings: [(1, 2), (0, 1)], status: .stall),
        Refusal(description: "the mode after voice", settings: [(1, 2), (1, 0), (0, 1)], status: .success),
        Refusal(description: "voice after the mode", settings: [(0, 1), (0, 0), (1, 2)], status: .success),
        Refusal(description: "the mode twice", settings: [(0, 1), (0, 1)], status: .success),
        Refusal(description: "a setting that does not exist", settings: [(0, 2)], status: .stall),
        Refusal(description: "any bRequest", command: [0x20, 0xE0, 7, 0, 9, 0, 3, 0], status: .success),
        Refusal(description: "the interface", command: [0x21, 0, 0, 0, 0, 0, 3, 0], quirks: ["composite"], status: .success),
        Refusal(description: "the device", command: [0x20, 0, 0, 0, 0, 0, 3, 0], quirks: ["composite"], status: .success),
        Refusal(
            description: "another function", command: [0x21, 0, 0, 0, 0, 0, 3, 0], quirks: ["composite", "hci-interface=2"], status: .stall),
        Refusal(
            description: "the numbered interface", command: [0x21, 0, 0, 0, 2, 0, 3, 0], quirks: ["composite", "hci-interface=2"],
            status: .success),
        Refusal(description: "without the mode", settings: [(0, 1)], quirks: ["serialised-mode=false"], status: .stall),
    ]

    @Test(arguments: refusals)
    func theTextDecidesWhatStalls(row: Refusal) throws {
        let bench = try Bench(row.quirks)
        var status: USBStatus?
        for setting in row.settings { status = bench.select(setting.alternate, of: setting.interface) }
        if let setup = row.command {
            status = bench.control(setup, Self.reset.bytes)
            try bench.settle()
            #expect(bench.received == (row.status == .success ? [Self.reset] : []))
        }
        #expect(status == row.status)
    }

    @Test func aResetOfThePortEndsTheMode() throws {
        let bench = try Bench()
        #expect(bench.select(1) == .success)
        bench.dongle.reset()
        #expect(!bench.dongle.isSerialised)
        #expect(bench.control([0x81, 10, 0, 0, 0, 0, 1, 0]) == .success)
        #expect(bench.completions.last?.data == [0])
    }

    /// At high speed: bulk packets of 512 octets and 125 us between events.
    @Test(arguments: [
        ([], 64, 1, 1), (["high-speed"], 512, 4, 4), (["high-speed", "event-interval=0"], 512, 1, 4), (["event-interval=8"], 64, 8, 1),
    ])
    func bothSettingsHaveTheirEndpoints(quirks: [String], size: Int, interval: UInt8, frame: UInt8) throws {
        let descriptors = try DongleConduct(["serialised-mode"] + quirks).describe(serialNumber: "1")
        var (settings, ends): ([[UInt8]], [UInt8: [[UInt8]]]) = ([], [:])
        var rest = descriptors.configuration[...]
        while let length = rest.first, length > 0 {
            let part = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            if part[1] == 4 { settings.append(Array(part[2...4])) }
            if part[1] == 5, let last = settings.last, last[0] == 0 { ends[last[1], default: []].append(Array(part[2...])) }
        }
        let bulk: [[UInt8]] = [2, 0x82].map { [$0, 2, UInt8(size & 0xFF), UInt8(size >> 8), 0] }
        #expect(settings.prefix(2) == [[0, 0, 3], [0, 1, 2]])
        #expect(ends == [0: [[0x81, 3, 16, 0, interval]] + bulk, 1: bulk])
        #expect(descriptors.configuration.suffix(1) == [frame])
    }

    @Test func whatIsNoPacketIsDroppedAndCounted() throws {
        let bench = try Bench()
        #expect(bench.select(1) == .success)
        for transfer in [Self.event.serialised, [9, 1], Array(Self.data.serialised.dropLast()), Self.reset.serialised] {
            bench.write(transfer)
        }
        try bench.settle()
        #expect(bench.received == [Self.reset] && bench.dongle.hostFaults == 3)
    }
}
