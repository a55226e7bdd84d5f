import BBPackets

/// State of HFP's audio connection.
enum AudioStage: Sendable {
    case none
    case opening
    case open(HFPVoice)
}

/// HFP's audio connection: the gateway opens it once the codec is negotiated, the hands-free unit accepts it. HFP 1.8, 4.11.
extension ClassicProfiles {
    /// Voice of the open audio connection; nil without one.
    public var voice: HFPVoice? { if case .open(let voice) = audioStage { voice } else { nil } }

    /// True if an audio connection is open or being opened.
    public var hasAudio: Bool { if case .none = audioStage { false } else { true } }

    /// Opens the audio connection as gateway; a hands-free unit waits.
    mutating func openAudio(_ codec: HFPCodec) -> [ProfileAction] {
        guard role == .phone, !hasAudio else { return [] }
        audioStage = .opening
        let hasS4 = gateway.features.contains(.eSCOSettingsS4) && gateway.handsFreeFeatures?.contains(.eSCOSettingsS4) == true
        return [.openAudio(SynchronousSettings.offers(of: codec, hasS4: hasS4))]
    }

    /// Accepted settings for a synchronous connection requested by the peer; nil to reject it. Coded voice needs eSCO.
    public func synchronousSettings(for type: LinkType) -> SynchronousSettings? {
        guard role == .accessory, unit.isConnected, !hasAudio else { return nil }
        let codec = unit.codecOfAudio
        return codec == .mSBC && type != .eSCO ? nil : .accepted(by: codec)
    }

    /// The synchronous connection, requested by either device, is open.
    public mutating func audioOpened(isExtended: Bool, at now: Microseconds) -> [ProfileAction] {
        // It was closed while it was being opened.
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

    /// Closes the audio connection, or cancels its opening.
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
