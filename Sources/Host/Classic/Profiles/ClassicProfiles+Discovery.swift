import BBPackets

/// Discovery of the peer's profiles. Core Vol 3, Part B, 2.
extension ClassicProfiles {
    /// The peer's service records were read.
    public mutating func discovered(_ records: [SDPRecord]) -> [ProfileAction] { wanted.flatMap { look(for: $0, in: records) } }

    /// Reading the records has failed.
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
        // The peer may have opened the channel meanwhile.
        return [.step(.found(profile))] + (number(of: channel) == nil ? [.open(channel)] : done(profile))
    }

    private mutating func missing(_ profile: ClassicProfile) -> [ProfileAction] { [.step(.missing(profile))] + done(profile) }
}
