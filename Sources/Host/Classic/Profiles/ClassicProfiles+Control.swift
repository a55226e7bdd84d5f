import BBPackets

/// AVRCP: registers for changes on the peer, repeatedly. AVRCP 1.6, 6.7.
extension ClassicProfiles {
    /// A phone registers for volume changes, an accessory for the playback status.
    private var followed: AVRCPEvent { role == .phone ? .volumeChanged : .playbackStatusChanged }

    mutating func control(_ actions: [AVRCPAction], at now: Microseconds) -> [ProfileAction] {
        actions.flatMap { action -> [ProfileAction] in
            switch action {
            case .send(let octets): return number(of: .control).map { [.send($0, octets)] } ?? []
            case .key(let key, let isPressed): return [.step(.key(key, isPressed: isPressed))]
            case .volume(let volume): return [.step(.volume(volume))]
            case .answered(let request, let result): return answered(request, result, at: now)
            }
        }
    }

    /// Presses and releases a key of the peer. AVRCP 1.6, 6.
    public mutating func press(_ key: AVRCPKey, at now: Microseconds) -> [ProfileAction] {
        guard number(of: .control) != nil else { return [] }
        return control(avrcp.send(.press(key), at: now) + avrcp.send(.press(key, isReleased: true), at: now), at: now)
    }

    private mutating func answered(_ request: AVRCPRequest, _ result: AVRCPResult, at now: Microseconds) -> [ProfileAction] {
        switch (request, result) {
        case (.supportedEvents, .events(let events)):
            guard events.contains(followed) else { return done(.avrcp) }
            return control(avrcp.send(.register(followed), at: now), at: now)
        case (.register, .interim(let value)): return pending.contains(.avrcp) ? [.step(.remoteControl(value))] + done(.avrcp) : []
        case (.register(let event, _), .changed(let value)):
            return [.step(.changed(value))] + control(avrcp.send(.register(event), at: now), at: now)
        case (.supportedEvents, _), (.register, _): return failed(.avrcp, "\(result)")
        case (.press, _), (.unitInfo, _), (.subunitInfo, _), (.playStatus, _), (.elementAttributes, _), (.setAbsoluteVolume, _): return []
        }
    }
}
