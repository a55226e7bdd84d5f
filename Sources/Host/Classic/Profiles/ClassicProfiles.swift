import Packets

/// Profiles that are set up together over BR/EDR.
public enum ClassicProfile: Sendable, Hashable, CaseIterable {
    case a2dp
    case hfp
    case avrcp
}

/// What an L2CAP channel of a link is for.
public enum ProfileChannel: Sendable, Hashable, CaseIterable {
    case discovery
    /// RFCOMM.
    case serial
    /// AVDTP's first channel, and its second.
    case signaling
    case media
    /// AVCTP.
    case control

    public var psm: UInt16 {
        switch self {
        case .discovery: ClassicPSM.sdp
        case .serial: ClassicPSM.rfcomm
        case .signaling, .media: ClassicPSM.avdtp
        case .control: ClassicPSM.avctp
        }
    }
}

/// How far the profiles are.
public enum ProfileStep: Sendable, Hashable {
    /// The other side's records have the profile, or do not.
    case found(ClassicProfile)
    case missing(ClassicProfile)
    /// A stream is set up with this codec, its media channel is there, packets flow, or it is gone.
    case configured(SBCParameters)
    case mediaOpen
    case streaming
    case streamEnded
    case serviceLevelConnection
    case codec(HFPCodec)
    /// The remote control is there: what its first event said.
    case remoteControl(AVRCPNotification)
    case changed(AVRCPNotification)
    case volume(UInt8)
    case key(AVRCPKey, isPressed: Bool)
    case failed(ClassicProfile, String)
    /// Nothing that was asked for is open any more.
    case finished
}

public enum ProfileAction: Sendable, Hashable {
    /// An L2CAP channel is to be opened; `channelOpened` or `channelFailed` follows.
    case open(ProfileChannel)
    case send(Int, [UInt8])
    case close(Int)
    case step(ProfileStep)
}

/// The profiles of one BR/EDR link, in both directions: what a phone or an accessory answers, and what either sets up on its own:
/// service discovery, then A2DP's stream, HFP's service level connection and AVRCP's control channel. Channels go by the numbers that
/// whoever has the link gives them.
public struct ClassicProfiles: Sendable {
    public enum Role: Sendable {
        /// Source of audio, audio gateway, player.
        case phone
        /// Sink of audio, hands-free unit, loudspeaker.
        case accessory
    }

    struct Channel: Sendable {
        var purpose: ProfileChannel
        var mtu: Int
        var isOwn: Bool
    }

    static let endpoint: UInt8 = 1
    static let serverChannel: UInt8 = 1

    public let role: Role
    public let server: SDPServer
    var channels: [Int: Channel] = [:]
    /// What was asked for and is not done.
    public internal(set) var pending: Set<ClassicProfile> = []
    var wanted: [ClassicProfile] = []
    /// The server channel of the other side's HFP.
    var peerServerChannel: UInt8 = 0
    var client = SDPClient()
    var avdtp = AVDTPSession(endpoints: [])
    var rfcomm: RFCOMMSession?
    var avrcp: AVRCPSession
    var unit: HFPHandsFree
    var gateway: HFPAudioGateway
    /// The connection of RFCOMM that HFP has.
    var callLink: UInt8?
    public internal(set) var source: A2DPSource?
    public internal(set) var sink: A2DPSink?

    public init(_ role: Role) {
        self.role = role
        let isAccessory = role == .accessory
        var server = SDPServer()
        server.add(.audio(isSink: isAccessory))
        server.add(
            isAccessory
                ? .handsFree(channel: Self.serverChannel, features: 0x0020) : .audioGateway(channel: Self.serverChannel, features: 0x0020))
        server.add(.remoteControl(isTarget: true))
        server.add(.remoteControl(isTarget: false))
        self.server = server
        avrcp = AVRCPSession(target: isAccessory ? .loudspeaker : .player)
        unit = HFPHandsFree(features: [.codecNegotiation, .indicators, .remoteVolume])
        gateway = HFPAudioGateway(features: [.codecNegotiation, .indicators, .rejectsCalls])
    }

    /// When `expire` is due.
    public var deadline: Microseconds? {
        let hfp = role == .phone ? gateway.deadline : unit.deadline
        return [client.deadline, avdtp.deadline, rfcomm?.deadline, avrcp.deadline, hfp, source?.deadline].compactMap { $0 }.min()
    }

    // MARK: Channels

    func number(of purpose: ProfileChannel) -> Int? { channels.filter { $0.value.purpose == purpose }.keys.min() }

    /// Whether a channel that the other side opens has a use.
    public func accepts(psm: UInt16) -> Bool {
        switch psm {
        case ClassicPSM.sdp: true
        case ClassicPSM.rfcomm: number(of: .serial) == nil
        case ClassicPSM.avctp: number(of: .control) == nil
        case ClassicPSM.avdtp: number(of: .signaling) == nil || avdtp.endpointAwaitingMedia != nil && number(of: .media) == nil
        default: false
        }
    }

    /// The other side has opened a channel, which `accepts` allowed.
    public mutating func channelAccepted(_ number: Int, psm: UInt16, mtu: Int, at now: Microseconds) -> [ProfileAction] {
        guard accepts(psm: psm), channels[number] == nil else { return [.close(number)] }
        let purposes = ProfileChannel.allCases.filter { $0.psm == psm }
        let purpose = purposes.first == .signaling && self.number(of: .signaling) != nil ? .media : purposes.first ?? .discovery
        channels[number] = Channel(purpose: purpose, mtu: mtu, isOwn: false)
        switch purpose {
        case .discovery: return []
        case .serial:
            rfcomm = RFCOMMSession(.acceptor, serialSettings(mtu))
            return []
        case .signaling:
            avdtp = AVDTPSession(endpoints: [ownEndpoint], mtu: mtu)
            return []
        case .media: return mediaOpened(at: now)
        case .control:
            avrcp = AVRCPSession(target: avrcp.target, mtu: mtu)
            return []
        }
    }

    /// A channel that `open` asked for is there.
    public mutating func channelOpened(_ number: Int, _ purpose: ProfileChannel, mtu: Int, at now: Microseconds) -> [ProfileAction] {
        guard channels[number] == nil else { return [] }
        channels[number] = Channel(purpose: purpose, mtu: mtu, isOwn: true)
        switch purpose {
        case .discovery: return discovered(client.start(.searchAttributes([.l2capProtocol], [.all]), at: now), at: now)
        case .serial:
            var session = RFCOMMSession(.initiator, serialSettings(mtu))
            let actions = session.open(channel: peerServerChannel, at: now)
            rfcomm = session
            return serial(actions, at: now)
        case .signaling:
            avdtp = AVDTPSession(endpoints: [ownEndpoint], mtu: mtu)
            return audio(avdtp.send(.discover, at: now), at: now)
        case .media: return mediaOpened(at: now)
        case .control:
            avrcp = AVRCPSession(target: avrcp.target, mtu: mtu)
            return control(avrcp.send(.supportedEvents, at: now), at: now)
        }
    }

    /// A channel that `open` asked for was refused.
    public mutating func channelFailed(_ purpose: ProfileChannel, at now: Microseconds) -> [ProfileAction] {
        switch purpose {
        case .discovery: wanted.flatMap { failed($0, "no channel for service discovery") }
        case .serial: failed(.hfp, "no channel for RFCOMM")
        case .signaling, .media: failed(.a2dp, "no channel for AVDTP")
        case .control: failed(.avrcp, "no channel for AVCTP")
        }
    }

    public mutating func channelClosed(_ number: Int, at now: Microseconds) -> [ProfileAction] {
        guard let channel = channels.removeValue(forKey: number) else { return [] }
        switch channel.purpose {
        case .discovery: return channel.isOwn && client.isBusy ? discovered(client.expire(), at: now) : []
        case .serial:
            let actions = rfcomm?.channelClosed() ?? []
            return serial(actions, at: now)
        case .signaling: return audio(avdtp.channelClosed(), at: now)
        case .media: return audio(avdtp.mediaClosed(Self.endpoint), at: now)
        case .control: return failed(.avrcp, "the channel was closed")
        }
    }

    public mutating func receive(_ number: Int, _ octets: [UInt8], at now: Microseconds) -> [ProfileAction] {
        guard let channel = channels[number] else { return [] }
        switch channel.purpose {
        case .discovery where channel.isOwn: return discovered(client.receive(octets, at: now), at: now)
        case .discovery: return server.receive(octets, mtu: channel.mtu).map { [.send(number, $0)] } ?? []
        case .serial:
            let actions = rfcomm?.receive(octets, at: now) ?? []
            return serial(actions, at: now)
        case .signaling: return audio(avdtp.receive(octets, at: now), at: now)
        case .media:
            sink?.receive(octets)
            return []
        case .control: return control(avrcp.receive(octets, at: now), at: now)
        }
    }

    public mutating func expire(at now: Microseconds) -> [ProfileAction] {
        var actions: [ProfileAction] = []
        if let due = client.deadline, due <= now { actions += discovered(client.expire(), at: now) }
        if let due = rfcomm?.deadline, due <= now {
            let late = rfcomm?.expire(at: now) ?? []
            actions += serial(late, at: now)
        }
        actions += audio(avdtp.expire(at: now), at: now)
        actions += control(avrcp.expire(at: now), at: now)
        actions += calls(role == .phone ? gateway.expire(at: now) : unit.expire(at: now), at: now)
        if let media = number(of: .media) { actions += (source?.expire(at: now) ?? []).map { .send(media, $0) } }
        return actions
    }

    // MARK: What was asked for

    /// Sets profiles up: looks for them in the other side's records first.
    public mutating func connect(_ profiles: [ClassicProfile], at now: Microseconds) -> [ProfileAction] {
        guard pending.isEmpty, !profiles.isEmpty else { return [] }
        wanted = profiles
        pending = Set(profiles)
        return [.open(.discovery)]
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
