import Packets

/// HFP over RFCOMM: the connection first, then the commands of the hands-free unit. HFP 1.8, 4.2.
extension ClassicProfiles {
    func serialSettings(_ mtu: Int) -> RFCOMMSettings { RFCOMMSettings(services: [Self.serverChannel], mtu: mtu) }

    mutating func serial(_ actions: [RFCOMMAction], at now: Microseconds) -> [ProfileAction] {
        actions.flatMap { action -> [ProfileAction] in
            switch action {
            case .send(let octets): return number(of: .serial).map { [.send($0, octets)] } ?? []
            case .opened(let dlci): return serialOpened(dlci, at: now)
            case .received(let dlci, let octets) where dlci == callLink:
                return calls(role == .phone ? gateway.receive(octets, at: now) : unit.receive(octets, at: now), at: now)
            case .closed(let dlci, let why) where dlci == callLink || callLink == nil:
                callLink = nil
                return failed(.hfp, "the connection of RFCOMM has ended: \(why)")
            case .ended:
                rfcomm = nil
                return number(of: .serial).map { [.close($0)] } ?? []
            case .started, .received, .closed, .writable, .signals, .portSettings, .lineStatus, .testAnswered, .notSupported: return []
            }
        }
    }

    /// A connection begins anew.
    private mutating func serialOpened(_ dlci: UInt8, at now: Microseconds) -> [ProfileAction] {
        guard callLink == nil else { return [] }
        callLink = dlci
        gateway = HFPAudioGateway(features: gateway.features)
        unit = HFPHandsFree(features: unit.features)
        return role == .accessory ? calls(unit.start(at: now), at: now) : []
    }

    mutating func calls(_ actions: [HFPAction], at now: Microseconds) -> [ProfileAction] {
        actions.flatMap { action -> [ProfileAction] in
            switch action {
            case .send(let octets):
                guard let dlci = callLink, let actions = rfcomm?.send(octets, on: dlci) else { return [] }
                return serial(actions, at: now)
            case .connected:
                let step = [ProfileAction.step(.serviceLevelConnection)]
                return role == .phone ? step + calls(gateway.selectCodec(at: now), at: now) : step + done(.hfp)
            case .codec(let codec): return [.step(.codec(codec))] + done(.hfp)
            case .failed(let failure): return failed(.hfp, "\(failure)")
            case .indicator, .command, .result, .finished: return []
            }
        }
    }
}
