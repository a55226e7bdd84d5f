import BBPackets

/// State of voice over USB.
public enum VoiceState: Sendable, Hashable {
    /// No synchronous link exists; the voice interface is in alternate setting 0, which uses no bandwidth.
    case off
    /// The alternate setting is being changed; voice data is queued.
    case changing(to: VoiceAlternate)
    case on(VoiceAlternate)
    /// A link exists whose voice this dongle or system cannot carry.
    case unavailable(VoiceProblem)
    /// Voice is on the bulk pipe: Bulk Serialization mode.
    case serialised
}

/// Selects the alternate setting of the voice interface for the existing links.
struct VoiceControl {
    /// A change of the pipes: the setting, or none, and the handles of expected packets.
    struct Change: Equatable {
        var setting: VoiceAlternate?
        var handles: Set<UInt16>
    }

    let offered: [VoiceAlternate]
    /// In Bulk Serialization mode the voice interface stays in setting 0.
    private(set) var isSerialised = false
    private var links = VoiceLinks()
    private(set) var state = VoiceState.off
    /// Number of voice packets that could not be sent.
    var dropped = 0

    /// Number of packets received with leading zeros.
    private(set) var unpadded = 0
    private let workarounds: USBWorkarounds

    init(offered: [VoiceAlternate], _ workarounds: USBWorkarounds = USBWorkarounds()) {
        self.offered = offered
        self.workarounds = workarounds
    }

    /// True if voice data can be sent.
    var isUsable: Bool { isSerialised || (try? setting()) != nil }

    /// The setting in use or being set.
    ///
    /// - Throws: the reason why there is none.
    func setting() throws(VoiceProblem) -> VoiceAlternate {
        switch state {
        case .off, .serialised: throw .noLink
        case .changing(let setting), .on(let setting): return setting
        case .unavailable(let problem): throw problem
        }
    }

    /// The mode has changed, which is possible only while the voice interface is in setting 0.
    mutating func changeMode(toSerialised isSerialised: Bool) -> Change? {
        self.isSerialised = isSerialised
        return settle()
    }

    mutating func note(command: HCIPacket) { links.note(command: command) }

    mutating func note(event: HCIPacket) -> Change? {
        guard links.note(event: event) else { return nil }
        return settle()
    }

    private mutating func settle() -> Change? {
        guard let need = links.need else {
            state = .off
            return Change(setting: nil, handles: [])
        }
        guard !isSerialised else {
            state = .serialised
            return nil
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

    /// Removes the padding that one chip puts before a transparent voice frame.
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

    /// Records the result of a change; the result of an outdated change is ignored.
    mutating func settled(_ result: Result<VoiceAlternate?, VoiceProblem>) {
        switch (result, state) {
        case (.success(let setting?), .changing(let wanted)) where setting == wanted: state = .on(setting)
        case (.failure(let problem), .changing), (.failure(let problem), .on): state = .unavailable(problem)
        default: break
        }
    }
}
