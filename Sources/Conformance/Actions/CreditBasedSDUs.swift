import BBCases
import BBL2CAP
import BBPackets
import BBTiming

/// Octets for an SDU that show lost, repeated and exchanged K-frames.
enum MakeSDU: NamedAction {
    static let name = "make SDU"
    static let about = "makes the octets of an SDU, no two frames of which are alike"
    static let length = TypedArgument.number("length", 0...65_535, "octets")
    static let more = TypedArgument.number("more", 0...65_535, default: 0, "octets beyond length")
    static let first = TypedArgument.number("first", 0...250, default: 0, "the first octet; each next one is larger by one, modulo 251")
    static var arguments: [ActionArgument] { [length, more, first].map(\.declaration) }
    static let results = ["sdu", "length"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (count, first) = (try context(length) + context(more), try context(first))
        let octets = (0..<count).map { UInt8(truncatingIfNeeded: (first + $0) % 251) }
        return CaseRecord([("sdu", .octets(octets)), ("length", .number(count))])
    }
}

/// Sends an SDU as the lower tester. Core Vol 3, Part A, 3.4.3.
enum SendSDU: NamedAction {
    static let name = "send SDU"
    static let about = "sends an SDU of a credit-based channel in K-frames, each with a credit of the peer"
    static let channel = TypedArgument.number("channel", 0...0xFFFF, "the CID at the peer")
    static let sdu = TypedArgument.octets("sdu", "the SDU")
    static let mps = TypedArgument.number("mps", 1...65_533, "the longest payload of a frame, without the SDU length")
    static let counts = TypedArgument.flag("lengthCounts", default: true, "1 if the SDU length takes two octets of the first payload")
    static let more = TypedArgument.number("more", 0...65_535, default: 0, "octets by which frames exceed mps")
    static let lead = TypedArgument.number(
        "lead", 0...65_534, default: 65_534, "octets of the SDU in the first frame; 65534: as many as fit")
    static let credits = TypedArgument.number("credits", 0...65_535, default: 65_535, "frames that the peer has allowed so far")
    static let announced = TypedArgument.number("announced", 0...65_536, default: 65_536, "the SDU length to send; 65536: that of the SDU")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration, sdu.declaration, counts.declaration]
            + [channel, mps, more, lead, credits, announced].map(\.declaration)
    }
    /// The number of frames sent, the credits received meanwhile, those left, and 1 if the peer gave too few.
    static let results = ["frames", "granted", "left", "stalled"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (end, handle, cid) = (try context.end(), try context(.connection), UInt16(try context(channel)))
        let octets = try context(sdu)
        let announced = try context(announced) > 0xFFFF ? octets.count : try context(announced)
        let (most, isCounted, lead) = (try context(mps) + context(more), try context(counts), try context(lead))
        var meter = CreditMeter(context, channel: cid, credits: try context(credits))
        var rest = octets[...]
        var frames = 0
        repeat {
            guard try await meter.use() else { return meter.result(frames, isStalled: true) }
            var frame = frames == 0 ? [UInt8(announced & 0xFF), UInt8(announced >> 8)] : []
            let payload = rest.prefix(frames == 0 && lead < 65_534 ? lead : max(0, most - (isCounted ? frame.count : 0)))
            rest = rest.dropFirst(payload.count)
            frame += payload
            end.sendFrame(frame, channel: cid, handle: handle.rawValue)
            frames += 1
        } while !rest.isEmpty
        return meter.result(frames, isStalled: false)
    }
}

/// The credits that the subject gives for one of its channels.
private struct CreditMeter {
    private let log: ObservationLog
    private let loop: RunLoop
    private let side: Side
    private let cid: UInt16
    private let deadline: Microseconds
    private let start: Int
    private var left: Int
    private var granted = 0

    init(_ context: ActionContext, channel: UInt16, credits: Int) {
        (log, loop, side, cid, start) = (context.bench.log, context.bench.loop, context.side, channel, context.since)
        deadline = min(context.deadline - .milliseconds(1), loop.now + .seconds(20))
        left = credits
    }

    /// Uses a credit; waits for one if there is none, and returns false if none comes.
    mutating func use() async throws -> Bool {
        while let more = try await indication(until: loop.now) { try add(more) }
        while left == 0 {
            guard let more = try await indication(until: deadline) else { return false }
            try add(more)
        }
        left -= 1
        return true
    }

    private func indication(until deadline: Microseconds) async throws -> Int? {
        let (side, cid) = (side, Int(cid))
        let found = try await log.take(from: start, until: deadline) {
            $0.side == side && $0.name == L2CAPSignaling.FlowControlCreditInd.name && PDUCodec.record(of: $0)["CID"]?.asNumber == cid
        }
        return found.flatMap { PDUCodec.record(of: $0)["Credits"]?.asNumber }
    }

    private mutating func add(_ more: Int) throws {
        guard more > 0 else { throw ActionFinding(text: "expected 1 credit or more in an indication, got 0") }
        (left, granted) = (left + more, granted + more)
        guard left <= 0xFFFF else { throw ActionFinding(text: "expected 65535 credits of a channel at most, got \(left)") }
    }

    func result(_ frames: Int, isStalled: Bool) -> CaseRecord {
        CaseRecord([
            ("frames", .number(frames)), ("granted", .number(granted)), ("left", .number(left)), ("stalled", .number(isStalled ? 1 : 0)),
        ])
    }
}

/// Receives an SDU as the lower tester, and judges its K-frames. Core Vol 3, Part A, 3.4.3 and 10.1.
enum ReceiveSDU: NamedAction {
    static let name = "receive SDU"
    static let about = "receives an SDU of a credit-based channel; a frame beyond MPS, credits or SDU length is a fault"
    static let channel = TypedArgument.number("channel", 0...0xFFFF, "the tester's CID")
    static let mtu = TypedArgument.number("mtu", 23...65_535, default: 65_535, "the tester's MTU")
    static let mps = TypedArgument.number("mps", 23...65_533, "the tester's MPS")
    static let credits = TypedArgument.number("credits", 0...65_535, default: 65_535, "frames that the peer may still send")
    static let grant = TypedArgument.number("grant", 0...65_535, default: 0, "credits to give when there are none left")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration] + [channel, mtu, mps, credits, grant].map(\.declaration)
    }
    /// The SDU, the number of its frames, the longest payload without the SDU length, and the credits left.
    static let results = ["sdu", "frames", "longest", "left"]
    /// Time in which a frame that needs no credit would have come.
    private static let hold = Microseconds.milliseconds(100)

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let cid = UInt16(try context(channel))
        var left = try context(credits)
        var frames = KFrameJudge(mtu: try context(mtu), mps: try context(mps))
        let deadline = min(context.deadline - .milliseconds(1), context.bench.loop.now + .seconds(20))
        var grants = 0
        while true {
            if left == 0, try context(grant) > 0 {
                if try await next(context, cid, until: min(deadline, context.bench.loop.now + hold)) != nil { throw Self.noCredit }
                left = try context(grant)
                let command = L2CAPSignaling.FlowControlCreditInd(cid: cid, credits: UInt16(left))
                let octets = command.bytes(identifier: UInt8(0x90 + grants % 0x40))
                try context.end().sendFrame(octets, channel: CID.leSignaling, handle: try context(.connection).rawValue)
                grants += 1
            }
            guard let frame = try await next(context, cid, until: deadline) else { throw frames.missing }
            guard left > 0 else { throw Self.noCredit }
            left -= 1
            if let sdu = try frames.take(frame) {
                return CaseRecord([
                    ("sdu", .octets(sdu)), ("frames", .number(frames.count)), ("longest", .number(frames.longest)), ("left", .number(left)),
                ])
            }
        }
    }

    private static let noCredit = ActionFinding(text: "expected no K-frame without a credit, got one")

    private static func next(_ context: ActionContext, _ cid: UInt16, until deadline: Microseconds) async throws -> [UInt8]? {
        let (side, name) = (context.side, L2CAPFrame.name)
        let found = try await context.bench.log.take(from: context.since, until: deadline) {
            guard case .upper(let content, _, _) = $0.content else { return false }
            return $0.side == side && $0.name == name && content.channel == cid
        }
        guard case .upper(_, let bytes, _)? = found?.content else { return nil }
        return bytes
    }
}

/// The K-frames of one SDU.
private struct KFrameJudge {
    let mtu: Int
    let mps: Int
    private(set) var count = 0
    private(set) var longest = 0
    private var length: Int?
    private var sdu: [UInt8] = []

    init(mtu: Int, mps: Int) { (self.mtu, self.mps) = (mtu, mps) }

    /// Returns the SDU with its last frame.
    mutating func take(_ frame: [UInt8]) throws(ActionFinding) -> [UInt8]? {
        var payload = frame[...]
        if length == nil {
            guard frame.count >= KFrameReassembly.lengthOctets else {
                throw ActionFinding(text: "expected the SDU length at the start of the first K-frame, got \(frame.count) octets")
            }
            let announced = Int(frame[0]) | Int(frame[1]) << 8
            guard announced <= mtu else {
                throw ActionFinding(text: "expected an SDU of the MTU of \(mtu) octets at most, got \(announced)")
            }
            (length, payload) = (announced, frame.dropFirst(KFrameReassembly.lengthOctets))
        }
        count += 1
        longest = max(longest, payload.count)
        guard payload.count <= mps else {
            throw ActionFinding(text: "expected a payload of the MPS of \(mps) octets at most, got \(payload.count)")
        }
        sdu += payload
        guard let length, sdu.count >= length else { return nil }
        guard sdu.count == length else {
            throw ActionFinding(text: "expected an SDU of \(length) octets, as its length says, got \(sdu.count)")
        }
        return sdu
    }

    var missing: ActionFinding {
        guard let length else { return ActionFinding(text: "expected an SDU, no K-frame came") }
        return ActionFinding(text: "expected an SDU of \(length) octets, got \(sdu.count) in \(count) K-frames, and then none")
    }
}
