import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Data channel PDUs that have broken other controllers: the link survives, and delivers data in order afterwards.
@Suite struct KnownBadTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var llid: UInt8
        var payload: [UInt8]
        /// Octets that reach the other host; nil if either is right.
        var delivered: Int?
        var answer: [UInt8]?
    }

    static let rows: [Row] = [
        Row(testDescription: "CVE-2019-17061: LLID 0, empty", llid: 0, payload: [], delivered: 0),
        Row(testDescription: "CVE-2019-17060: LLID 0 with 27 octets", llid: 0, payload: .init(repeating: 0xA5, count: 27), delivered: 0),
        Row(testDescription: "LLID 0 with 255 octets", llid: 0, payload: .init(repeating: 0xA5, count: 255), delivered: 0),
        Row(testDescription: "LLID 0 that looks like control", llid: 0, payload: [0x02, 0x13], delivered: 0),
        Row(testDescription: "CVE-2019-16336: more octets than agreed", llid: 2, payload: .init(repeating: 0xA5, count: 251)),
        Row(testDescription: "CVE-2019-17519: more octets than any link has", llid: 2, payload: .init(repeating: 0xA5, count: 255)),
        Row(testDescription: "a start of one octet", llid: 2, payload: [1], delivered: 1),
        Row(testDescription: "CVE-2020-10061: a continuation without a start", llid: 1, payload: [1, 2, 3], delivered: 3),
        Row(testDescription: "control without an opcode", llid: 3, payload: [], delivered: 0),
        Row(
            testDescription: "control of 255 octets", llid: 3, payload: .init(repeating: 0xEE, count: 255), delivered: 0,
            answer: [0x07, 0xEE]),
        Row(
            testDescription: "CVE-2019-19194: encryption before pairing", llid: 3, payload: [0x03] + .init(repeating: 0, count: 22),
            delivered: 0),
        Row(testDescription: "encryption starts by itself", llid: 3, payload: [0x05], delivered: 0),
        Row(testDescription: "encryption was started by nobody", llid: 3, payload: [0x06], delivered: 0),
        Row(testDescription: "encryption pauses before it began", llid: 3, payload: [0x0A], delivered: 0),
    ]

    @Test(arguments: rows, [true, false]) func aPDUThatBrokeOthers(_ row: Row, byCentral: Bool) throws {
        let bench = LinkBench()
        let (sender, receiver) = byCentral ? (bench.central, bench.peripheral) : (bench.peripheral, bench.central)
        var answers: [[UInt8]] = []
        bench.air.observer = { observation in
            let frame = observation.frame
            let isFromReceiver = (frame.channel == .dataFromCentral) != byCentral
            if isFromReceiver, frame.bytes[4] & 3 == 3 { answers.append(Array(frame.bytes[6...].dropLast(3))) }
        }
        for end in bench.ends { end.longTermKey = nil }
        // The first PDU of the link: nothing is unacknowledged yet.
        #expect(sender.link.inject(OutgoingPDU(llid: row.llid, payload: row.payload[...], kind: .empty)))
        try bench.run(200_000)
        if let delivered = row.delivered { #expect(receiver.received.count == delivered) }
        if let answer = row.answer { #expect(answers == [answer]) }
        #expect(!sender.link.state.encryption.isOn && !receiver.link.state.encryption.isOn)
        receiver.received = []
        for end in bench.ends { end.feed(40) }
        try bench.run(300_000)
        #expect(!sender.link.isClosed && !receiver.link.isClosed)
        #expect(receiver.received == sender.sentOctets)
        #expect(sender.received == receiver.sentOctets)
    }
}
