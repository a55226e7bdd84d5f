import BBPackets

/// Profiles that are set up together on BR/EDR.
public enum ClassicProfile: Sendable, Hashable, CaseIterable {
    case a2dp
    case hfp
    case avrcp
}

/// Purpose of a channel.
public enum ProfileChannel: Sendable, Hashable, CaseIterable {
    /// A serial port over RFCOMM.
    case serial
    /// AVDTP's first and second channel.
    case signaling
    case media
    /// AVCTP.
    case control

    var profile: ClassicProfile {
        switch self {
        case .serial: .hfp
        case .signaling, .media: .a2dp
        case .control: .avrcp
        }
    }

    /// PSM of an L2CAP channel; nil for a serial port.
    public var psm: UInt16? {
        switch self {
        case .serial: nil
        case .signaling, .media: PSM.avdtp
        case .control: PSM.avctp
        }
    }
}

/// Progress of the profiles.
public enum ProfileStep: Sendable, Hashable {
    /// The peer's records contain the profile, or do not.
    case found(ClassicProfile)
    case missing(ClassicProfile)
    /// Stages of a stream: codec configured, media channel open, started, suspended, released.
    case configured(SBCParameters)
    case mediaOpen
    case streaming
    case suspended
    case streamEnded
    case serviceLevelConnection
    case codec(HFPCodec)
    /// HFP's audio connection is open over eSCO or SCO, could not be opened, or was closed.
    case audio(HFPCodec, isExtended: Bool)
    case audioRefused(String)
    case audioEnded(HFPCodec)
    /// The remote control is connected; contains its first notification.
    case remoteControl(AVRCPNotification)
    case changed(AVRCPNotification)
    case volume(UInt8)
    case key(AVRCPKey, isPressed: Bool)
    case failed(ClassicProfile, String)
    /// No requested profile is pending any more.
    case finished
}

public enum ProfileAction: Sendable, Hashable {
    /// Read the peer's service records; `discovered` follows.
    case discover
    /// Open a channel, or a serial port to server channel `peerServerChannel`; `channelOpened` or `channelFailed` follows.
    case open(ProfileChannel)
    case send(Int, [UInt8])
    case close(Int)
    /// Request a synchronous connection with each setting in turn; `audioOpened` or `audioFailed` follows.
    case openAudio([SynchronousSettings])
    /// Send voice on the synchronous connection.
    case sendVoice([UInt8])
    /// Close the synchronous connection; `audioClosed` follows.
    case closeAudio
    case step(ProfileStep)
}

/// The profiles of one BR/EDR link in both roles: responses of a phone or an accessory, and procedures that either starts: A2DP's stream,
/// HFP's service level connection and AVRCP's control channel. The owner of the link numbers channels and serial ports, reads the peer's
/// service records, and publishes `records`.
public struct ClassicProfiles: Sendable {
    public enum Role: Sendable {
        /// Audio source, audio gateway, player.
        case phone
        /// Audio sink, hands-free unit, loudspeaker.
        case accessory
    }

    struct Channel: Sendable {
        var purpose: ProfileChannel
        var mtu: Int
    }

    static let endpoint: UInt8 = 1

    public let role: Role
    /// Profiles that the peer may set up.
    public let offered: Set<ClassicProfile>
    var channels: [Int: Channel] = [:]
    /// Requested profiles that are not complete.
    public internal(set) var pending: Set<ClassicProfile> = []
    var wanted: [ClassicProfile] = []
    /// Server channel of the peer's HFP.
    public internal(set) var peerServerChannel: UInt8 = 0
    var avdtp = AVDTPSession(endpoints: [])
    var avrcp: AVRCPSession
    var isStreaming = false
    var unit: HFPHandsFree
    var gateway: HFPAudioGateway
    public internal(set) var source: A2DPSource?
    public internal(set) var sink: A2DPSink?
    var audioStage = AudioStage.none

    public init(_ role: Role, offers offered: Set<ClassicProfile> = Set(ClassicProfile.allCases)) {
        (self.role, self.offered) = (role, offered)
        avrcp = AVRCPSession(target: role == .accessory ? .loudspeaker : .player)
        unit = HFPHandsFree(features: [.codecNegotiation, .indicators, .remoteVolume, .eSCOSettingsS4])
        gateway = HFPAudioGateway(features: [.codecNegotiation, .indicators, .rejectsCalls, .eSCOSettingsS4])
    }

    /// Service records of the offered profiles.
    ///
    /// - Parameter serverChannel: RFCOMM server channel of HFP.
    public static func records(of role: Role, _ offered: Set<ClassicProfile>, serverChannel: UInt8) -> [SDPRecord] {
        let isAccessory = role == .accessory
        var records: [SDPRecord] = []
        if offered.contains(.a2dp) { records.append(.audio(isSink: isAccessory)) }
        // Bit 5: wide band speech. HFP 1.8, 5.3.
        if offered.contains(.hfp) {
            records.append(
                isAccessory
                    ? .handsFree(channel: serverChannel, features: 0x0020) : .audioGateway(channel: serverChannel, features: 0x0020))
        }
        if offered.contains(.avrcp) { records += [.remoteControl(isTarget: true), .remoteControl(isTarget: false)] }
        return records
    }

    /// Time at which to call `expire`.
    public var deadline: Microseconds? {
        let hfp = role == .phone ? gateway.deadline : unit.deadline
        return [avdtp.deadline, avrcp.deadline, hfp, source?.deadline, voice?.deadline].compactMap { $0 }.min()
    }

    // MARK: Channels

    func number(of purpose: ProfileChannel) -> Int? { channels.filter { $0.value.purpose == purpose }.keys.min() }

    func isMedia(_ number: Int) -> Bool { channels[number]?.purpose == .media }

    /// Purpose of a channel that the peer opens; nil if there is none.
    public func purpose(ofPSM psm: UInt16) -> ProfileChannel? {
        switch psm {
        case PSM.avctp where offered.contains(.avrcp): number(of: .control) == nil ? .control : nil
        case PSM.avdtp where number(of: .signaling) == nil: offered.contains(.a2dp) ? .signaling : nil
        case PSM.avdtp: avdtp.endpointAwaitingMedia != nil && number(of: .media) == nil ? .media : nil
        default: nil
        }
    }

    /// The peer has opened a channel or a serial port with a purpose.
    public mutating func channelAccepted(_ number: Int, _ purpose: ProfileChannel, mtu: Int, at now: Microseconds) -> [ProfileAction] {
        guard self.number(of: purpose) == nil, channels[number] == nil else { return [.close(number)] }
        channels[number] = Channel(purpose: purpose, mtu: mtu)
        switch purpose {
        case .serial: return serialOpened(at: now)
        case .signaling:
            avdtp = AVDTPSession(endpoints: [ownEndpoint], mtu: mtu)
            return []
        case .media: return mediaOpened(at: now)
        case .control:
            avrcp = AVRCPSession(target: avrcp.target, mtu: mtu)
            return []
        }
    }

    /// A channel requested by `open` was opened.
    public mutating func channelOpened(_ number: Int, _ purpose: ProfileChannel, mtu: Int, at now: Microseconds) -> [ProfileAction] {
        // The peer may have opened one meanwhile; one channel of a kind is enough.
        guard self.number(of: purpose) == nil, channels[number] == nil else { return [.close(number)] + done(purpose.profile) }
        channels[number] = Channel(purpose: purpose, mtu: mtu)
        switch purpose {
        case .serial: return serialOpened(at: now)
        case .signaling:
            avdtp = AVDTPSession(endpoints: [ownEndpoint], mtu: mtu)
            return audio(avdtp.send(.discover, at: now), at: now)
        case .media: return mediaOpened(at: now)
        case .control:
            avrcp = AVRCPSession(target: avrcp.target, mtu: mtu)
            return control(avrcp.send(.supportedEvents, at: now), at: now)
        }
    }

    /// A channel requested by `open` was rejected.
    public mutating func channelFailed(_ purpose: ProfileChannel, _ why: String = "refused", at now: Microseconds) -> [ProfileAction] {
        switch purpose {
        case .serial: failed(.hfp, "no serial port: \(why)")
        case .signaling, .media: failed(.a2dp, "no channel for AVDTP: \(why)")
        case .control: failed(.avrcp, "no channel for AVCTP: \(why)")
        }
    }

    public mutating func channelClosed(_ number: Int, at now: Microseconds) -> [ProfileAction] {
        guard let channel = channels.removeValue(forKey: number) else { return [] }
        switch channel.purpose {
        case .serial:
            gateway = HFPAudioGateway(features: gateway.features)
            unit = HFPHandsFree(features: unit.features)
            return endAudio() + failed(.hfp, "the serial port was closed")
        case .signaling: return audio(avdtp.channelClosed(), at: now)
        case .media: return audio(avdtp.mediaClosed(Self.endpoint), at: now)
        case .control:
            avrcp = AVRCPSession(target: avrcp.target)
            return failed(.avrcp, "the channel was closed")
        }
    }

    public mutating func receive(_ number: Int, _ octets: [UInt8], at now: Microseconds) -> [ProfileAction] {
        guard let channel = channels[number] else { return [] }
        switch channel.purpose {
        case .serial: return calls(role == .phone ? gateway.receive(octets, at: now) : unit.receive(octets, at: now), at: now)
        case .signaling: return audio(avdtp.receive(octets, at: now), at: now)
        case .media:
            sink?.receive(octets)
            return []
        case .control: return control(avrcp.receive(octets, at: now), at: now)
        }
    }

    public mutating func expire(at now: Microseconds) -> [ProfileAction] {
        var actions = audio(avdtp.expire(at: now), at: now)
        actions += control(avrcp.expire(at: now), at: now)
        actions += calls(role == .phone ? gateway.expire(at: now) : unit.expire(at: now), at: now)
        actions += voiceDue(at: now)
        if let media = number(of: .media) { actions += (source?.expire(at: now) ?? []).map { .send(media, $0) } }
        return actions
    }

    // MARK: Requests

    /// Sets up profiles, after reading the peer's service records.
    public mutating func connect(_ profiles: [ClassicProfile]) -> [ProfileAction] {
        guard pending.isEmpty, !profiles.isEmpty else { return [] }
        wanted = profiles
        pending = Set(profiles)
        return [.discover]
    }

    mutating func done(_ profile: ClassicProfile) -> [ProfileAction] {
        guard pending.remove(profile) != nil, pending.isEmpty else { return [] }
        return [.step(.finished)]
    }

    mutating func failed(_ profile: ClassicProfile, _ text: String) -> [ProfileAction] {
        guard pending.contains(profile) else { return [] }
        return [.step(.failed(profile, text))] + done(profile)
    }
}
