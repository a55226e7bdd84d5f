import BBPackets

@testable import BBHost

extension FuzzTarget {
    /// AVDTP signalling to a session with a source and a sink. Kinds: 0 and 1 a packet, 2 a local command, 3 the media channel is opened or
    /// closed.
    static let streaming = FuzzTarget(
        name: "avdtp", layer: { _ in nil },
        seeds: {
            let configure = "00 03 04 04 01 00 07 06 00 00 21 15 02 35"
            let packets = [
                "00 01", "10 02 04", "10 0c 08", configure, configure + "|10 06 04|20 07 04",
                configure + "|10 06 04|10 05 04 07 06 00 00 11 15 02 20",
                configure + "|10 04 04|10 0a 04", configure + "|10 06 04|20 08 04", "04 03 03 04 04 01|08 00 07 06 00|0c 00 21 15 02 35",
                "10 0d 08 00 64", "10 0b 04 00", "21 3f", "02 01 04 08", "03 01 19",
            ]
            let own = ["00", "01 04", "02 04", "04 04|05 04|06 04|07 04|08 04|09 04"]
            return Seeds.written(packets, .init(end: 0, kind: 0)) + Seeds.written(own, .init(end: 0, kind: 2))
                + Seeds.written([configure + "|10 06 04", "01", "00"], .init(end: 0, kind: 3))
        },
        run: { input in
            var session = AVDTPSession(endpoints: [.sbc(seid: 1, isSink: true), .sbc(seid: 2, isSink: false)], mtu: 48)
            for frame in Frames(input).list { try streaming(frame, &session) }
            let answer = session.receive([0x50, AVDTPSignal.discover.rawValue], at: 0)
            try promise(answer.count == 1, "discovery is not answered")
            _ = session.expire(at: .seconds(60))
            try promise(session.deadline == nil, "a command without an end")
        })

    private static func streaming(_ frame: Frames.Frame, _ session: inout AVDTPSession) throws {
        let seid = (frame.packet.dropFirst().first ?? 0) >> 2
        var actions: [AVDTPAction] = []
        switch frame.action.kind {
        case 0, 1: actions = session.receive(frame.packet, at: 0)
        case 2:
            let signal = AVDTPSignal(rawValue: (frame.packet.first ?? 0) % 13 + 1) ?? .discover
            guard let command = try? AVDTPCommand(signal, Array(frame.packet.dropFirst())) else { return }
            actions = session.send(command, at: 0)
        default:
            if frame.packet.first.map({ $0 & 1 == 0 }) ?? false { session.mediaOpened(seid) } else { actions = session.mediaClosed(seid) }
        }
        try promise(actions.count <= 100, "\(actions.count) actions for one")
        for case .send(let octets) in actions { try promise(octets.count <= 48, "\(octets.count) octets, the MTU is 48") }
        try promise(session.streams.keys.allSatisfy { (1...2).contains($0) }, "a stream of no end point")
    }

    /// AVCTP and AVRCP to a session of a player. Kinds: 0 and 1 a packet, 2 a local request, 3 a local change.
    static let remoteControl = FuzzTarget(
        name: "avctp", layer: { _ in nil },
        seeds: {
            let packets = [
                "00 11 0e 01 ff 30 ff ff ff ff ff", "00 11 0e 01 ff 31 07 ff ff ff ff", "00 11 0e 00 48 7c 44 00",
                "00 11 0e 01 48 00 00 19 58 10 00 00 01 03", "00 11 0e 01 48 00 00 19 58 30 00 00 00",
                "00 11 0e 03 48 00 00 19 58 31 00 00 05 01 00 00 00 00", "00 11 0e 00 48 00 00 19 58 50 00 00 01 40",
                "00 11 0e 01 48 00 00 19 58 20 00 00 0d 00 00 00 00 00 00 00 00 01 00 00 00 01", "04 02 11 0e 00 48|0c 7c 44 00",
                "02 11 0e 09 48 7c 44 00", "02 11 0e 0f 48 00 00 19 58 31 00 00 02 0d 40", "02 11 0e 0c 48 00 00 19 58 20 01 00 01 01",
                "03 11 0e",
            ]
            return Seeds.written(packets, .init(end: 0, kind: 0)) + Seeds.written(["00|01|02|03|04|05|06|07"], .init(end: 0, kind: 2))
                + Seeds.written(["01", "02"], .init(end: 0, kind: 3))
        },
        run: { input in
            var target = AVRCPTarget(
                events: [.playbackStatus(0), .track(0), .playbackPosition(9), .volume(3)], takesVolume: true, keys: [.play, .pause])
            target.attributes = [1: String(repeating: "title ", count: 30), 2: "artist"]
            var session = AVRCPSession(target: target, mtu: 48)
            for frame in Frames(input).list { try remoteControl(frame, &session) }
            let answer = session.receive([0x50, 0x11, 0x0E, 0x01, 0xFF, AVCFrame.Opcode.unitInfo, 0xFF], at: 0)
            try promise(answer.count == 1, "unit info is not answered")
            _ = session.expire(at: .seconds(60))
            try promise(session.deadline == nil, "a request without an end")
        })

    private static func remoteControl(_ frame: Frames.Frame, _ session: inout AVRCPSession) throws {
        let number = frame.packet.first ?? 0
        let actions: [AVRCPAction]
        switch frame.action.kind {
        case 0, 1: actions = session.receive(frame.packet, at: 0)
        case 2:
            let requests: [AVRCPRequest] = [
                .press(.play), .unitInfo, .subunitInfo, .supportedEvents, .playStatus, .elementAttributes([1]), .register(.volumeChanged),
                .setAbsoluteVolume(number),
            ]
            actions = session.send(requests[Int(number) % requests.count], at: 0)
        default: actions = session.changed(number & 1 == 0 ? .volume(number) : .playbackStatus(number))
        }
        try promise(actions.count <= 20, "\(actions.count) actions for one")
        for case .send(let octets) in actions { try promise(octets.count <= 48, "\(octets.count) octets, the MTU is 48") }
    }

    /// HFP as text to a gateway, or with kind 1 to a hands-free unit, in pieces.
    static let handsFree = FuzzTarget(
        name: "hfp", layer: { _ in nil },
        seeds: {
            let commands = [
                "AT+BRSF=671\r", "AT+BAC=1,2\r", "AT+CIND=?\r", "AT+CIND?\r", "AT+CMER=3,0,0,1\r", "AT+CHLD=?\r", "AT+BIND=1,2\r",
                "AT+BIND?\r",
                "AT+BCS=2\r", "AT+BCC\r", "ATD123;\r", "AT+BIA=,1,,0\r", "AT+VGS=\"15\"\r", "AT+CLIP=1\rAT+CCWA=1\r",
            ]
            let results = [
                "\r\n+BRSF: 1537\r\n\r\nOK\r\n", "\r\n+CIND: (\"call\",(0,1)),(\"signal\",(0-5))\r\n\r\nOK\r\n",
                "\r\n+CIND: 1,2\r\n\r\nOK\r\n",
                "\r\nOK\r\n", "\r\n+CIEV: 1,1\r\n", "\r\n+BCS: 2\r\n", "\r\nERROR\r\n", "\r\n+CME ERROR: 30\r\n", "\r\nRING\r\n",
            ]
            func frames(_ texts: [String], _ kind: Int) -> [UInt8] {
                Frames(texts.map { Frames.Frame(action: .init(end: 0, kind: kind), packet: [UInt8]($0.utf8)) }).octets()
            }
            return [frames(commands, 0), frames(results, 1)] + commands.map { frames([$0], 0) } + results.map { frames([$0], 1) }
        },
        run: { input in
            var gateway = HFPAudioGateway(features: [.threeWayCalling, .codecNegotiation, .indicators])
            var unit = HFPHandsFree(features: [.threeWayCalling, .codecNegotiation, .indicators])
            _ = unit.start(at: 0)
            for frame in Frames(input).list {
                let lines = frame.packet.filter { $0 == 0x0D || $0 == 0x0A }.count
                switch frame.action.kind {
                case 1, 3:
                    let actions = unit.receive(frame.packet, at: 0)
                    try promise(actions.count <= 3 * lines, "\(actions.count) actions for \(lines) lines")
                default:
                    let actions = gateway.receive(frame.packet, at: 0)
                    try promise(actions.count <= 6 * lines, "\(actions.count) actions for \(lines) lines")
                }
                if frame.action.kind == 2 { _ = gateway.selectCodec(at: 0) + unit.requestAudio(at: 0) }
            }
            let answer = gateway.receive([UInt8]("\rAT+CIND?\r".utf8), at: 0)
            try promise(answer.count >= 2, "the gateway does not answer")
            for _ in 0..<64 { if let deadline = unit.deadline { _ = unit.expire(at: deadline) } }
            try promise(unit.deadline == nil, "a command without an end")
        })
}
