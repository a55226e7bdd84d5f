import BBHost
import BBPackets

/// BR/EDR profiles for another program that implements the peer: `profile NAME VERB WORD...`. An answer contains the sent octets and the reports, as
/// text. Time does not advance.
///   element HEX                       an SDP data element, decoded and encoded again
///   sdp MTU HEX                       a PDU to a server with the records of all profiles
///   query search|attributes|both WORD a request of a client for all attributes; then `response HEX`
///   rfcomm new initiator|acceptor MTU, open CHANNEL, receive HEX, send DLCI HEX, close DLCI
///   avdtp new source|sink, receive HEX, discover, capabilities SEID, configure REMOTE, open|start|suspend|close|abort REMOTE, media opened|closed
///   avrcp new player|loudspeaker, receive HEX, press KEY, events, register EVENT, volume VALUE, titles
///   handsfree new FEATURES, start, audio, receive HEX; gateway new FEATURES, codec, receive HEX
///   sbc FREQUENCY BLOCKS MODE ALLOCATION SUBBANDS BITPOOL CYCLE COUNT   frames of a tone, and its samples
final class ProfileSessions {
    private static let now = Microseconds.zero
    private var now: Microseconds { Self.now }
    private let server: SDPServer
    private var client = SDPClient()
    private var rfcomm = RFCOMMSession(.initiator)
    private var avdtp = AVDTPSession(endpoints: [])
    private var avrcp = AVRCPSession()
    private var unit = HFPHandsFree(features: [])
    private var gateway = HFPAudioGateway(features: [])

    init() {
        var server = SDPServer()
        for record in [
            SDPRecord.attributeService(from: 1, to: 9), .serialPort(channel: 1), .audio(isSink: false), .audio(isSink: true),
            .remoteControl(isTarget: true, hasBrowsing: true), .remoteControl(isTarget: false), .handsFree(channel: 2, features: 0x3F),
            .audioGateway(channel: 3, features: 0x3F),
        ] {
            server.add(record)
        }
        self.server = server
    }

    func answer(_ words: [String]) -> String {
        guard let name = words.first else { return Self.unknown(words) }
        let rest = Array(words.dropFirst())
        let hex = rest.last.flatMap { Hex.parse($0) } ?? []
        switch name {
        case "element": return element(hex)
        case "sdp" where rest.count == 2:
            return Self.result(server.receive(hex, mtu: Int(rest[0]) ?? 48).map { [.sent($0)] } ?? [])
        case "query" where rest.count == 2: return query(rest[0], rest[1])
        case "response": return Self.result(client.receive(hex, at: now).map(Self.event))
        case "rfcomm": return rfcomm(rest, hex)
        case "avdtp": return avdtp(rest, hex)
        case "avrcp": return avrcp(rest, hex)
        case "handsfree", "gateway": return handsFree(name, rest, hex)
        case "sbc": return sbc(rest.compactMap { Int($0) })
        default: return Self.unknown(words)
        }
    }

    // MARK: Answers

    private enum Event {
        case sent([UInt8])
        case reported(String)
    }

    private static func result(_ events: [Event]) -> String {
        let sent = events.compactMap { if case .sent(let octets) = $0 { JSON.hex(octets) } else { nil } }
        let reports = events.compactMap { if case .reported(let text) = $0 { JSON.string(text) } else { nil } }
        return JSON.object([("sent", JSON.array(sent)), ("reports", JSON.array(reports))])
    }

    private static func unknown(_ words: [String]) -> String {
        JSON.object([("error", JSON.string("what is \(words.joined(separator: " "))?"))])
    }

    private static func event(_ action: SDPClientAction) -> Event {
        if case .send(let octets) = action { .sent(octets) } else { .reported("\(action)") }
    }
    private static func event(_ action: RFCOMMAction) -> Event {
        switch action {
        case .send(let octets): .sent(octets)
        case .received(let dlci, let octets): .reported("received \(dlci) \(Hex.octets(octets))")
        default: .reported("\(action)")
        }
    }
    private static func event(_ action: AVDTPAction) -> Event {
        if case .send(let octets) = action { .sent(octets) } else { .reported("\(action)") }
    }
    private static func event(_ action: AVRCPAction) -> Event {
        if case .send(let octets) = action { .sent(octets) } else { .reported("\(action)") }
    }
    private static func event(_ action: HFPAction) -> Event {
        if case .send(let octets) = action { .sent(octets) } else { .reported("\(action)") }
    }

    // MARK: Profiles

    private func element(_ octets: [UInt8]) -> String {
        var reader = ByteReader(octets.span.bytes)
        do {
            let element = try SDPDataElement(from: &reader)
            return JSON.object([
                ("encoded", JSON.hex(element.octets)), ("trailing", "\(reader.remaining)"), ("text", JSON.string("\(element)")),
            ])
        } catch { return JSON.object([("problem", JSON.string("\(error)"))]) }
    }

    private func query(_ kind: String, _ word: String) -> String {
        let uuid = BluetoothUUID(word).map { [$0] } ?? []
        let query: SDPQuery =
            switch kind {
            case "search": .search(uuid)
            case "attributes": .attributes(UInt32(word) ?? 0, [.all])
            default: .searchAttributes(uuid, [.all])
            }
        return Self.result(client.start(query, at: now).map(Self.event))
    }

    private func rfcomm(_ words: [String], _ hex: [UInt8]) -> String {
        let number = words.dropFirst().first.flatMap { UInt8($0) } ?? 0
        let actions: [RFCOMMAction]
        switch words.first {
        case "new" where words.count == 3:
            let settings = RFCOMMSettings(services: [1, 5], mtu: Int(words[2]) ?? 672)
            rfcomm = RFCOMMSession(words[1] == "initiator" ? .initiator : .acceptor, settings)
            actions = []
        case "open": actions = rfcomm.open(channel: number, at: now)
        case "receive": actions = rfcomm.receive(hex, at: now)
        case "send": actions = rfcomm.send(hex, on: number) ?? []
        case "close": actions = rfcomm.close(number, at: now)
        default: return Self.unknown(words)
        }
        return Self.result(actions.map(Self.event))
    }

    private func avdtp(_ words: [String], _ hex: [UInt8]) -> String {
        let seid = words.dropFirst().first.flatMap { UInt8($0) } ?? 1
        let command: AVDTPCommand
        switch words.first {
        case "new":
            avdtp = AVDTPSession(endpoints: [.sbc(seid: 1, isSink: words.last == "sink")])
            return Self.result([])
        case "receive": return Self.result(avdtp.receive(hex, at: now).map(Self.event))
        case "media" where words.last == "opened":
            avdtp.mediaOpened(1)
            return Self.result([])
        case "media": return Self.result(avdtp.mediaClosed(1).map(Self.event))
        case "discover": command = .discover
        case "capabilities": command = .getAllCapabilities(seid)
        case "configure":
            let setting = SBCCapabilities([.hz44100, .jointStereo], [.blocks16, .subbands8, .loudness], bitpool: 2...53)
            command = .setConfiguration(acceptor: seid, initiator: 1, [.init(.mediaTransport), .sbc(setting)])
        case "open": command = .open(seid)
        case "start": command = .start([seid])
        case "suspend": command = .suspend([seid])
        case "close": command = .close(seid)
        case "abort": command = .abort(seid)
        default: return Self.unknown(words)
        }
        return Self.result(avdtp.send(command, at: now).map(Self.event))
    }

    private func avrcp(_ words: [String], _ hex: [UInt8]) -> String {
        let number = words.dropFirst().first.flatMap { UInt8($0) } ?? 0
        let request: AVRCPRequest
        switch words.first {
        case "new":
            avrcp = AVRCPSession(target: words.last == "player" ? .player : .loudspeaker)
            return Self.result([])
        case "receive": return Self.result(avrcp.receive(hex, at: now).map(Self.event))
        case "press": request = .press(AVRCPKey(number))
        case "events": request = .supportedEvents
        case "register": request = .register(AVRCPEvent(number))
        case "volume": request = .setAbsoluteVolume(number)
        case "titles": request = .elementAttributes([1, 2])
        case "changed": return Self.result(avrcp.changed(.volume(number)).map(Self.event))
        default: return Self.unknown(words)
        }
        return Self.result(avrcp.send(request, at: now).map(Self.event))
    }

    private func handsFree(_ name: String, _ words: [String], _ hex: [UInt8]) -> String {
        let actions: [HFPAction]
        switch (name, words.first) {
        case ("handsfree", "new"):
            unit = HFPHandsFree(features: HFPHandsFreeFeatures(rawValue: words.last.flatMap { UInt32($0) } ?? 0))
            actions = []
        case ("handsfree", "start"): actions = unit.start(at: now)
        case ("handsfree", "audio"): actions = unit.requestAudio(at: now)
        case ("handsfree", "receive"): actions = unit.receive(hex, at: now)
        case ("gateway", "new"):
            gateway = HFPAudioGateway(features: HFPAudioGatewayFeatures(rawValue: words.last.flatMap { UInt32($0) } ?? 0))
            actions = []
        case ("gateway", "codec"): actions = gateway.selectCodec(at: now)
        case ("gateway", "receive"): actions = gateway.receive(hex, at: now)
        default: return Self.unknown(words)
        }
        return Self.result(actions.map(Self.event))
    }

    private func sbc(_ numbers: [Int]) -> String {
        guard numbers.count == 8, let mode = SBCParameters.ChannelMode(rawValue: UInt8(truncatingIfNeeded: numbers[2])),
            let allocation = SBCParameters.Allocation(rawValue: UInt8(truncatingIfNeeded: numbers[3])),
            let parameters = SBCParameters(
                frequency: numbers[0], blocks: numbers[1], mode: mode, allocation: allocation, subbands: numbers[4], bitpool: numbers[5])
        else { return Self.unknown(["sbc"]) }
        var encoder = SBCEncoder(parameters)
        // The second channel has another tone with half the amplitude.
        var tones = [Tone(cycle: numbers[6], amplitude: 12_000), Tone(cycle: numbers[6] * 3, amplitude: 6_000)]
        var samples = [[Int16]](repeating: [], count: mode.channels)
        var frames: [String] = []
        for _ in 0..<min(numbers[7], 1_000) {
            let next = (0..<mode.channels).map { channel in (0..<parameters.samples).map { _ in tones[channel].next() } }
            for channel in next.indices { samples[channel] += next[channel] }
            frames.append(JSON.hex(encoder.frame(next) ?? []))
        }
        let text = samples.map { JSON.array($0.map { "\($0)" }) }
        return JSON.object([("frames", JSON.array(frames)), ("samples", JSON.array(text))])
    }
}
