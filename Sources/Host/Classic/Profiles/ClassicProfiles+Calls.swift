import BBPackets

/// HFP over a serial port: the RFCOMM connection, then the commands of the hands-free unit. HFP 1.8, 4.2.
extension ClassicProfiles {
    /// A new connection was opened.
    mutating func serialOpened(at now: Microseconds) -> [ProfileAction] {
        gateway = HFPAudioGateway(features: gateway.features)
        unit = HFPHandsFree(features: unit.features)
        if role == .accessory { return calls(unit.start(at: now), at: now) }
        gateway.start(at: now)
        return []
    }

    mutating func calls(_ actions: [HFPAction], at now: Microseconds) -> [ProfileAction] {
        actions.flatMap { action -> [ProfileAction] in
            switch action {
            case .send(let octets): return number(of: .serial).map { [.send($0, octets)] } ?? []
            case .connected:
                let step = [ProfileAction.step(.serviceLevelConnection)]
                return role == .phone ? step + calls(gateway.selectCodec(at: now), at: now) : step + done(.hfp)
            case .codec(let codec): return [.step(.codec(codec))] + done(.hfp) + openAudio(codec)
            case .failed(let failure): return failed(.hfp, "\(failure)")
            case .indicator, .command, .result, .finished: return []
            }
        }
    }
}
