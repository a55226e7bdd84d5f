import Packets

/// Whether a dongle carries voice.
public enum VoiceState: Sendable, Hashable {
    /// No synchronous link is up; the voice interface is in alternate setting 0, which takes no bandwidth.
    case off
    /// Another alternate setting is on its way; voice that is sent waits for it.
    case changing(to: VoiceSetting)
    case on(VoiceSetting)
    /// A link is up that this dongle or this system carries no voice for.
    case unavailable(VoiceProblem)
}

/// Decides which alternate setting the voice interface has, by the links that are up.
struct VoiceControl {
    /// What to do with the pipes: the setting, or none, and whose packets to expect.
    struct Change: Equatable {
        var setting: VoiceSetting?
        var handles: Set<UInt16>
    }

    let offered: [VoiceSetting]
    private var links = VoiceLinks()
    private(set) var state = VoiceState.off
    /// Packets of voice that could not be sent.
    var dropped = 0

    init(offered: [VoiceSetting]) { self.offered = offered }

    /// Whether voice may be sent.
    var isUsable: Bool { (try? setting()) != nil }

    /// The setting that is in use or on its way.
    ///
    /// - Throws: why there is none.
    func setting() throws(VoiceProblem) -> VoiceSetting {
        switch state {
        case .off: throw .noLink
        case .changing(let setting), .on(let setting): return setting
        case .unavailable(let problem): throw problem
        }
    }

    mutating func note(command: HCIPacket) { links.note(command: command) }

    mutating func note(event: HCIPacket) -> Change? {
        guard links.note(event: event) else { return nil }
        guard let need = links.need else {
            state = .off
            return Change(setting: nil, handles: [])
        }
        do throws(VoiceProblem) {
            let setting = try VoiceChoice.setting(for: need, of: offered)
            if state != .on(setting) { state = .changing(to: setting) }
            return Change(setting: setting, handles: links.handles)
        } catch {
            state = .unavailable(error)
            return Change(setting: nil, handles: [])
        }
    }

    /// The pipes have a setting, or none; what came of a change that is not wanted any more is of no interest.
    mutating func settled(_ result: Result<VoiceSetting?, VoiceProblem>) {
        switch (result, state) {
        case (.success(let setting?), .changing(let wanted)) where setting == wanted: state = .on(setting)
        case (.failure(let problem), .changing), (.failure(let problem), .on): state = .unavailable(problem)
        default: break
        }
    }
}
