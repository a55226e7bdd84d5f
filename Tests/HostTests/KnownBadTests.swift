import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Inputs that have broken other stacks, sent to a host with a link: its responses, and that the link works afterwards.
@Suite struct KnownBadTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// ACL packets of the peer: Packet_Boundary_Flag and content.
        var data: [(UInt8, String)]
        /// L2CAP PDUs sent by the host, including headers.
        var answers: [String]
        var toCentral: Bool

        init(_ name: String, _ data: [(UInt8, String)], _ answers: [String] = [], toCentral: Bool = false) {
            (testDescription, self.data, self.answers, self.toCentral) = (name, data, answers, toCentral)
        }

        /// A complete PDU on a channel.
        init(_ name: String, cid: UInt8, _ pdus: String..., answers: [String] = [], toCentral: Bool = false) {
            func frame(_ text: String) -> String { hex([UInt8(octets(text).count & 0xFF), UInt8(octets(text).count >> 8), cid, 0]) + text }
            self.init(name, pdus.map { (2, frame($0)) }, answers.map(frame), toCentral: toCentral)
        }
    }

    static let name = "0b 74657374"

    static let attributes: [Row] = [
        Row("CVE-2019-19192: two requests without waiting", cid: 4, "0a 0300", "0a 0300", answers: [name, name]),
        Row("CVE-2019-19192: two kinds of request", cid: 4, "0a 0300", "02 1700", answers: [name, "03 0502"]),
        Row("DA14680: an MTU request of one octet", cid: 4, "02 17", answers: ["01 02 0000 04"]),
        Row("DA14680: an MTU request that L2CAP announces as 247 octets", [(2, "f700 0400 02 f700")]),
        Row("MTU 0", cid: 4, "02 0000", answers: ["03 0502"]),
        Row("MTU 65535", cid: 4, "02 ffff", answers: ["03 0502"]),
        Row("an empty attribute PDU", cid: 4, ""),
        Row("responses that nobody waits for", cid: 4, "0b 00", "01 0a 0300 0a", "03 1700", "19", "1e"),
        Row("a notification of nothing", cid: 4, "1b", "1b 03", "23 0300 ff00 01"),
        Row("an indication of nothing", cid: 4, "1d"),
        Row("an execute write without a queue", cid: 4, "18 01", answers: ["19"]),
        Row("an execute write with flags that do not exist", cid: 4, "18 ff", answers: ["01 18 0000 04"]),
        Row("a blob behind the end", cid: 4, "0c 0300 ffff", answers: ["01 0c 0300 07"]),
    ]

    static let channels: [Row] = [
        Row("CVE-2019-19195: starts shorter than a header", [(2, ""), (2, "03"), (2, "0300"), (2, "030004")]),
        Row("CVE-2019-17517: less than the length says", [(2, "0300 0400 0a")]),
        Row("CVE-2019-17518: more than the length says", [(2, "0300 0400 0a0300 00")]),
        Row(
            "CVE-2019-17518: lengths 0 to 2 before a request", [(2, "0000 0400 0a0300"), (2, "0100 0400 0a0300"), (2, "0200 0400 0a0300")]),
        Row("CVE-2020-10061: a continuation without a start", [(1, "0a0300"), (1, "0300 0400 0a0300")]),
        Row("CVE-2020-0022: a continuation exceeds the rest", [(2, "0300 0400 0a"), (1, "030000")]),
        Row("CVE-2020-0022: a start of two octets, then too much", [(2, "0300"), (1, "0400 0a0300 00")]),
        Row("CVE-2020-0022: a rest below zero, then more", [(2, "0100 0400"), (1, "0a0300"), (1, "0a0300")]),
        Row("a complete PDU by a flag that LE does not have", [(3, "0300 0400 0a0300")]),
        Row("CVE-2020-12351: the A2MP channel", [(2, "0800 0300 0201 0400 0000 0000"), (2, "0600 0300 0602 0200 0100")]),
        Row("the null channel", [(2, "0100 0000 00")]),
        Row("BR/EDR signalling on LE", [(2, "0500 0100 0201 0100 00"), (2, "0c00 0100 0201 0400 1f00 4000 0000 0000")]),
        Row("connectionless data on LE", [(2, "0400 0200 0100 0000")]),
        Row("a channel that nobody opened", [(2, "0500 4000 0300 0102 03")]),
        Row("the last channel there is", [(2, "0000 ffff")]),
        Row("a length of 65535", [(2, "ffff 0400 0a0300")]),
    ]

    static let signaling: [Row] = [
        Row("disconnection of an unknown channel", cid: 5, "06 07 0400 12345678", answers: ["01 07 0600 0200 12345678"]),
        Row("a short disconnection request", cid: 5, "06 07 0200 1234", answers: ["01 07 0200 0000"]),
        Row("a connection request of one octet", cid: 5, "02 01 0100 00", answers: ["01 01 0200 0000"]),
        Row("a configuration request", cid: 5, "04 01 0400 12340000", answers: ["01 01 0200 0000"]),
        Row(
            "CVE-2017-1000251: a pending configuration response",
            // Longer than MTUsig, but a response, which is ignored. Core Vol 3, Part A, 4.1.
            [(2, "4a00 0500 05 01 4600 4000 0000 0400" + String(repeating: "01020000", count: 16))], []),
        Row("a command reject as an answer", cid: 5, "01 01 0200 0000"),
        Row(
            "a channel for a PSM that does not exist", cid: 5, "14 09 0a00 8000 4000 1700 1700 0100",
            answers: ["15 09 0a00 0000 0000 0000 0000 0200"]),
        Row(
            "enhanced channels with an MTU of 1", cid: 5, "17 03 0a00 8000 0100 0100 0000 4000",
            answers: ["18 03 0a00 0000 0000 0000 0c00 0000"]),
        Row("credits without end", cid: 5, "16 08 0400 4000 ffff"),
        Row("parameters from a central", cid: 5, "12 01 0800 0600 0c00 0000 c800", answers: ["01 01 0200 0000"]),
        Row("identifier 0", cid: 5, "06 00 0400 12345678"),
        Row("a length beyond the PDU", cid: 5, "06 07 ff00 1234", answers: ["01 07 0200 0000"]),
        Row("parameters out of range", cid: 5, "12 01 0800 0000 ffff ffff 0000", answers: ["13 01 0200 0100"], toCentral: true),
        Row(
            "parameters with a time-out that is too short", cid: 5, "12 01 0800 0600 0600 f401 0a00", answers: ["13 01 0200 0100"],
            toCentral: true),
    ]

    /// A host that does not support pairing responds so, once, to any request. Core Vol 3, Part H, 3.5.5.
    static let security: [Row] = [
        Row(
            "CVE-2019-19196: key sizes of 253, 17 and 0", cid: 6, "01 030009 fd 0707", "01 030009 11 0707", "01 000000 00 0000",
            answers: ["0505", "0505", "0505"]),
        Row("a pairing request cut short", cid: 6, "01 03", answers: ["0505"]),
        Row("a security request to a peripheral", cid: 6, "0b 00", answers: ["0507"]),
        Row("CVE-2019-17520: a public key before any request", cid: 6, "0c" + String(repeating: "11", count: 64), answers: ["0505"]),
        Row("CVE-2018-5383: a public key that is no point", cid: 6, "0c" + String(repeating: "00", count: 64), answers: ["0505"]),
        Row("CVE-2020-13593: a DHKey check out of the blue", cid: 6, "0d" + String(repeating: "22", count: 16), answers: ["0505"]),
        Row("a failure is not answered", cid: 6, "05 01", "05"),
        Row("codes that do not exist", cid: 6, "", "00", "0f", "ff00"),
        Row("a security request", cid: 6, "0b 09", answers: ["0505"], toCentral: true),
    ]

    @Test(arguments: attributes + channels + signaling + security) func anInputThatBrokeOthers(_ row: Row) throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            let target = row.toCentral ? pair.a : pair.b
            target.swallows = { _ in true }
            for (boundary, text) in row.data { target.emit(acl(0x40, boundary, octets(text))) }
            try await world.loop.sleep(for: .seconds(1))
            #expect(pdus(target.data).map(hex) == row.answers.map { hex(octets($0)) })
            target.swallows = nil
            try await isAlive(pair)
        }
    }

    /// CVE-2020-0022 and AirBorne-style: all inputs above, truncated at each octet and with each octet changed.
    @Test(arguments: attributes + channels + signaling + security) func aCutOrChangedInputDoesNoHarm(_ row: Row) throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            let target = row.toCentral ? pair.a : pair.b
            target.swallows = { _ in true }
            for (boundary, text) in row.data {
                let whole = octets(text)
                for index in whole.indices {
                    target.emit(acl(0x40, boundary, Array(whole[..<index])))
                    for value in [whole[index] &+ 1, whole[index] &- 1, 0, 0xFF] {
                        var changed = whole
                        changed[index] = value
                        target.emit(acl(0x40, boundary, changed))
                    }
                }
            }
            try await world.loop.sleep(for: .seconds(3))
            target.swallows = nil
            try await isAlive(pair)
        }
    }

    /// CVE-2019-19194: a link without a key is not encrypted, whatever the controller reports.
    @Test func encryptionWithoutAKeyOpensNothing() throws {
        try World.run { world in
            let pair = try await Pair.make(world, database: ATTServerTests.database())
            for end in [pair.a, pair.b] { end.emit(event: "08 04 00 4000 01") }
            try await world.loop.sleep(for: .seconds(1))
            #expect(pair.central.security == .none && pair.peripheral.security == .none)
            let refusal = await failure { _ = try await pair.central.gatt.read(0x16) }
            #expect(refusal == .peer(.att(request: .attReadReq, handle: 0x16, .insufficientAuthentication)))
            pair.b.emit(event: "3e 0d 05 4000 0000000000000000 0000")
            try await world.loop.sleep(for: .seconds(1))
            #expect(pair.b.opcodes.last == HCICommands.LELongTermKeyRequestNegativeReply.opcode)
        }
    }

    /// Events without effect, each on a new host. Excluded: the end of the link, and another link with its handle.
    static let harmless = HostStartTests.hostile.filter { !$0.hasPrefix("05 04 00 4000") && !$0.hasPrefix("3e 13 01 00 4000") }

    @Test(arguments: harmless) func aHostileEventLeavesTheLink(_ text: String) throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            pair.a.emit(event: text)
            try await world.loop.sleep(for: .seconds(1))
            _ = await failure { try await pair.a.host.send(HCICommands.LEClearFilterAcceptList()) }
            try await pair.a.host.send(HCICommands.LEClearFilterAcceptList())
            try await isAlive(pair)
        }
    }

    @Test func packetsOfOtherKindsCutShortLeaveTheLink() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            for kind in HCIPacket.Kind.allCases {
                for text in ["", "40", "4020", "402004", "40600400", "406004000102", "4020ff3f00", "ffffffffff"] {
                    pair.a.emit(HCIPacket(kind, octets(text)))
                }
            }
            try await world.loop.sleep(for: .seconds(1))
            try await isAlive(pair)
        }
    }

    /// Command Status and Command Complete for the same command; no credit for a while, then one.
    @Test func aCommandAnsweredTwiceAndCreditsThatComeLate() throws {
        try World.run { world in
            let pair = try await Pair.make(world)
            let opcode = HCICommands.LEClearFilterAcceptList.opcode
            pair.a.script[opcode] = { _ in [HCIPacket(statusOpcode: opcode, .success), HCIPacket(completeOpcode: opcode, returns: [0])] }
            for _ in 0..<3 { _ = await failure { try await pair.a.host.send(HCICommands.LEClearFilterAcceptList()) } }
            pair.a.script[opcode] = { _ in [HCIPacket(.event, [0x0E, 4, 0, UInt8(opcode & 0xFF), UInt8(opcode >> 8), 0])] }
            try await pair.a.host.send(HCICommands.LEClearFilterAcceptList())
            pair.a.script[opcode] = nil
            world.loop.schedule(after: .milliseconds(300)) { pair.a.emit(event: "0e 03 01 0000") }
            let start = world.loop.now
            try await pair.a.host.send(HCICommands.LEClearFilterAcceptList())
            #expect(world.loop.now - start >= .milliseconds(300))
            try await isAlive(pair)
        }
    }

    @Test(.enabled(if: !foreignSeeds.isEmpty, "no seeds of other tools at hand: set BLUEBENCH_CAPTURES")) func seedsForOtherStacks() throws
    {
        for seed in foreignSeeds where seed.count >= 4 {
            try World.run { world in
                let pair = try await Pair.make(world)
                pair.b.swallows = { _ in true }
                pair.b.emit(HCIPacket(.acl, [0x40, seed[1] & 0xF0] + seed.dropFirst(2)))
                pair.b.emit(acl(0x40, 2, Array(seed.dropFirst(4))))
                try await world.loop.sleep(for: .seconds(1))
                pair.b.swallows = nil
                try await isAlive(pair)
            }
        }
    }

    // MARK: Partial responses

    private func isAlive(_ pair: Pair) async throws {
        #expect(pair.central.isConnected && pair.peripheral.isConnected)
        #expect(try await pair.central.gatt.read(3) == Array("test".utf8))
        #expect(try await pair.peripheral.gatt.read(3) == Array("test".utf8))
    }

    private func acl(_ handle: UInt16, _ boundary: UInt8, _ content: [UInt8]) -> HCIPacket {
        let first = handle | UInt16(boundary) << 12
        return HCIPacket(
            .acl, [UInt8(first & 0xFF), UInt8(first >> 8), UInt8(content.count & 0xFF), UInt8(content.count >> 8)] + content)
    }

    /// The L2CAP PDUs that a host has sent.
    private func pdus(_ packets: [HCIPacket]) -> [[UInt8]] {
        packets.reduce(into: []) { pdus, packet in
            let content = Array(packet.bytes.dropFirst(4))
            if packet.bytes[1] & 0x30 == 0x10, !pdus.isEmpty { pdus[pdus.count - 1] += content } else { pdus.append(content) }
        }
    }
}
