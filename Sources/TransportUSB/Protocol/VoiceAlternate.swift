/// Requirements of the voice links on the isochronous pipes.
public struct VoiceNeed: Sendable, Hashable {
    public enum Coding: String, Sendable, Hashable, CaseIterable {
        case bits8 = "8-bit"
        case bits16 = "16-bit"
        /// Coded by the host, for example mSBC for wide band speech.
        case transparent
    }

    public var channels: Int
    public var coding: Coding

    public init(channels: Int, coding: Coding) { (self.channels, self.coding) = (channels, coding) }
}

extension VoiceNeed: CustomStringConvertible {
    public var description: String { "\(channels) \(coding.rawValue) voice channel" + (channels == 1 ? "" : "s") }
}

/// An alternate setting of the voice interface, from the descriptors.
public struct VoiceAlternate: Sendable, Hashable {
    /// bAlternateSetting.
    public var number: UInt8
    /// wMaxPacketSize: octets of the isochronous packet in each 1 ms frame.
    public var frameSize: Int
    var input: UInt8
    var output: UInt8

    init(number: UInt8, frameSize: Int, input: UInt8 = 0x83, output: UInt8 = 0x03) {
        (self.number, self.frameSize, self.input, self.output) = (number, frameSize, input, output)
    }

    /// Voice octets of an HCI packet that, with its header, fills three frames, as settings 1...5 are designed for, or one frame in setting
    /// 6.
    public var packetOctets: Int { (number == 6 ? 1 : 3) * frameSize - 3 }

    /// Number of frames for a packet with this number of voice octets.
    public func frames(for octets: Int) -> Int { VoiceChoice.frames(octets: 3 + octets, frameSize: frameSize).count }
}

/// Reason why a dongle cannot carry the required voice.
public enum VoiceProblem: Error, Sendable, Hashable {
    /// The dongle has no interface with isochronous endpoints.
    case noInterface
    /// None of the suitable alternate settings exists.
    case noSetting(VoiceNeed, wanted: [UInt8], offered: [UInt8])
    /// The Core Specification defines no alternate setting for this requirement.
    case undefined(VoiceNeed)
    /// The setting was rejected, or its pipes do not work.
    case failed(setting: UInt8, String)
    /// The dongle is known to fail with voice over USB.
    case knownToFail
    /// No synchronous link exists, so no setting is selected.
    case noLink
}

extension VoiceProblem: CustomStringConvertible {
    public var description: String {
        func list(_ numbers: [UInt8]) -> String { numbers.map { "\($0)" }.joined(separator: " or ") }
        switch self {
        case .noInterface: return "this dongle has no interface for voice: it describes no isochronous endpoints"
        case .noSetting(let need, let wanted, let offered):
            let present = offered.isEmpty ? "none" : offered.map { "\($0)" }.joined(separator: ", ")
            return "\(need) need alternate setting \(list(wanted)) of the voice interface; this dongle offers \(present)"
        case .undefined(let need): return "HCI over USB has no alternate setting for \(need)"
        case .failed(let setting, let text): return "alternate setting \(setting) of the voice interface: \(text)"
        case .knownToFail: return "this dongle is known to fail with voice over USB"
        case .noLink: return "no synchronous link is up"
        }
    }
}

/// Selection of the alternate setting. Core Vol 4, Part B, 2.1.1.
enum VoiceChoice {
    /// Suitable setting numbers in order of preference; empty if there are none.
    static func numbers(for need: VoiceNeed) -> [UInt8] {
        switch (need.coding, need.channels) {
        case (.bits8, 1...3): [UInt8(need.channels)]
        case (.bits16, 1...3): [[2, 4, 5][need.channels - 1]]
        // An mSBC frame, 60 octets in 7.5 ms, fits into one packet of setting 6. Dongles without setting 6 carry it in several packets.
        case (.transparent, 1): [6, 1]
        default: []
        }
    }

    /// The best setting that the dongle has. A setting known not to work is replaced by the next larger one.
    static func setting(for need: VoiceNeed, of offered: [VoiceAlternate], _ workarounds: USBWorkarounds = USBWorkarounds())
        throws(VoiceProblem) -> VoiceAlternate
    {
        guard !workarounds.hasNoVoice else { throw .knownToFail }
        guard !offered.isEmpty else { throw .noInterface }
        var wanted = numbers(for: need)
        guard !wanted.isEmpty else { throw .undefined(need) }
        if need.coding == .transparent, let number = workarounds.transparentVoiceSetting { wanted.insert(number, at: 0) }
        for number in wanted where !workarounds.avoidedVoiceSettings.contains(number) {
            if let setting = offered.first(where: { $0.number == number }) { return setting }
        }
        let avoided = offered.filter { wanted.contains($0.number) && workarounds.avoidedVoiceSettings.contains($0.number) }
        if let least = avoided.map(\.frameSize).min() {
            let larger = offered.filter { $0.frameSize > least && !workarounds.avoidedVoiceSettings.contains($0.number) }
            if let next = larger.min(by: { $0.frameSize < $1.frameSize }) { return next }
        }
        throw .noSetting(need, wanted: wanted, offered: offered.map(\.number))
    }

    /// Lengths of the isochronous packets for an HCI packet. It starts in a new isochronous packet, and only the last one may be short.
    static func frames(octets: Int, frameSize: Int) -> [Int] {
        guard octets > 0, frameSize > 0 else { return [] }
        let full = [Int](repeating: frameSize, count: octets / frameSize)
        return octets % frameSize == 0 ? full : full + [octets % frameSize]
    }

}
