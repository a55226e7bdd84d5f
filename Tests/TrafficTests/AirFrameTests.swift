import BBL2CAP
import BBPackets
import Testing

@testable import BBTraffic

/// A frame, and the PDU in it.
private struct Sample: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var channel = AirFrame.Channel.advertising
    var rfChannel: UInt8 = 0
    var modulation = AirFrame.Modulation.le1M
    /// From the access address on, without CRC.
    var octets: String
    var kind: AirFrame.PDU.Kind?
    var direction = LinkDirection.unknown
    var length = 0
    var payload = ""
    var name: String?
    var control: String?
}

private let samples = [
    Sample(
        testDescription: "advertising", octets: "D6BE898E 4006 010203040506", kind: .advertising, length: 6, payload: "010203040506",
        name: Advertising.ADVInd.name),
    Sample(testDescription: "a type without a declaration", octets: "D6BE898E 0F00", kind: .advertising),
    Sample(
        testDescription: "a scan request on a secondary channel", rfChannel: 5, octets: "D6BE898E 0300", kind: .auxiliary,
        name: "AUX_SCAN_REQ"),
    Sample(
        testDescription: "a periodic train", channel: .auxiliaryAdvertising, rfChannel: 5, octets: "11223344 0700", kind: .auxiliary,
        name: "Common_Extended_Advertising_Payload"),
    Sample(testDescription: "an unknown direction", octets: "11223344 0E02 0A0B", kind: .data, length: 2, payload: "0A0B"),
    Sample(
        testDescription: "control on LE Coded", channel: .dataFromCentral, modulation: .leCoded, octets: "11223344 01 0302 0213",
        kind: .data, direction: .forth, length: 2, payload: "0213", control: "0213"),
    Sample(
        testDescription: "control behind a tone extension's octet", channel: .dataFromPeripheral, octets: "11223344 2302 0A 0213",
        kind: .data, direction: .back, length: 2, payload: "0213", control: "0213"),
    Sample(testDescription: "an empty PDU", channel: .dataFromPeripheral, octets: "11223344 0100", kind: .data, direction: .back),
    Sample(
        testDescription: "a stream", channel: .broadcastIsochronous, octets: "11223344 0001 0A", kind: .isochronous, length: 1,
        payload: "0A"),
    Sample(testDescription: "half a header", octets: "11223344 01"),
    Sample(testDescription: "half a header on LE Coded", modulation: .leCoded, octets: "11223344 0101"),
]

@Suite struct AirFrameTests {
    @Test(arguments: samples) fileprivate func framesAreCutOnce(_ sample: Sample) throws {
        let frame = AirFrame(
            rfChannel: sample.rfChannel, signalPower: -40, referenceAccessAddress: 0, flags: [.dewhitened], channel: sample.channel,
            modulation: sample.modulation, bytes: try #require(Hex.parse(sample.octets)) + [0, 0, 0])
        let pdu = frame.pdu
        #expect(pdu?.kind == sample.kind)
        #expect(pdu?.direction ?? .unknown == sample.direction)
        #expect(pdu?.length ?? 0 == sample.length)
        #expect(pdu.map { Array(frame.bytes[$0.payload]) } ?? [] == Hex.parse(sample.payload))
        #expect(pdu?.declaration?.name == sample.name)
        #expect(frame.controlOctets.map { Array($0) } == sample.control.flatMap { Hex.parse($0) })
    }

    @Test func clearPayloadReplacesTheSealedOne() throws {
        let sealed: [UInt8] = [1, 2, 3, 4, 0x0F, 5, 1, 2, 3, 4, 5, 0xA, 0xB, 0xC]
        let frame = AirFrame(
            rfChannel: 0, signalPower: -40, referenceAccessAddress: 0, flags: [], channel: .dataFromCentral, modulation: .le1M,
            bytes: sealed)
        let clear = frame.decrypted(try #require(frame.pdu), to: [6])
        #expect(clear.bytes == [1, 2, 3, 4, 0x0F, 1, 6, 0xA, 0xB, 0xC])
        #expect(clear.flags.contains([.decrypted, .micValid]))
    }
}
