import BBPackets
import Testing

@testable import BBTraffic

/// Frames by milliseconds, and what the follower makes of them.
private struct Course: Sendable, CustomTestStringConvertible {
    enum Frame: Sendable {
        case connect
        case central(String)
        case peripheral(String)
        /// A PDU that the capture has only encrypted.
        case sealed(String)
    }

    var testDescription: String
    var frames: [(Int64, Frame)]
    var expected: [String]

    init(_ description: String, _ frames: [(Int64, Frame)], _ expected: String...) {
        testDescription = description
        self.frames = frames
        self.expected = expected
    }
}

/// Header and payload of LL_PHY_REQ, LL_PHY_RSP, LL_LENGTH_REQ and so on; the sequence number is bit 3 of the first octet.
private let courses = [
    Course(
        "a PHY update",
        [
            (0, .connect), (20, .central("0303 160202")), (21, .peripheral("0303 170202")), (50, .central("0B05 180202 0500")),
        ], "opened", "parameters 24 0 100", "phys le2M le2M", "silent"),
    Course(
        "a refusal", [(0, .connect), (20, .peripheral("0303 160202")), (50, .central("0303 11 16 1A"))], "opened", "parameters 24 0 100",
        "silent"),
    Course(
        "a retransmission of an answer",
        [
            (0, .connect), (20, .central("0303 160202")), (21, .peripheral("0303 170202")), (50, .central("0B03 160202")),
            (51, .peripheral("0303 170202")),
        ], "opened", "parameters 24 0 100", "left open LL_PHY_REQ", "silent"),
    Course(
        "data length", [(0, .connect), (20, .central("0309 14 FB00 4808 FB00 4808")), (21, .peripheral("0309 15 1B00 4801 6400 4808"))],
        "opened", "parameters 24 0 100", "length 27 100", "silent"),
    Course(
        "an end", [(0, .connect), (20, .central("0302 0213"))], "opened", "parameters 24 0 100", "terminated by central"),
    Course(
        "a request before encryption",
        [(0, .connect), (20, .central("0303 160202")), (50, .sealed("0F05 0102030405")), (90, .peripheral("0100"))],
        "opened", "parameters 24 0 100", "silent"),
    Course(
        "a link that was open before", [(0, .central("030C 00 01 0200 0600 0000 6400 0900"))], "opened", "parameters 6 0 100", "silent"),
    Course(
        "another link with the same address", [(0, .connect), (20, .central("0303 160202")), (50, .connect)], "opened",
        "parameters 24 0 100", "left open LL_PHY_REQ", "silent", "opened", "parameters 24 0 100", "silent"),
    Course(
        "a reply that the receiver missed",
        [(0, .connect), (20, .central("0301 06")), (60, .peripheral("0600")), (70, .central("0100"))], "opened", "parameters 24 0 100",
        "encrypted", "gap", "silent"),
]

@Suite struct AirFollowerTests {
    private static let address: [UInt8] = [0xA7, 0x4C, 0x65, 0x50]

    @Test(arguments: courses) fileprivate func linksAreFollowed(_ course: Course) throws {
        var follower = AirFollower()
        var log: [String] = []
        for (index, (millisecond, frame)) in course.frames.enumerated() {
            let moment = Moment(packet: index + 1, time: millisecond * 1_000)
            let followed = try Self.follow(frame, &follower, at: moment)
            log += (followed.before + followed.after).map(\.words)
        }
        let last = (course.frames.last?.0 ?? 0) * 1_000
        #expect(follower.silent(at: last, isEnd: false).isEmpty)
        log += follower.silent(at: last + 1, isEnd: true).map(\.words)
        #expect(log == course.expected)
    }

    private static func follow(_ frame: Course.Frame, _ follower: inout AirFollower, at moment: Moment) throws -> Followed {
        switch frame {
        case .connect:
            let octets = "4522 010101010101 020202020202 A74C6550 010000 18 0000 1800 0000 6400 FFFFFFFF1F 05"
            let frame = try made([0xD6, 0xBE, 0x89, 0x8E], octets, .advertising)
            return follower.advertising(try #require(frame.pdu), in: frame, at: moment)
        case .central(let octets): return try data(octets, .dataFromCentral, false, &follower, at: moment)
        case .peripheral(let octets): return try data(octets, .dataFromPeripheral, false, &follower, at: moment)
        case .sealed(let octets): return try data(octets, .dataFromCentral, true, &follower, at: moment)
        }
    }

    private static func data(
        _ octets: String, _ channel: AirFrame.Channel, _ isEncrypted: Bool, _ follower: inout AirFollower, at moment: Moment
    ) throws -> Followed {
        let frame = try made(address, octets, channel)
        let pdu = try #require(frame.pdu)
        let layers = pdu.isControl && !isEncrypted ? [DecodedLayer(layer: .llControl, frame.bytes, pdu.payload)] : []
        return follower.data(pdu, in: frame, layers, on: nil, isEncrypted: isEncrypted, at: moment)
    }

    private static func made(_ address: [UInt8], _ octets: String, _ channel: AirFrame.Channel) throws -> AirFrame {
        AirFrame(
            rfChannel: 0, signalPower: -40, referenceAccessAddress: 0, flags: [.dewhitened], channel: channel, modulation: .le1M,
            bytes: address + (try #require(Hex.parse(octets.filter { $0 != " " }))) + [0, 0, 0])
    }
}
