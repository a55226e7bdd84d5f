import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// Configurations of channels that one end refuses until the channel is closed. Core Vol 3, Part A, 4.5, 5.1 and 5.4.
struct ConfigurationWatch {
    /// The end that asks for a configuration, and its own channel, which is known only from the other end's side.
    private struct Asker: Hashable {
        var end: PacketSender
        /// The channel of the other end.
        var channel: UInt16
    }

    private struct Refused {
        var first: Moment
        var times = 0
        /// The MPS above the MTU, if nothing else was refused.
        var excess: (mps: UInt16, mtu: UInt16)?
    }

    private var asked: [UInt16: (asker: Asker, options: ConfigurationOptions)] = [:]
    private var refused: [Asker: Refused] = [:]

    private static let most = 64
    private static let standardMTU: UInt16 = 672

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender, at now: Moment) -> Observation? {
        guard let identifier = pdu.identifier else { return nil }
        if asked.count + refused.count > Self.most { (asked, refused) = ([:], [:]) }
        if let request = pdu.content(as: L2CAPSignaling.ConfigurationReq.self) {
            let asker = Asker(end: sender, channel: request.destinationCID)
            asked[identifier] = (try? ConfigurationOptions(request.configurationOptions)).map { (asker, $0) }
        } else if let response = pdu.content(as: L2CAPSignaling.ConfigurationRsp.self) {
            guard let (asker, options) = asked[identifier], asker.end != sender else { return nil }
            asked[identifier] = nil
            if response.result == .success { refused[asker] = nil }
            guard response.result == .unacceptableParameters else { return nil }
            var known = refused[asker] ?? Refused(first: now)
            known.times += 1
            known.excess = Self.excess(of: options, try? ConfigurationOptions(response.config))
            refused[asker] = known
        } else if let request = pdu.content(as: L2CAPSignaling.DisconnectionReq.self) {
            let askers = [Asker(end: sender, channel: request.destinationCID), Asker(end: sender.other, channel: request.sourceCID)]
            guard let asker = askers.first(where: { refused[$0] != nil }), let known = refused.removeValue(forKey: asker) else {
                return nil
            }
            return Observation(
                .configurationRefused,
                [
                    ("Channel", .text(Hex.number(asker.channel))), ("From", .text("\(asker.end.other)")), ("Times", .number(known.times)),
                    ("MPS", .number(Int(known.excess?.mps ?? 0))), ("MTU", .number(Int(known.excess?.mtu ?? 0))),
                ], packet: known.first.packet)
        }
        return nil
    }

    /// The MPS of an option that is above the MTU, if a smaller one is all that the other end proposes.
    private static func excess(of options: ConfigurationOptions, _ proposed: ConfigurationOptions?) -> (UInt16, UInt16)? {
        guard let asked = options.retransmission, let answer = proposed?.retransmission, asked.mode == answer.mode,
            asked.mode != ChannelMode.basic.rawValue, proposed?.mtu.map({ $0 == options.mtu }) ?? true, answer.mps < asked.mps
        else { return nil }
        let mtu = options.mtu ?? standardMTU
        return asked.mps > mtu ? (asked.mps, mtu) : nil
    }
}
