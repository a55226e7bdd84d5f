import BBPackets
import BBTiming

@testable import BBHost

extension FuzzTarget {
    /// RFCOMM between two ends. Kinds: 0 octets, 1 a frame with a correct FCS, 2 an action of the user, 3 delivery of the frames in
    /// transit, possibly truncated.
    static let serialPorts = FuzzTarget(
        name: "rfcomm", layer: { _ in nil },
        seeds: {
            let frames = [
                "03 3f", "03 73", "03 53", "0b 3f", "0b 53", "0b ef 41424344", "0b ff 07", "03 ef 83 11 02 f0 00 00 e8 03 00 07",
                "03 ef 81 11 02 e0 00 00 9a 02 00 07", "03 ef e3 05 0b 8d", "03 ef 93 11 0b 07 03 00 11 13 7f 3f", "03 ef 53 05 0b 03",
                "03 ef 23 07 616263", "03 ef 63 01|03 ef a3 01", "03 ef c3 01", "03 3f|0b 3f|0b ef 41|0b 53",
            ]
            let deeds = ["00 01|00 05|01 02 41424344|03", "00 01|02 02|04", "00 05|01 0a 41|05 02|06", "00 01|07 02 01|07 02 00"]
            return Seeds.written(frames, .init(end: 0, kind: 1)) + Seeds.written(frames, .init(end: 1, kind: 1))
                + Seeds.written(["033f011c", "0373 01 d7"], .init(end: 0, kind: 0)) + Seeds.written(deeds, .init(end: 0, kind: 2, extra: 3))
                + Seeds.written(deeds, settings: 1, .init(end: 1, kind: 2, extra: 3))
        },
        run: { input in
            let frames = Frames(input)
            var table = SerialTable(settings: frames.settings)
            for frame in frames.list { try table.take(frame) }
            try table.check()
        })
}

private struct SerialTable {
    private var ends: [RFCOMMSession]
    private var mail: [(to: Int, frame: [UInt8])] = []
    private var now = Microseconds.zero
    private static let mostMail = 4_096

    init(settings: UInt8) {
        let own = RFCOMMSettings(services: [1, 5], mtu: 60, usesCredits: settings & 1 == 0, creditWindow: 1 + Int(settings >> 4))
        ends = [
            RFCOMMSession(.initiator, own), RFCOMMSession(.acceptor, RFCOMMSettings(services: [1, 5], usesCredits: settings & 2 == 0)),
        ]
    }

    mutating func take(_ frame: Frames.Frame) throws {
        now = now + frame.action.pause
        let end = frame.action.end
        switch frame.action.kind {
        case 0: try perform(end) { [now] in $0.receive(frame.packet, at: now) }
        case 1: try perform(end) { [now] in $0.receive(Self.checked(frame.packet), at: now) }
        case 2: try deed(frame.packet, end)
        default: break
        }
        for _ in 0..<(frame.action.kind == 3 ? 1 : 4 * Int(frame.action.extra)) { try deliver(frame.packet) }
        for end in 0..<2 {
            if let deadline = ends[end].deadline, deadline <= now { try perform(end) { [now] in $0.expire(at: now) } }
        }
    }

    /// A frame from address, control and information.
    private static func checked(_ octets: [UInt8]) -> [UInt8] {
        guard octets.count >= 2 else { return octets }
        var writer = ByteWriter()
        writer.bytes(octets.prefix(2))
        let isData = octets[1] & 0xEF == RFCOMMFrame.Kind.uih.rawValue
        let hasCredits = octets[1] == 0xFF && octets[0] >> 2 != 0 && octets.count > 2
        writer.extensibleLength(octets.count - 2 - (hasCredits ? 1 : 0))
        let check = FrameCheckSequence.of(isData ? Array(octets.prefix(2)) : writer.bytes)
        return writer.bytes + octets.dropFirst(2) + [check]
    }

    private mutating func deed(_ octets: [UInt8], _ end: Int) throws {
        let number = octets.dropFirst().first ?? 0
        let rest = Array(octets.dropFirst(2))
        try perform(end) { [now] session in
            switch octets.first.map({ $0 % 8 }) ?? 0 {
            case 0: session.open(channel: number, at: now)
            case 1: session.send(rest, on: number) ?? []
            case 2: session.close(number, at: now)
            case 3: session.ask(.test(rest), at: now)
            case 4: session.close(at: now)
            case 5: session.ask(.remotePortNegotiation(dlci: number & 0x3F, nil), at: now)
            case 6: session.start(at: now)
            default: session.setReceiving(rest.first == 0, on: number, at: now)
            }
        }
    }

    /// Checks that a session sends valid frames no longer than the MTU.
    private mutating func perform(_ end: Int, _ event: (inout RFCOMMSession) -> [RFCOMMAction]) throws {
        for action in event(&ends[end]) {
            guard case .send(let octets) = action else { continue }
            try promise(
                octets.count <= ends[end].settings.frameSize + RFCOMMFrame.mostOverhead || octets[0] >> 2 == 0,
                "a frame of \(octets.count) octets")
            let isFrame = (try? RFCOMMFrame(octets, hasCredits: true)) != nil
            try promise(isFrame, "no frame: \(Hex.octets(octets))")
            if mail.count < Self.mostMail { mail.append((1 - end, octets)) }
        }
        try promise(ends[end].links.count <= 62, "\(ends[end].links.count) connections")
    }

    /// Delivers the oldest frame, occasionally another one instead.
    private mutating func deliver(_ other: [UInt8]) throws {
        guard !mail.isEmpty else { return }
        let letter = mail.removeFirst()
        let frame = other.count > 3 && other[0] & 15 == 15 ? Self.checked(other) : letter.frame
        try perform(letter.to) { [now] in $0.receive(frame, at: now) }
    }

    /// Checks that both sessions end by their deadlines.
    mutating func check() throws {
        for end in 0..<2 {
            try perform(end) { [now] in $0.close(at: now) }
            for _ in 0..<200 {
                guard let deadline = ends[end].deadline else { break }
                now = max(now, deadline)
                try perform(end) { [now] in $0.expire(at: now) }
            }
            try promise(ends[end].isOver && ends[end].deadline == nil, "a session without an end")
        }
    }
}
