import BBL2CAP
import BBPackets

/// The configuration of a channel: each side proposes its options and the other answers, until both agree. Core Vol 3, Part A, 7.1.
struct ChannelConfiguration {
    enum Step: Equatable {
        case wait
        /// The next L2CAP_CONFIGURATION_REQ.
        case request(flags: UInt16, options: [UInt8])
        /// The peer has accepted this side's proposal.
        case agreed
        /// The configuration has failed.
        case fail(ConfigurationResult)
    }

    /// An L2CAP_CONFIGURATION_RSP.
    struct Answer: Equatable {
        var flags: UInt16 = 0
        var result = ConfigurationResult.success
        var options: [UInt8] = []
        /// True if this side cannot accept the peer's repeated proposal.
        var isLast = false
    }

    private enum Outgoing {
        case idle
        /// Waiting for the response, with the parts of the proposal that are still to be sent.
        case awaitResponse(parts: [[UInt8]])
        case agreed
    }

    private enum Incoming {
        case awaitRequest
        case agreed
    }

    /// More options follow in another command. Core Vol 3, Part A, 4.4.
    static let continuation: UInt16 = 1
    /// The octets available for options in a command of the minimum MTUsig, after the header and the command's fixed fields. Core Vol 3,
    /// Part A, 4.
    static let room = 48 - SignalingCommand.headerOctets - 4
    /// The number of proposals before this side gives up, and of commands in one proposal or answer.
    static let mostProposals = 6
    static let mostParts = 8

    let settings: ClassicChannelSettings
    /// This side's features.
    let features: ExtendedFeatures
    /// The peer's features.
    var peerFeatures: ExtendedFeatures = []
    private(set) var mode: ChannelMode
    /// This side's last proposal, with the values that the peer has accepted.
    private(set) var proposal = ConfigurationOptions()
    /// The peer's proposal as this side has accepted it.
    private(set) var peer = ConfigurationOptions()

    private var outgoing = Outgoing.idle
    private var incoming = Incoming.awaitRequest
    /// The options that the peer does not know.
    private var withheld: Set<UInt8> = []
    private var counterProposal = ConfigurationOptions()
    private var proposals = 0
    private var refusals = 0
    /// The number of requests for another mode.
    private var otherModes = 0
    /// The options received so far of a request or response in several parts.
    private var requestParts: [UInt8] = []
    /// The parts of an answer longer than MTUsig that the peer has not requested yet.
    private var answerParts: [[UInt8]] = []
    private var responseParts: [UInt8] = []
    private var partCount = 0
    private var worst = ConfigurationResult.success

    init(_ settings: ClassicChannelSettings, features: ExtendedFeatures) {
        self.settings = settings
        self.features = features
        mode = settings.mode
    }

    var isComplete: Bool {
        if case .agreed = outgoing, case .agreed = incoming { return true }
        return false
    }

    /// True if nothing has been proposed yet, or the configuration has been reopened.
    var isIdle: Bool {
        if case .idle = outgoing { return true }
        return false
    }

    // MARK: This side's proposal

    /// Proposes the options that this side wants and the peer may still accept.
    mutating func propose() -> Step {
        guard proposals < Self.mostProposals else { return .fail(.unacceptableParameters) }
        proposals += 1
        if !supports(mode), !settle(on: .basic) { return .fail(.unacceptableParameters) }
        proposal = wanted
        (worst, partCount, responseParts) = (.success, 0, [])
        return send(proposal.chunks(of: Self.room))
    }

    /// Processes the peer's response; a pending result changes nothing.
    mutating func answered(_ answer: L2CAPSignaling.ConfigurationRsp) -> Step {
        guard case .awaitResponse(let parts) = outgoing, answer.result != .pending else { return .wait }
        partCount += 1
        guard partCount <= Self.mostParts else { return .fail(.rejected) }
        responseParts += answer.config
        if worst == .success { worst = answer.result }
        if !parts.isEmpty { return send(parts) }
        // More of the response follows after a request without options. Core Vol 3, Part A, 4.5.
        if answer.flags & Self.continuation != 0 { return send([[]]) }
        switch worst {
        case .success: return accepted()
        case .unacceptableParameters: return reconsider()
        case .unknownOptions: return withhold()
        default: return .fail(worst)
        }
    }

    private mutating func send(_ parts: [[UInt8]]) -> Step {
        outgoing = .awaitResponse(parts: Array(parts.dropFirst()))
        return .request(flags: parts.count > 1 ? Self.continuation : 0, options: parts.first ?? [])
    }

    private mutating func accepted() -> Step {
        if let answer = try? ConfigurationOptions(responseParts), let option = answer.retransmission { take(timeOutsOf: option) }
        // The mode changed before the peer answered.
        guard (proposal.retransmission?.mode ?? ChannelMode.basic.rawValue) == mode.rawValue else { return propose() }
        outgoing = .agreed
        return .agreed
    }

    private mutating func take(timeOutsOf option: RetransmissionOption) {
        proposal.retransmission?.retransmissionTimeOut = option.retransmissionTimeOut
        proposal.retransmission?.monitorTimeOut = option.monitorTimeOut
    }

    /// Adopts the peer's counter-proposal as far as this side supports it. Core Vol 3, Part A, 4.5.
    private mutating func reconsider() -> Step {
        guard let other = try? ConfigurationOptions(responseParts) else { return .fail(.rejected) }
        if let mtu = other.mtu {
            guard (ChannelTerms.minimumMTU...max(settings.mtu, ChannelTerms.minimumMTU)).contains(mtu) else {
                return .fail(.unacceptableParameters)
            }
            counterProposal.mtu = mtu
        }
        if let option = other.retransmission {
            guard let proposed = ChannelMode(rawValue: option.mode), proposed == mode || settle(on: proposed) else {
                return .fail(.unacceptableParameters)
            }
            counterProposal.retransmission = option
        }
        counterProposal.flushTimeout = other.flushTimeout ?? counterProposal.flushTimeout
        counterProposal.qualityOfService = other.qualityOfService ?? counterProposal.qualityOfService
        counterProposal.frameCheckSequence = other.frameCheckSequence ?? counterProposal.frameCheckSequence
        counterProposal.extendedFlowSpecification = other.extendedFlowSpecification ?? counterProposal.extendedFlowSpecification
        counterProposal.extendedWindowSize = other.extendedWindowSize ?? counterProposal.extendedWindowSize
        return propose()
    }

    /// Omits the options that the peer does not know, which the response lists by type or as they were sent.
    private mutating func withhold() -> Step {
        let options = try? ConfigurationOptions(responseParts)
        var types = Set(options?.encoded.compactMap(\.first) ?? responseParts.map { $0 & ~ConfigurationOptions.Kind.hint })
        if options != nil, types.isEmpty { types = Set(responseParts.map { $0 & ~ConfigurationOptions.Kind.hint }) }
        guard types.isDisjoint(with: withheld), !types.contains(ConfigurationOptions.Kind.mtu) else { return .fail(.unknownOptions) }
        withheld.formUnion(types)
        if types.contains(ConfigurationOptions.Kind.retransmission), !settle(on: .basic) { return .fail(.unknownOptions) }
        return propose()
    }

    // MARK: Contents of the proposal

    /// - Parameter isProposed: true if the peer proposes it, which shows that the peer has it while its features are not known.
    private func supports(_ mode: ChannelMode, isProposed: Bool = false) -> Bool {
        let both = isProposed && peerFeatures.isEmpty ? features : features.intersection(peerFeatures)
        return switch mode {
        case .basic: true
        case .enhancedRetransmission: both.contains(.enhancedRetransmission)
        case .streaming: both.contains(.streaming)
        }
    }

    /// Changes to another mode if that is allowed and comes before this one; returns false if not.
    private mutating func settle(on other: ChannelMode, isProposed: Bool = false) -> Bool {
        guard other != mode else { return true }
        guard !settings.isModeMandatory, other < mode, supports(other, isProposed: isProposed) else { return false }
        mode = other
        // The options agreed for the previous mode are no longer valid.
        if case .agreed = outgoing { outgoing = .idle }
        incoming = .awaitRequest
        return true
    }

    private var wanted: ConfigurationOptions {
        typealias Kind = ConfigurationOptions.Kind
        var options = ConfigurationOptions()
        options.mtu = counterProposal.mtu ?? settings.mtu
        if !withheld.contains(Kind.flushTimeout) { options.flushTimeout = counterProposal.flushTimeout ?? settings.flushTimeout }
        if !withheld.contains(Kind.qualityOfService) {
            options.qualityOfService = counterProposal.qualityOfService ?? settings.qualityOfService
        }
        if mode != .basic {
            options.retransmission = wantedRetransmission
            if peerFeatures.contains(.fcsOption), features.contains(.fcsOption), !withheld.contains(Kind.frameCheckSequence) {
                let wanted: UInt8? = settings.usesFrameCheckSequence ? settings.namesFrameCheckSequence ? 1 : nil : 0
                options.frameCheckSequence = counterProposal.frameCheckSequence == nil ? wanted : 1
            }
            if wantsExtendedWindow { options.extendedWindowSize = min(settings.receiveWindow, counterProposal.extendedWindowSize ?? .max) }
            if features.contains(.extendedFlowSpecification), peerFeatures.contains(.extendedFlowSpecification),
                !withheld.contains(Kind.extendedFlowSpecification)
            {
                options.extendedFlowSpecification = counterProposal.extendedFlowSpecification ?? settings.extendedFlowSpecification
            }
        }
        return options
    }

    private var wantedRetransmission: RetransmissionOption {
        var option = RetransmissionOption(mode: mode.rawValue, mps: settings.mps)
        if let other = counterProposal.retransmission, other.mps > 0 { option.mps = min(other.mps, settings.mps) }
        guard mode == .enhancedRetransmission else { return option }
        option.transmitWindow = UInt8(clamping: min(settings.receiveWindow, ChannelTerms.maximumWindow))
        if let other = counterProposal.retransmission, other.transmitWindow > 0 {
            option.transmitWindow = min(option.transmitWindow, other.transmitWindow)
        }
        option.maxTransmit = settings.maxTransmit
        return option
    }

    private var wantsExtendedWindow: Bool {
        mode == .enhancedRetransmission && settings.receiveWindow > ChannelTerms.maximumWindow
            && features.contains(.extendedWindowSize) && peerFeatures.contains(.extendedWindowSize)
            && !withheld.contains(ConfigurationOptions.Kind.extendedWindowSize)
    }

    // MARK: The peer's proposal

    /// Answers the peer's proposal.
    ///
    /// - Parameter isRunning: true if the channel has been open, so that its mode is fixed.
    mutating func requested(_ request: L2CAPSignaling.ConfigurationReq, isRunning: Bool) -> Answer {
        if request.configurationOptions.isEmpty, requestParts.isEmpty, !answerParts.isEmpty { return nextPart() }
        answerParts = []
        requestParts += request.configurationOptions
        guard requestParts.count <= Self.mostParts * Self.room * 2 else { return reject() }
        // The options are evaluated with the last part; the parts before it get an empty response. Core Vol 3, Part A, 4.4.
        guard request.flags & Self.continuation == 0 else { return Answer(flags: Self.continuation) }
        guard let options = try? ConfigurationOptions(requestParts) else { return reject() }
        requestParts = []
        let unknown = options.unknown + unclaimed(in: options)
        guard unknown.isEmpty else {
            refusals += 1
            return Answer(result: .unknownOptions, options: unknown, isLast: refusals > Self.mostProposals)
        }
        return judge(options, isRunning: isRunning)
    }

    private mutating func reject() -> Answer {
        requestParts = []
        refusals += 1
        return Answer(result: .rejected, isLast: refusals > Self.mostProposals)
    }

    /// Returns the options of features that this side does not support; they are answered as unknown.
    private func unclaimed(in options: ConfigurationOptions) -> [UInt8] {
        typealias Kind = ConfigurationOptions.Kind
        var types: [UInt8] = []
        if options.retransmission != nil, features.isDisjoint(with: [.enhancedRetransmission, .streaming]),
            options.retransmission?.mode != ChannelMode.basic.rawValue
        {
            types.append(Kind.retransmission)
        }
        if options.frameCheckSequence != nil, !features.contains(.fcsOption) { types.append(Kind.frameCheckSequence) }
        if options.extendedFlowSpecification != nil, !features.contains(.extendedFlowSpecification) {
            types.append(Kind.extendedFlowSpecification)
        }
        if options.extendedWindowSize != nil, !features.contains(.extendedWindowSize) { types.append(Kind.extendedWindowSize) }
        return types
    }

    private mutating func judge(_ options: ConfigurationOptions, isRunning: Bool) -> Answer {
        var merged = options
        if isRunning, merged.retransmission == nil { merged.retransmission = peer.retransmission }
        let modeAsked = merged.retransmission?.mode ?? ChannelMode.basic.rawValue
        if modeAsked != mode.rawValue, isRunning || !mayFollow(modeAsked) {
            var other = ConfigurationOptions()
            other.retransmission = mode == .basic ? RetransmissionOption(mode: mode.rawValue) : wantedRetransmission
            otherModes += 1
            // A side that needs a mode disconnects at the first request for another one, others at the second. Core Vol 3, Part A, 5.4.
            let needsMode = settings.isModeMandatory && mode != .basic
            return Answer(
                result: .unacceptableParameters, options: other.encoded.flatMap { $0 }, isLast: needsMode || otherModes > 1)
        }
        let judgement = ConfigurationJudgement(merged, mode: mode, settings: settings)
        guard judgement.result == .success else {
            refusals += 1
            let options = judgement.better.encoded.flatMap { $0 }
            return Answer(result: judgement.result, options: options, isLast: refusals > Self.mostProposals)
        }
        merge(judgement.agreed)
        // A response has two octets more before its options than a request.
        answerParts = judgement.agreed.chunks(of: Self.room - 2)
        return nextPart()
    }

    /// Returns the next part of the answer; the peer requests the rest with empty requests. Core Vol 3, Part A, 4.5.
    private mutating func nextPart() -> Answer {
        let part = answerParts.isEmpty ? [] : answerParts.removeFirst()
        guard answerParts.isEmpty else { return Answer(flags: Self.continuation, options: part) }
        incoming = .agreed
        return Answer(options: part)
    }

    private mutating func mayFollow(_ mode: UInt8) -> Bool { ChannelMode(rawValue: mode).map { settle(on: $0, isProposed: true) } ?? false }

    /// Merges the options; an omitted option keeps its value. Core Vol 3, Part A, 4.4.
    private mutating func merge(_ options: ConfigurationOptions) {
        peer.mtu = options.mtu ?? peer.mtu
        peer.flushTimeout = options.flushTimeout ?? peer.flushTimeout
        peer.qualityOfService = options.qualityOfService ?? peer.qualityOfService
        peer.retransmission = options.retransmission ?? peer.retransmission
        peer.frameCheckSequence = options.frameCheckSequence ?? peer.frameCheckSequence
        peer.extendedFlowSpecification = options.extendedFlowSpecification ?? peer.extendedFlowSpecification
        peer.extendedWindowSize = options.extendedWindowSize ?? peer.extendedWindowSize
    }

    // MARK: Reconfiguration

    /// Restarts the configuration of an open channel, for which this side must propose again. Core Vol 3, Part A, 7.1.
    mutating func reopen() {
        (outgoing, incoming) = (.idle, .awaitRequest)
        (proposals, refusals, otherModes) = (0, 0, 0)
    }
}
