import BBL2CAP
import BBPackets
import BBTiming

/// The state machine of a link's credit-based channels. Core Vol 3, Part A, 4.22 to 4.28, and 10.
struct CreditBasedSignaling {
    enum Action: Equatable {
        case send([UInt8])
        /// The peer requests channels; `decide` answers.
        case requested(identifier: UInt8, spsm: UInt16, count: Int)
        case opened(CreditBasedTerms)
        /// An open or requested channel has ended.
        case closed(cid: UInt16, ChannelEnd)
        case credited(cid: UInt16, UInt16)
        case reconfigured(cid: UInt16, mtu: UInt16, mps: UInt16)
        /// The peer's response to L2CAP_CREDIT_BASED_RECONFIGURE_REQ.
        case reconfigurationAnswered(ReconfigurationResult)
    }

    /// The answer to the peer's request for channels.
    enum Decision: Equatable {
        case accept(CreditBasedChannelSettings)
        /// Accepts the first channels of a request in enhanced mode, and refuses the others for want of resources.
        case acceptFirst(Int, CreditBasedChannelSettings)
        case refuse(CreditBasedConnectionResult)
    }

    struct Endpoint {
        enum State: Equatable {
            case awaitConnectionResponse(CreditBasedKind)
            /// The peer has requested the channel with this identifier.
            case awaitDecision(identifier: UInt8)
            case open
            case awaitDisconnectionResponse
        }

        let localCID: UInt16
        /// 0 while it is unknown.
        var remoteCID: UInt16
        let spsm: UInt16
        let kind: CreditBasedKind
        var state: State
        var settings: CreditBasedChannelSettings
        /// The largest SDU and K-frame payload that the peer accepts.
        var peerMTU: UInt16 = 0
        var peerMPS: UInt16 = 0
        /// The identifier of the outstanding request, and the deadline of its response.
        var request: UInt8?
        var deadline: Microseconds?
    }

    /// An undecided request of the peer.
    struct Request {
        var identifier: UInt8
        var kind: CreditBasedKind
        var mtu: UInt16
        var mps: UInt16
        var credits: UInt16
        /// This side's CID of each requested channel; nil if the channel is refused regardless of the decision.
        var channels: [UInt16?]
        /// The reason for the refused channels.
        var result: CreditBasedConnectionResult
    }

    static let mostAtOnce = 5
    /// As many as an LE link has CIDs.
    static let mostChannels = CID.leDynamic.count
    /// RTX and ERTX. Core Vol 3, Part A, 6.2.
    static let responseTimeOut = Microseconds.seconds(30)
    static let extendedResponseTimeOut = Microseconds.seconds(120)

    /// CIDs of the link: up to 0x007F on LE. Core Vol 3, Part A, 2.1.
    let cids: ClosedRange<UInt16>
    /// CIDs of this side and of the peer in other modes, on BR/EDR.
    var others: (local: Set<UInt16>, remote: Set<UInt16>) = ([], [])
    var endpoints: [Endpoint] = []
    var requests: [Request] = []
    var reconfiguration: (identifier: UInt8, deadline: Microseconds)?
    var identifiers = SignalingIdentifiers()

    init(cids: ClosedRange<UInt16> = CID.leDynamic) { self.cids = cids }

    /// The time at which to call `expire`.
    var deadline: Microseconds? { (endpoints.map(\.deadline) + [reconfiguration?.deadline]).compactMap(\.self).min() }

    // MARK: Calls of the host

    /// Requests channels from the peer: one, or up to five in enhanced mode.
    ///
    /// - Returns: this side's CIDs; none if too few are free.
    mutating func connect(
        spsm: UInt16, _ settings: CreditBasedChannelSettings, kind: CreditBasedKind = .lowEnergy, count: Int = 1, at now: Microseconds
    ) -> (cids: [UInt16], actions: [Action]) {
        let cids = freeCIDs(count)
        guard count == cids.count, (1...(kind == .lowEnergy ? 1 : Self.mostAtOnce)).contains(count) else { return ([], []) }
        let identifier = identifiers.next()
        for cid in cids {
            endpoints.append(
                Endpoint(
                    localCID: cid, remoteCID: 0, spsm: spsm, kind: kind, state: .awaitConnectionResponse(kind), settings: settings,
                    request: identifier, deadline: now + Self.responseTimeOut))
        }
        let command: any L2CAPSignalingPDU =
            switch kind {
            case .lowEnergy:
                L2CAPSignaling.LECreditBasedConnectionReq(
                    spsm: spsm, sourceCID: cids[0], mtu: settings.mtu, mps: settings.mps, initialCredits: settings.offeredCredits)
            case .enhanced:
                L2CAPSignaling.CreditBasedConnectionReq(
                    spsm: spsm, mtu: settings.mtu, mps: settings.mps, initialCredits: settings.offeredCredits, sourceCID: cids)
            }
        return (cids, [.send(command.bytes(identifier: identifier))])
    }

    /// Mode of the channels in an undecided request of the peer.
    func kind(of identifier: UInt8) -> CreditBasedKind { requests.first { $0.identifier == identifier }?.kind ?? .lowEnergy }

    /// Answers the peer's request for channels.
    mutating func decide(_ identifier: UInt8, _ decision: Decision) -> [Action] {
        guard let index = requests.firstIndex(where: { $0.identifier == identifier }) else { return [] }
        let request = requests.remove(at: index)
        switch decision {
        case .refuse(let result):
            endpoints.removeAll { $0.state == .awaitDecision(identifier: identifier) }
            return [.send(Self.refusal(request.kind, result, count: request.channels.count).bytes(identifier: identifier))]
        case .acceptFirst(let count, let settings):
            requests.append(limited(request, to: count))
            return decide(identifier, .accept(settings))
        case .accept(let settings):
            var opened: [Action] = []
            for index in endpoints.indices where endpoints[index].state == .awaitDecision(identifier: identifier) {
                endpoints[index].state = .open
                endpoints[index].settings = settings
                (endpoints[index].peerMTU, endpoints[index].peerMPS) = (request.mtu, request.mps)
                opened.append(.opened(endpoints[index].terms(credits: request.credits)))
            }
            return [.send(Self.response(to: request, settings).bytes(identifier: identifier))] + opened
        }
    }

    /// Removes the channels after the first ones from a request.
    private mutating func limited(_ request: Request, to count: Int) -> Request {
        var request = request
        let spare = request.channels.indices.filter { request.channels[$0] != nil }.dropFirst(count)
        for index in spare {
            endpoints.removeAll { $0.localCID == request.channels[index] }
            request.channels[index] = nil
            request.result = .refusedNoResources
        }
        return request
    }

    private static func response(to request: Request, _ settings: CreditBasedChannelSettings) -> any L2CAPSignalingPDU {
        switch request.kind {
        case .lowEnergy:
            L2CAPSignaling.LECreditBasedConnectionRsp(
                destinationCID: request.channels.first.flatMap(\.self) ?? 0, mtu: settings.mtu, mps: settings.mps,
                initialCredits: settings.offeredCredits, result: .successful)
        case .enhanced:
            L2CAPSignaling.CreditBasedConnectionRsp(
                mtu: settings.mtu, mps: settings.mps, initialCredits: settings.offeredCredits, result: request.result,
                destinationCID: request.channels.map { $0 ?? 0 })
        }
    }

    static func refusal(_ kind: CreditBasedKind, _ result: CreditBasedConnectionResult, count: Int) -> any L2CAPSignalingPDU {
        switch kind {
        case .lowEnergy: L2CAPSignaling.LECreditBasedConnectionRsp(result: result)
        case .enhanced:
            L2CAPSignaling.CreditBasedConnectionRsp(result: result, destinationCID: [UInt16](repeating: 0, count: count))
        }
    }

    mutating func disconnect(_ cid: UInt16, _ end: ChannelEnd = .byThisSide, at now: Microseconds) -> [Action] {
        guard let index = index(of: cid), endpoints[index].state == .open else { return [] }
        let identifier = identifiers.next()
        endpoints[index].state = .awaitDisconnectionResponse
        endpoints[index].request = identifier
        endpoints[index].deadline = now + Self.responseTimeOut
        let command = L2CAPSignaling.DisconnectionReq(destinationCID: endpoints[index].remoteCID, sourceCID: cid)
        return [.send(command.bytes(identifier: identifier)), .closed(cid: cid, end)]
    }

    /// Gives the peer credits.
    mutating func grant(_ cid: UInt16, _ credits: UInt16) -> [Action] {
        guard let index = index(of: cid), endpoints[index].state == .open else { return [] }
        return [.send(L2CAPSignaling.FlowControlCreditInd(cid: cid, credits: credits).bytes(identifier: identifiers.next()))]
    }

    /// Changes the MTU and MPS of channels in enhanced mode. Core Vol 3, Part A, 4.27.
    mutating func reconfigure(_ cids: [UInt16], mtu: UInt16, mps: UInt16, at now: Microseconds) -> [Action] {
        guard reconfiguration == nil, !cids.isEmpty, cids.allSatisfy({ index(of: $0) != nil }) else { return [] }
        let identifier = identifiers.next()
        reconfiguration = (identifier, now + Self.responseTimeOut)
        let command = L2CAPSignaling.CreditBasedReconfigureReq(mtu: mtu, mps: mps, destinationCID: cids)
        return [.send(command.bytes(identifier: identifier))]
    }

    // MARK: Time

    mutating func expire(at now: Microseconds) -> [Action] {
        var actions: [Action] = []
        if let pending = reconfiguration, pending.deadline <= now {
            reconfiguration = nil
            actions.append(.reconfigurationAnswered(.failedUnacceptableParameters))
        }
        for cid in endpoints.filter({ $0.deadline.map { $0 <= now } ?? false }).map(\.localCID) {
            guard let index = index(of: cid) else { continue }
            let wasLeaving = endpoints.remove(at: index).state == .awaitDisconnectionResponse
            if !wasLeaving { actions.append(.closed(cid: cid, .timedOut)) }
        }
        return actions
    }

    // MARK: Channels

    /// True if a request with this identifier awaits its response.
    func awaits(_ identifier: UInt8) -> Bool {
        reconfiguration?.identifier == identifier || endpoints.contains { $0.request == identifier }
    }

    func index(of cid: UInt16) -> Int? { endpoints.firstIndex { $0.localCID == cid } }

    /// Returns the requested number of free CIDs, or fewer if there are not enough.
    func freeCIDs(_ count: Int) -> [UInt16] {
        let used = others.local.union(endpoints.map(\.localCID))
        let room = min(count, Self.mostChannels - endpoints.count)
        return Array(cids.lazy.filter { !used.contains($0) }.prefix(max(0, room)))
    }

    /// True if the peer has a channel with this CID.
    func isTaken(_ remoteCID: UInt16) -> Bool { others.remote.contains(remoteCID) || endpoints.contains { $0.remoteCID == remoteCID } }
}

extension CreditBasedSignaling.Endpoint {
    func terms(credits: UInt16) -> CreditBasedTerms {
        CreditBasedTerms(
            localCID: localCID, remoteCID: remoteCID, spsm: spsm, sendMTU: peerMTU, sendMPS: peerMPS, sendCredits: credits,
            settings: settings)
    }
}
