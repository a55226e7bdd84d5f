import BBPackets

/// A2DP: a source discovers a sink's end point, or a sink a source's, and configures SBC. A2DP 1.3, 4.4; AVDTP 1.3, 6.
extension ClassicProfiles {
    var ownEndpoint: AVDTPEndpoint { .sbc(seid: Self.endpoint, isSink: role == .accessory) }

    mutating func audio(_ actions: [AVDTPAction], at now: Microseconds) -> [ProfileAction] {
        actions.flatMap { action -> [ProfileAction] in
            switch action {
            case .send(let octets): return number(of: .signaling).map { [.send($0, octets)] } ?? []
            case .answered(let command, let response): return answered(command, response, at: now)
            case .changed(_, let state): return changed(state, at: now)
            case .openMedia: return [.open(.media)]
            case .closeMedia: return number(of: .media).map { [.close($0)] } ?? []
            case .reconfigured, .delay: return []
            }
        }
    }

    /// Handles a response and sends the next command, up to the media channel.
    private mutating func answered(_ command: AVDTPCommand, _ response: AVDTPResponse, at now: Microseconds) -> [ProfileAction] {
        switch (command, response) {
        case (.discover, .endpoints(let list)):
            guard let other = list.first(where: { !$0.isInUse && $0.mediaType == 0 && $0.isSink == (role == .phone) }) else {
                return failed(.a2dp, "no end point is free")
            }
            return audio(avdtp.send(.getAllCapabilities(other.seid), at: now), at: now)
        // A peer older than AVDTP 1.3 does not know the signal.
        case (.getAllCapabilities(let seid), .notKnown), (.getAllCapabilities(let seid), .rejected(.notSupportedCommand, _)):
            return audio(avdtp.send(.getCapabilities(seid), at: now), at: now)
        case (.getAllCapabilities(let seid), .capabilities(let list)), (.getCapabilities(let seid), .capabilities(let list)):
            let own = ownEndpoint.capabilities.compactMap(\.sbc).first
            guard let setting = list.compactMap(\.sbc).first.flatMap({ own?.setting(with: $0) }) else {
                return failed(.a2dp, "no setting of SBC that both can do")
            }
            let configuration: [AVDTPCapability] = [.init(.mediaTransport), .sbc(setting)]
            return audio(
                avdtp.send(.setConfiguration(acceptor: seid, initiator: Self.endpoint, configuration), at: now), at: now)
        case (.setConfiguration(let seid, _, _), .accepted): return audio(avdtp.send(.open(seid), at: now), at: now)
        case (_, .accepted), (_, .capabilities), (_, .endpoints), (_, .security): return []
        case (let command, .rejected(let code, _)):
            return failed(.a2dp, "\(command.signal) was rejected with \(Hex.number(code.rawValue))")
        case (let command, .notKnown), (let command, .malformed), (let command, .timedOut):
            return failed(.a2dp, "\(command.signal): \(response)")
        }
    }

    private var stream: AVDTPStream? { avdtp.streams[Self.endpoint] }
    private var parameters: SBCParameters? { stream?.configuration.compactMap(\.sbc).first.flatMap { SBCParameters($0) } }

    private mutating func changed(_ state: AVDTPStream.State, at now: Microseconds) -> [ProfileAction] {
        switch state {
        case .configured: return parameters.map { [.step(.configured($0))] } ?? []
        case .streaming:
            isStreaming = true
            source?.start(at: now)
            return [.step(.streaming)] + done(.a2dp)
        case .open, .closing, .aborting:
            source?.stop()
            defer { isStreaming = false }
            return isStreaming ? [.step(.suspended)] : []
        case .idle:
            source?.stop()
            isStreaming = false
            return [.step(.streamEnded)] + failed(.a2dp, "the stream has ended")
        }
    }

    /// Suspends or restarts the stream, as a phone does. AVDTP 1.3, 6.9 and 6.10.
    public mutating func setStreaming(_ isStreaming: Bool, at now: Microseconds) -> [ProfileAction] {
        guard role == .phone, let stream, stream.hasMedia, stream.state == (isStreaming ? .open : .streaming) else { return [] }
        return audio(avdtp.send(isStreaming ? .start([stream.remote]) : .suspend([stream.remote]), at: now), at: now)
    }

    /// The media channel is open. A source starts the stream; a sink is done.
    mutating func mediaOpened(at now: Microseconds) -> [ProfileAction] {
        avdtp.mediaOpened(Self.endpoint)
        guard let stream, let parameters, let mtu = number(of: .media).flatMap({ channels[$0]?.mtu }) else { return [] }
        guard role == .phone else {
            sink = A2DPSink(parameters)
            return [.step(.mediaOpen)] + done(.a2dp)
        }
        source = A2DPSource(parameters, mtu: mtu)
        return [.step(.mediaOpen)] + audio(avdtp.send(.start([stream.remote]), at: now), at: now)
    }
}
