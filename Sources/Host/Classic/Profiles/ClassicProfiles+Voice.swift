import Packets

/// How far HFP's audio connection is.
enum AudioStage: Sendable {
    case none
    case opening
    case open(HFPVoice)
}

/// HFP's audio connection: the gateway asks for it once the codec is agreed on, the hands-free unit accepts it. HFP 1.8, 4.11.
extension ClassicProfiles {
    /// What goes out and comes in while there is an audio connection.
    public var voice: HFPVoice? { if case .open(let voice) = audioStage { voice } else { nil } }

    /// Whether there is an audio connection, or will be.
    public var hasAudio: Bool { if case .none = audioStage { false } else { true } }

    /// A hands-free unit leaves it to the gateway.
    mutating func openAudio(_ codec: HFPCodec) -> [ProfileAction] {
        guard role == .phone, !hasAudio else { return [] }
        audioStage = .opening
        let hasS4 = gateway.features.contains(.eSCOSettingsS4) && gateway.handsFreeFeatures?.contains(.eSCOSettingsS4) == true
        return [.openAudio(SynchronousSettings.offers(of: codec, hasS4: hasS4))]
    }

    /// What this side takes of a synchronous connection that the other side asks for; nil to refuse it. Coded voice wants eSCO.
    public func synchronousSettings(for type: LinkType) -> SynchronousSettings? {
        guard role == .accessory, unit.isConnected, !hasAudio else { return nil }
        let codec = unit.codecOfAudio
        return codec == .mSBC && type != .eSCO ? nil : .accepted(by: codec)
    }

    /// The synchronous connection is there, whoever has asked for it.
    public mutating func audioOpened(isExtended: Bool, at now: Microseconds) -> [ProfileAction] {
        // It was given up while it was under way.
        if role == .phone, !hasAudio { return [.closeAudio] }
        var voice = HFPVoice(role == .phone ? gateway.codec : unit.codecOfAudio)
        voice.start(at: now)
        audioStage = .open(voice)
        return [.step(.audio(voice.codec, isExtended: isExtended))]
    }

    public mutating func audioFailed(_ why: String) -> [ProfileAction] {
        guard case .opening = audioStage else { return [] }
        audioStage = .none
        return [.step(.audioRefused(why))]
    }

    public mutating func audioClosed() -> [ProfileAction] {
        guard let voice else { return [] }
        audioStage = .none
        return [.step(.audioEnded(voice.codec))]
    }

    /// Ends the audio connection, or waits for it no longer.
    public mutating func endAudio() -> [ProfileAction] {
        switch audioStage {
        case .none: return []
        case .opening: return audioFailed("the other side has not answered")
        case .open: return [.closeAudio]
        }
    }

    public mutating func receive(voice octets: [UInt8]) {
        guard var voice else { return }
        voice.receive(octets)
        audioStage = .open(voice)
    }

    mutating func voiceDue(at now: Microseconds) -> [ProfileAction] {
        guard var voice else { return [] }
        let due = voice.expire(at: now)
        audioStage = .open(voice)
        return due.map { .sendVoice($0) }
    }
}
