import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// Compares the data on the channels of a link with what their receivers take. Core Vol 3, Part A, 4, 5.1 and 10.
struct ChannelWatch {
    /// One end of a channel: what it receives.
    private struct Receiver: Hashable {
        var end: PacketSender
        var channel: UInt16
    }

    private struct Limits {
        var mtu: UInt16
        /// Nil for a channel that is not credit-based.
        var mps: UInt16?
        /// PDUs that the other end may send.
        var credits = 0
        /// Octets of the SDU that are to come.
        var rest = 0
        /// The time since which there are no credits.
        var empty: Moment?
        var other: Receiver?
        /// SDUs are segmented in a mode with retransmission, or the mode is unknown.
        var isSegmented = false
        /// The time at which a channel of BR/EDR was opened.
        var opened: Moment?
        /// True once its end has asked for a configuration.
        var hasAsked = false
        /// The service of a channel of BR/EDR.
        var port: UInt16?
        /// True once the other end has accepted it.
        var isConfigured = false
        /// True if its end asks for frames without a check sequence.
        var asksNoCheck = false
        /// Frames whose check sequence was compared.
        var checked = 0
    }

    private struct Request: Hashable {
        var end: PacketSender
        var identifier: UInt16
    }

    private var limits: [Receiver: Limits] = [:]
    private var asked: [Request: [Receiver]] = [:]
    private var configured: [Request: (Receiver, ConfigurationOptions)] = [:]
    /// Requests whose result is pending, since the first such response.
    private var pending: [Request: Moment] = [:]

    private static let most = 256
    private static let mostCredits = 65_535
    private static let (leastMTU, leastEnhancedMTU, mostMPS): (UInt16, UInt16, UInt16) = (23, 64, 65_533)
    /// The MTU of a BR/EDR channel that is not configured. Core Vol 3, Part A, 5.1.
    private static let standardMTU: UInt16 = 672
    private static let headerOctets = 4
    /// A wrong check sequence shows in the first frames.
    private static let mostChecked = 256
    /// The time in which an end configures a channel at the latest.
    private static let limit: Int64 = 10_000_000

    // MARK: Signalling

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender, to receiver: PacketSender, at now: Moment) -> [Observation] {
        guard let identifier = pdu.identifier else { return [] }
        let (request, answered) = (Request(end: sender, identifier: identifier), Request(end: receiver, identifier: identifier))
        if limits.count + asked.count + configured.count >= Self.most { self = ChannelWatch() }
        if let pdu = pdu.content(as: L2CAPSignaling.ConnectionReq.self) {
            ask(request, [pdu.sourceCID], Limits(mtu: Self.standardMTU, port: pdu.psm))
        } else if let pdu = pdu.content(as: L2CAPSignaling.ConnectionRsp.self) {
            guard pdu.result != .pending else {
                pending[answered] = pending[answered] ?? now
                return []
            }
            pending[answered] = nil
            let port = asked[answered]?.first.flatMap { limits[$0]?.port }
            answer(answered, sender, pdu.result == .successful ? [pdu.destinationCID] : [], Limits(mtu: Self.standardMTU, port: port), now)
        } else if let pdu = pdu.content(as: L2CAPSignaling.ConfigurationReq.self) {
            guard let own = limits[Receiver(end: receiver, channel: pdu.destinationCID)]?.other else { return [] }
            limits[own]?.hasAsked = true
            configured[request] = (try? ConfigurationOptions(pdu.configurationOptions)).map { (own, $0) }
        } else if let pdu = pdu.content(as: L2CAPSignaling.ConfigurationRsp.self) {
            guard let (own, options) = configured.removeValue(forKey: answered), pdu.result == .success else { return [] }
            configure(own, options)
        } else if let pdu = pdu.content(as: L2CAPSignaling.DisconnectionReq.self) {
            let ends = [Receiver(end: receiver, channel: pdu.destinationCID), Receiver(end: sender, channel: pdu.sourceCID)]
            return ends.compactMap { unconfigured($0, now) }
        } else {
            return noteCreditBased(pdu, request, answered)
        }
        return []
    }

    /// The service of a channel of BR/EDR.
    func port(of channel: UInt16, to end: PacketSender) -> UInt16? { limits[Receiver(end: end, channel: channel)]?.port }

    private mutating func configure(_ own: Receiver, _ options: ConfigurationOptions) {
        if let mtu = options.mtu { limits[own]?.mtu = mtu }
        if let mode = options.retransmission?.mode { limits[own]?.isSegmented = mode != ChannelMode.basic.rawValue }
        if let check = options.frameCheckSequence { limits[own]?.asksNoCheck = check == 0 }
        limits[own]?.isConfigured = true
    }

    /// A channel of which one end never asked for a configuration, so that no data can follow. Core Vol 3, Part A, 4.4 and 6.1.
    private func unconfigured(_ receiver: Receiver, _ now: Moment) -> Observation? {
        guard let known = limits[receiver], let opened = known.opened, !known.hasAsked, now.time - opened.time >= Self.limit,
            let other = known.other, limits[other]?.hasAsked == true
        else { return nil }
        return Observation(
            .channelUnconfigured,
            [
                ("Channel", .text(Hex.number(receiver.channel))), ("From", .text("\(receiver.end)")),
                ("Waited", .milliseconds(now.time - opened.time)),
            ], packet: opened.packet)
    }

    private mutating func noteCreditBased(_ pdu: DecodedLayer, _ request: Request, _ answered: Request) -> [Observation] {
        let layer = pdu
        if let pdu = pdu.content(as: L2CAPSignaling.LECreditBasedConnectionReq.self) {
            ask(request, [pdu.sourceCID], Limits(mtu: pdu.mtu, mps: pdu.mps, credits: Int(pdu.initialCredits)))
            return Self.tooSmall(layer, pdu.mtu, pdu.mps, least: Self.leastMTU)
        } else if let pdu = pdu.content(as: L2CAPSignaling.CreditBasedConnectionReq.self) {
            ask(request, pdu.sourceCID, Limits(mtu: pdu.mtu, mps: pdu.mps, credits: Int(pdu.initialCredits)))
            return Self.tooSmall(layer, pdu.mtu, pdu.mps, least: Self.leastEnhancedMTU)
        } else if let pdu = pdu.content(as: L2CAPSignaling.LECreditBasedConnectionRsp.self) {
            let channels = pdu.result == .successful ? [pdu.destinationCID] : []
            answer(answered, request.end, channels, Limits(mtu: pdu.mtu, mps: pdu.mps, credits: Int(pdu.initialCredits)))
        } else if let pdu = pdu.content(as: L2CAPSignaling.CreditBasedConnectionRsp.self) {
            answer(answered, request.end, pdu.destinationCID, Limits(mtu: pdu.mtu, mps: pdu.mps, credits: Int(pdu.initialCredits)))
        } else if let pdu = pdu.content(as: L2CAPSignaling.CreditBasedReconfigureReq.self) {
            // The channels are those of the peer to which they lead.
            for channel in pdu.destinationCID {
                let own = limits[Receiver(end: answered.end, channel: channel)]?.other ?? Receiver(end: request.end, channel: channel)
                limits[own]?.mtu = pdu.mtu
                limits[own]?.mps = pdu.mps
            }
        } else if let pdu = pdu.content(as: L2CAPSignaling.FlowControlCreditInd.self) {
            return give(Int(pdu.credits), Receiver(end: request.end, channel: pdu.cid))
        } else if let pdu = pdu.content(as: L2CAPSignaling.DisconnectionRsp.self) {
            limits[Receiver(end: request.end, channel: pdu.destinationCID)] = nil
            limits[Receiver(end: answered.end, channel: pdu.sourceCID)] = nil
        }
        return []
    }

    /// A request with an MTU or MPS that no channel may have. Core Vol 3, Part A, 4.22 and 4.25.
    private static func tooSmall(_ pdu: DecodedLayer, _ mtu: UInt16, _ mps: UInt16, least: UInt16) -> [Observation] {
        let wrong = [("MTU", mtu, UInt16.max), ("MPS", mps, mostMPS)].first { $0.1 < least || $0.1 > $0.2 }
        guard let (name, value, most) = wrong else { return [] }
        let problem = "its \(name) is \(value), and \(least) to \(most) are allowed"
        return [Observation(.pduMalformed, [("PDU", .text(pdu.name)), ("Problem", .text(problem))])]
    }

    /// Gives credits: at least one, and no more than 65,535 at once. Core Vol 3, Part A, 4.24 and 10.1.
    private mutating func give(_ credits: Int, _ own: Receiver) -> [Observation] {
        guard let known = limits[own], known.mps != nil else { return [] }
        let sum = known.credits + credits
        limits[own]?.credits = min(sum, Self.mostCredits)
        if credits > 0 { limits[own]?.empty = nil }
        guard credits == 0 || sum > Self.mostCredits else { return [] }
        let problem = credits == 0 ? "no credit" : "\(credits) credits, after which the sender has \(sum), and 65535 are the most"
        return [Observation(.creditsInvalid, [("Channel", .text(Hex.number(own.channel))), ("Problem", .text(problem))])]
    }

    private mutating func ask(_ request: Request, _ channels: [UInt16], _ own: Limits) {
        asked[request] = channels.map { channel in
            let receiver = Receiver(end: request.end, channel: channel)
            limits[receiver] = own
            return receiver
        }
    }

    private mutating func answer(_ request: Request, _ end: PacketSender, _ channels: [UInt16], _ own: Limits, _ opened: Moment? = nil) {
        guard let askers = asked.removeValue(forKey: request) else { return }
        for (index, asker) in askers.enumerated() {
            guard index < channels.count, CID.dynamic.contains(channels[index]) else {
                limits[asker] = nil
                continue
            }
            let receiver = Receiver(end: end, channel: channels[index])
            limits[receiver] = own
            limits[receiver]?.other = asker
            limits[receiver]?.opened = opened
            limits[asker]?.other = receiver
            limits[asker]?.opened = opened
        }
    }

    // MARK: Data

    /// Compares an L2CAP PDU with the limits of its receiver.
    ///
    /// - Parameter header: the layer of the basic header, whose octets are followed by the payload.
    mutating func data(
        _ header: DecodedLayer, on channel: UInt16, to end: PacketSender, at now: Moment
    ) -> Observation? {
        let key = Receiver(end: end, channel: channel)
        guard let known = limits[key], header.range.count == Self.headerOctets else { return nil }
        let start = header.range.lowerBound
        let octets = Int(header.bytes[start]) | Int(header.bytes[start + 1]) << 8
        guard let mps = known.mps else {
            if known.isSegmented { return checked(header, octets, key, known) }
            guard octets > Int(known.mtu) else { return nil }
            return Self.tooLong(octets, "MTU", known.mtu)
        }
        limits[key]?.credits -= 1
        if known.credits <= 0 {
            limits[key]?.credits = 0
            return Observation(.sentWithoutCredit, [("Channel", .text(Hex.number(channel)))])
        }
        if octets > Int(mps) { return Self.tooLong(octets, "MPS", mps) }
        let next = start + Self.headerOctets
        if known.rest == 0 {
            guard header.bytes.count >= next + 2 else { return nil }
            let whole = Int(header.bytes[next]) | Int(header.bytes[next + 1]) << 8
            limits[key]?.rest = max(0, whole - (octets - 2))
            if whole > Int(known.mtu) { return Self.tooLong(whole, "MTU", known.mtu) }
        } else {
            limits[key]?.rest = max(0, known.rest - octets)
            if octets > known.rest { return Self.tooLong(octets, "rest of the SDU", UInt16(clamping: known.rest)) }
        }
        limits[key]?.empty = known.credits == 1 ? now : nil
        return nil
    }

    /// Compares the check sequence of a frame, which is there unless both ends ask for none. Core Vol 3, Part A, 3.3.5 and 5.5.
    private mutating func checked(_ header: DecodedLayer, _ octets: Int, _ key: Receiver, _ known: Limits) -> Observation? {
        let start = header.range.upperBound
        guard known.checked < Self.mostChecked, known.isConfigured, let other = known.other.flatMap({ limits[$0] }), other.isConfigured,
            !(known.asksNoCheck && other.asksNoCheck), octets >= L2CAPFrameCheckSequence.octets, header.bytes.count == start + octets
        else { return nil }
        limits[key]?.checked += 1
        let end = header.bytes.count - L2CAPFrameCheckSequence.octets
        let check = L2CAPFrameCheckSequence.of(
            L2CAPHeader(length: UInt16(octets), channel: key.channel), header.bytes[start..<end])
        guard !header.bytes[end...].elementsEqual([UInt8(truncatingIfNeeded: check), UInt8(check >> 8)]) else { return nil }
        limits[key]?.checked = Self.mostChecked
        return Observation(
            .checkWrong,
            [("Channel", .text(Hex.number(key.channel))), ("Asks", .text(known.asksNoCheck || other.asksNoCheck ? "one" : "no"))])
    }

    private static func tooLong(_ octets: Int, _ limit: String, _ value: UInt16) -> Observation {
        Observation(.sduTooLong, [("Octets", .number(octets)), ("Limit", .text(limit)), ("Value", .number(Int(value)))])
    }

    /// The channels whose sender has no credit at the end of the link, with or without part of an SDU left.
    func ended(at now: Moment) -> [Observation] {
        limits.keys.compactMap { unconfigured($0, now) }
            + pending.values.filter { now.time - $0.time >= Self.limit }.map {
                .unanswered("\(L2CAPSignaling.ConnectionReq.name) (result: pending)", $0, now)
            }
            + limits.compactMap { receiver, limits in
                limits.empty.map {
                    Observation(
                        limits.rest > 0 ? .channelStalled : .channelExhausted,
                        [("Channel", .text(Hex.number(receiver.channel))), ("Waited", .milliseconds(now.time - $0.time))], packet: $0.packet
                    )
                }
            }
    }
}
