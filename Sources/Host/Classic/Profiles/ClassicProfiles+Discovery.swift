import Packets

/// Which profiles the other side has. Core Vol 3, Part B, 2.
extension ClassicProfiles {
    mutating func discovered(_ actions: [SDPClientAction], at now: Microseconds) -> [ProfileAction] {
        actions.flatMap { action -> [ProfileAction] in
            let channel = channels.first { $0.value.purpose == .discovery && $0.value.isOwn }?.key
            switch action {
            case .send(let octets): return channel.map { [.send($0, octets)] } ?? []
            case .finished(let result):
                return (channel.map { [.close($0)] } ?? []) + found(result)
            }
        }
    }

    private mutating func found(_ result: Result<SDPResult, SDPFailure>) -> [ProfileAction] {
        switch result {
        case .failure(let failure): return wanted.flatMap { failed($0, "service discovery: \(failure)") }
        case .success(.handles): return []
        case .success(.records(let records)): return wanted.flatMap { look(for: $0, in: records) }
        }
    }

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
