import BBHost
import BBPackets
import BBTiming
import Foundation

/// A step of `bluebench bridge` as a line of JSON with names in snake case.
struct BridgeEvent: Encodable {
    var event: String
    /// Seconds since the start.
    var time = 0.0
    /// `phone` or `accessory`, if both are reported.
    var side: String?
    /// `le` or `br_edr`.
    var transport: String?
    var peer: String?
    var level: String?
    var model: String?
    var keySize: Int?
    /// The key type. Core Vol 4, Part E, 7.7.24.
    var keyType: UInt8?
    var number: String?
    var profile: String?
    var coding: String?
    var codec: String?
    var value: String?
    var reason: String?
    var packets: Int?
    var frames: Int?
    var lost: Int?
    var malformed: Int?
    var dropped: Int?
    /// The number of voice packets received, and of those that the controller has flagged.
    var taken: Int?
    var doubtful: Int?

    init(_ event: String, peer: String? = nil, profile: String? = nil, reason: String? = nil) {
        (self.event, self.peer, self.profile, self.reason) = (event, peer, profile, reason)
    }

    init(_ step: BridgeStep) {
        switch step {
        case .connected(let peer):
            self.init("connected", peer: peer.address.argument)
            transport = "le"
        case .paired(let result):
            self.init("paired", peer: result.peer.address.argument)
            (transport, level, model, keySize) = ("le", result.level.name, result.model?.rawValue, result.keySize)
        case .encrypted:
            self.init("encrypted")
            transport = "le"
        case .hasLinkKey(let type):
            self.init("link_key")
            keyType = type.rawValue
        case .paged(let peer):
            self.init("connected", peer: DeviceAddress(peer, kind: .public).argument)
            transport = "br_edr"
        case .secured(let level):
            self.init("encrypted")
            (transport, self.level) = ("br_edr", level.name)
        case .downgraded:
            self.init("downgraded", reason: Self.downgrade)
            transport = "br_edr"
        case .profile(let step): self.init(step)
        }
    }

    private init(_ step: ProfileStep) {
        switch step {
        case .found(let profile): self.init("found", profile: profile.name)
        case .missing(let profile): self.init("missing", profile: profile.name)
        case .configured(let coding):
            self.init("configured", profile: "a2dp")
            self.coding = coding.name
        case .mediaOpen: self.init("media_open", profile: "a2dp")
        case .streaming: self.init("streaming", profile: "a2dp")
        case .suspended: self.init("suspended", profile: "a2dp")
        case .streamEnded: self.init("stream_ended", profile: "a2dp")
        case .serviceLevelConnection: self.init("service_level_connection", profile: "hfp")
        case .codec(let codec):
            self.init("codec", profile: "hfp")
            self.codec = codec.name
        case .audio(let codec, let isExtended):
            self.init("audio", profile: "hfp")
            (self.codec, value) = (codec.name, isExtended ? "eSCO" : "SCO")
        case .audioRefused(let reason): self.init("no_audio", profile: "hfp", reason: reason)
        case .audioEnded(let codec):
            self.init("audio_ended", profile: "hfp")
            self.codec = codec.name
        case .remoteControl(let value):
            self.init("remote_control", profile: "avrcp")
            self.value = value.name
        case .changed(let value):
            self.init("changed", profile: "avrcp")
            self.value = value.name
        case .volume(let volume):
            self.init("volume", profile: "avrcp")
            value = "\(volume)"
        case .key(let key, let isPressed):
            self.init(isPressed ? "key_pressed" : "key_released", profile: "avrcp")
            value = Hex.number(key.rawValue)
        case .failed(let profile, let reason): self.init("failed", profile: profile.name, reason: reason)
        case .finished: self.init("finished")
        }
    }

    /// Returns the end of an audio connection with its statistics.
    static func audioEnded(_ session: ProfileSession, _ voice: HFPVoice) -> (BridgeEvent, String) {
        var event = BridgeEvent(.audioEnded(voice.codec))
        (event.packets, event.taken, event.doubtful) = (
            session.voicePacketsSent, session.voicePacketsReceived, session.voicePacketsDoubtful
        )
        let packets = "\(session.voicePacketsSent) packets sent, \(session.voicePacketsReceived) taken"
        guard voice.codec == .mSBC else { return (event, "\(line(.audioEnded(voice.codec))): \(packets)") }
        (event.frames, event.lost, event.malformed) = (voice.framesReceived, voice.framesLost, voice.malformed)
        let frames = "\(voice.framesReceived) frames of mSBC, \(voice.framesLost) lost, \(voice.malformed) malformed"
        return (event, "\(line(.audioEnded(voice.codec))): \(packets), \(frames)")
    }

    static let downgrade = "E0 encrypts the link although its key is one of Secure Connections: the peer has turned them off for BR/EDR"

    /// Describes a step in text.
    static func line(_ step: BridgeStep) -> String {
        switch step {
        case .connected(let peer): "connected to \(peer) over LE"
        case .paired(let result):
            "paired: \(result.model.map { "\($0.rawValue)" } ?? "bond"), key of \(result.keySize) octets, \(result.level.name)"
        case .encrypted: "encrypted with the key of the bond"
        case .hasLinkKey(let type): "a link key for BR/EDR: \(type)"
        case .paged(let peer): "connected to \(peer) over BR/EDR"
        case .secured(let level): "authenticated and encrypted with the link key: \(level.name)"
        case .downgraded: "warning: \(downgrade)"
        case .profile(let step): line(step)
        }
    }

    private static func line(_ step: ProfileStep) -> String {
        switch step {
        case .found(let profile): "\(profile.title): found"
        case .missing(let profile): "\(profile.title): the peer has no record of it"
        case .configured(let coding): "A2DP: stream set up, \(coding.name)"
        case .mediaOpen: "A2DP: channel for media open"
        case .streaming: "A2DP: streaming"
        case .suspended: "A2DP: suspended"
        case .streamEnded: "A2DP: the stream has ended"
        case .serviceLevelConnection: "HFP: service level connection"
        case .codec(let codec): "HFP: codec \(codec.name)"
        case .audio(let codec, let isExtended): "HFP: audio, \(codec.name) over \(isExtended ? "eSCO" : "SCO")"
        case .audioRefused(let reason): "HFP: no audio: \(reason)"
        case .audioEnded: "HFP: the audio connection has ended"
        case .remoteControl(let value): "AVRCP: control channel, \(value.name)"
        case .changed(let value): "AVRCP: \(value.name)"
        case .volume(let volume): "AVRCP: volume set to \(volume)"
        case .key(let key, let isPressed): "AVRCP: key \(Hex.number(key.rawValue)) \(isPressed ? "pressed" : "released")"
        case .failed(let profile, let reason): "\(profile.title): failed: \(reason)"
        case .finished: "all profiles are done"
        }
    }
}

/// Shows steps as they occur.
final class BridgeReport {
    private let loop: BBTiming.RunLoop
    private let screen: any Screen
    private let isJSON: Bool
    private let side: String?
    private let start: Microseconds

    /// - Parameter side: `phone` or `accessory`, if both are reported.
    init(on loop: BBTiming.RunLoop, _ screen: any Screen, json isJSON: Bool, side: String?) {
        (self.loop, self.screen, self.isJSON, self.side) = (loop, screen, isJSON, side)
        start = loop.now
    }

    /// - Parameter line: nil if the end of the program reports it.
    func tell(_ event: BridgeEvent, _ line: String?) {
        let seconds = (loop.now - start).seconds
        guard isJSON else {
            if let line { screen.line(Self.column(seconds) + "  " + (side.map { $0 + ": " } ?? "") + line) }
            return
        }
        var event = event
        event.time = (seconds * 1_000_000).rounded() / 1_000_000
        event.side = side
        screen.write(PairEvent.json(event))
    }

    private static func column(_ seconds: Double) -> String {
        let text = String(format: "%.6f s", seconds)
        return String(repeating: " ", count: max(0, 13 - text.count)) + text
    }
}

extension ClassicProfile {
    var title: String {
        switch self {
        case .a2dp: "A2DP"
        case .hfp: "HFP"
        case .avrcp: "AVRCP"
        }
    }

    fileprivate var name: String { title.lowercased() }
}

extension SecurityMode4Level {
    fileprivate var name: String {
        switch self {
        case .open: "open"
        case .low: "low"
        case .unauthenticated: "unauthenticated"
        case .authenticated: "authenticated"
        case .secureConnections: "secure_connections"
        }
    }
}

extension SBCParameters {
    /// The name in A2DP's tables.
    fileprivate var name: String {
        "SBC \(frequency) Hz \(mode.name), \(blocks) blocks, \(subbands) subbands, \(allocation), bitpool \(bitpool)"
    }
}

extension SBCParameters.ChannelMode {
    fileprivate var name: String {
        switch self {
        case .mono: "mono"
        case .dualChannel: "dual channel"
        case .stereo: "stereo"
        case .jointStereo: "joint stereo"
        }
    }
}

extension HFPCodec {
    fileprivate var name: String {
        switch self {
        case .cvsd: "CVSD"
        case .mSBC: "mSBC"
        default: "\(rawValue)"
        }
    }
}

extension AVRCPNotification {
    fileprivate var name: String {
        switch self {
        case .playbackStatus(0): "stopped"
        case .playbackStatus(1): "playing"
        case .playbackStatus(2): "paused"
        case .playbackStatus(let status): "playback status \(Hex.number(status))"
        case .track: "another track"
        case .playbackPosition(let milliseconds): "at \(milliseconds) ms"
        case .volume(let volume): "volume \(volume) of 127"
        case .other(let event, _): "\(event)"
        }
    }
}
