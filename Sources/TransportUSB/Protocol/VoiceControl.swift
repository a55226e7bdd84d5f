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

    /// Packets that came with zeros before them.
    private(set) var unpadded = 0
    private let workarounds: USBWorkarounds

    init(offered: [VoiceSetting], _ workarounds: USBWorkarounds = USBWorkarounds()) {
        self.offered = offered
        self.workarounds = workarounds
    }

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
            let setting = try VoiceChoice.setting(for: need, of: offered, workarounds)
            if state != .on(setting) { state = .changing(to: setting) }
            return Change(setting: setting, handles: links.handles)
        } catch {
            state = .unavailable(error)
            return Change(setting: nil, handles: [])
        }
    }

    /// A frame of transparent voice without what one chip puts before it.
    mutating func unpadded(_ packet: HCIPacket) -> HCIPacket {
        guard let handle = packet.dataHandle, links.isTransparent(handle.rawValue),
            var data = try? HCIData.SynchronousData(prefixOf: packet.bytes), data.data.count == Self.padding + Self.frame,
            data.data.prefix(Self.padding).allSatisfy({ $0 == 0 })
        else { return packet }
        unpadded += 1
        data.data.removeFirst(Self.padding)
        return HCIPacket(.sco, data.parameters)
    }

    private static let padding = 20
    private static let frame = 60

    /// The pipes have a setting, or none; what came of a change that is not wanted any more is of no interest.
    mutating func settled(_ result: Result<VoiceSetting?, VoiceProblem>) {
        switch (result, state) {
        case (.success(let setting?), .changing(let wanted)) where setting == wanted: state = .on(setting)
        case (.failure(let problem), .changing), (.failure(let problem), .on): state = .unavailable(problem)
        default: break
        }
    }
}
