import Packets

/// Which profiles the other side has. Core Vol 3, Part B, 2.
extension ClassicProfiles {
    /// The other side's records have come.
    public mutating func discovered(_ records: [SDPRecord]) -> [ProfileAction] { wanted.flatMap { look(for: $0, in: records) } }

    /// They have not, and why.
    public mutating func discoveryFailed(_ why: String) -> [ProfileAction] { wanted.flatMap { failed($0, why) } }

    private mutating func look(for profile: ClassicProfile, in records: [SDPRecord]) -> [ProfileAction] {
        func record(_ service: BluetoothUUID) -> SDPRecord? { records.first { $0.serviceClasses.contains(service) } }
        let channel: ProfileChannel
        switch profile {
        case .a2dp where record(role == .phone ? .audioSink : .audioSource) != nil: channel = .signaling
        case .avrcp where record(.remoteControlTarget) != nil || record(.remoteControl) != nil: channel = .control
        case .hfp:
            guard let number = record(role == .phone ? .handsFree : .audioGateway)?.rfcommChannel else { return missing(profile) }
            peerServerChannel = number
            channel = .serial
        case .a2dp, .avrcp: return missing(profile)
        }
        // The other side may have been faster.
        return [.step(.found(profile))] + (number(of: channel) == nil ? [.open(channel)] : done(profile))
    }

    private mutating func missing(_ profile: ClassicProfile) -> [ProfileAction] { [.step(.missing(profile))] + done(profile) }
}
