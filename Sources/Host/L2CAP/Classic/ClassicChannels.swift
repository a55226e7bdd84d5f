import BBL2CAP
import BBPackets
import BBTiming

/// The dynamic channels of a BR/EDR link: the signalling channel, and the data of connection-oriented channels. Core Vol 3, Part A, 2.1.
final class ClassicChannels: CreditBasedLink {
    /// Decides whether a channel requested by the peer is accepted; `decide` completes a pending or nil decision.
    var admits: (_ cid: UInt16, _ psm: UInt16) -> ClassicSignaling.Decision? = { _, _ in .refuse(.refusedPSMNotSupported) }
    /// Decides about credit-based channels requested by the peer; `decideCreditBased` completes a nil decision.
    var admitsCreditBased: (_ identifier: UInt8, _ spsm: UInt16, _ count: Int) -> CreditBasedSignaling.Decision? = { _, _, _ in
        .refuse(.refusedSPSMNotSupported)
    }
    unowned var channels: CreditBasedChannels?
    /// Receives each channel that the peer has opened.
    var arrived: (ClassicDataChannel) -> Void = { _ in }
    private let multiplexer: L2CAPMultiplexer
    private let signaling: L2CAPChannel
    private let loop: RunLoop
    private var machine: ClassicSignaling
    private var timer: Timer?
    private var dataChannels: [UInt16: ClassicDataChannel] = [:]
    /// The channels that this side has requested.
    private var opening: [UInt16: Promise<ClassicDataChannel>] = [:]
    private var failure: HostError?
    private var fixed: Promise<UInt64>?
    private var features: Promise<ExtendedFeatures?>?
    private var echo: Promise<Bool>?

    init(on multiplexer: L2CAPMultiplexer, loop: RunLoop, settings: ClassicSignaling.Settings = .init()) {
        self.multiplexer = multiplexer
        self.loop = loop
        machine = ClassicSignaling(settings)
        signaling = multiplexer.channel(CID.signaling)
        signaling.user = { [unowned self] in perform(machine.received($0.octets, at: loop.now)) }
    }

    /// Opens a channel to a service of the peer.
    ///
    /// - Throws: `HostError.peer(.channel)` with the reason, `.misuse(.noChannelLeft)`, or the reason why there is no link.
    func open(_ psm: UInt16, _ settings: ClassicChannelSettings = ClassicChannelSettings()) async throws -> ClassicDataChannel {
        if let failure { throw failure }
        let (cid, actions) = machine.connect(psm: psm, settings, at: loop.now)
        guard let cid else { throw HostError.misuse(.noChannelLeft) }
        let promise = Promise<ClassicDataChannel>(on: loop)
        opening[cid] = promise
        perform(actions)
        return try await promise.value()
    }

    /// Returns true if the peer has requested a channel to a service of this side that is not open yet.
    func isArriving(psm: UInt16) -> Bool {
        machine.channels.contains {
            $0.psm == psm && opening[$0.localCID] == nil && !$0.hasOpened && $0.state != .awaitDisconnectionResponse
        }
    }

    /// Returns true if this side has requested a channel to a service of the peer that is not open yet.
    func isRequested(psm: UInt16) -> Bool { machine.channels.contains { $0.psm == psm && opening[$0.localCID] != nil } }

    /// Requests the peer's fixed channels, one bit each. Core Vol 3, Part A, 4.13.
    func fixedChannels() async throws -> UInt64 {
        if let failure { throw failure }
        if let fixed { return try await fixed.value() }
        let promise = Promise<UInt64>(on: loop)
        fixed = promise
        perform(machine.askFixedChannels(at: loop.now))
        return try await promise.value()
    }

    /// Requests the peer's extended features; nil if the peer does not report them. Core Vol 3, Part A, 4.12.
    func extendedFeatures() async throws -> ExtendedFeatures? {
        if let failure { throw failure }
        if let features { return try await features.value() }
        let promise = Promise<ExtendedFeatures?>(on: loop)
        features = promise
        perform(machine.reportFeatures(at: loop.now))
        return try await promise.value()
    }

    /// Sends an echo request; returns true if the peer answers. Core Vol 3, Part A, 4.8.
    func ping(_ octets: [UInt8]) async throws -> Bool {
        if let failure { throw failure }
        if let echo { return try await echo.value() }
        let promise = Promise<Bool>(on: loop)
        echo = promise
        perform(machine.askEcho(octets, at: loop.now))
        return try await promise.value()
    }

    /// The open channels to or of a service.
    func open(of psm: UInt16) -> [ClassicDataChannel] {
        dataChannels.values.filter { $0.terms.psm == psm }.sorted { $0.terms.localCID < $1.terms.localCID }
    }

    /// Completes a pending decision.
    func decide(_ cid: UInt16, _ decision: ClassicSignaling.Decision) { perform(machine.decide(cid, decision, at: loop.now)) }

    // MARK: Credit-based channels

    var channelCount: Int { machine.creditBased.endpoints.count }

    func withChannels(_ body: (inout CreditBasedSignaling) -> [CreditBasedSignaling.Action]) { perform(machine.withCreditBased(body)) }

    /// Completes a pending decision about credit-based channels.
    func decideCreditBased(_ identifier: UInt8, _ decision: CreditBasedSignaling.Decision) {
        withChannels { $0.decide(identifier, decision) }
    }

    // MARK: End

    func disconnect(_ cid: UInt16) { perform(machine.disconnect(cid, at: loop.now)) }

    func ended(_ error: HostError) {
        failure = error
        timer.map(loop.cancel)
        timer = nil
        _ = machine.linkEnded()
        fixed?.fail(error)
        features?.fail(error)
        echo?.fail(error)
        for (_, promise) in opening.sorted(by: { $0.key < $1.key }) { promise.fail(error) }
        for (_, channel) in dataChannels.sorted(by: { $0.key < $1.key }) { channel.ended(error) }
        opening.removeAll()
        dataChannels.removeAll()
    }

    // MARK: Actions

    private func perform(_ actions: [ClassicSignaling.Action]) {
        for action in actions {
            switch action {
            case .send(let pdu): signaling.transmit(pdu)
            case .requested(let cid, let psm):
                if let decision = admits(cid, psm) { perform(machine.decide(cid, decision, at: loop.now)) }
            case .opened(let terms): opened(terms)
            case .fixedChannels(let mask): fixed?.fulfil(mask)
            case .features(let mask):
                features?.fulfil(mask)
                features = nil
            case .echoed(let isAnswered):
                echo?.fulfil(isAnswered)
                echo = nil
            case .creditBased(.requested(let identifier, let spsm, let count)):
                if let decision = admitsCreditBased(identifier, spsm, count) { decideCreditBased(identifier, decision) }
            case .creditBased(let event): channels?.happened(event)
            case .closed(let cid, let end):
                opening.removeValue(forKey: cid)?.fail(HostError.peer(.channel(end)))
                dataChannels.removeValue(forKey: cid)?.ended(.peer(.channel(end)))
            }
        }
        watch()
    }

    /// Opens the channel, or applies new terms to a reconfigured one, which keeps its data.
    private func opened(_ terms: ChannelTerms) {
        if let channel = dataChannels[terms.localCID] { return channel.reconfigured(terms) }
        let channel = ClassicDataChannel(terms, on: multiplexer.channel(terms.localCID, to: terms.remoteCID), of: self, loop: loop)
        dataChannels[terms.localCID] = channel
        if let promise = opening.removeValue(forKey: terms.localCID) { promise.fulfil(channel) } else { arrived(channel) }
    }

    private func watch() {
        timer.map(loop.cancel)
        timer = machine.deadline.map {
            loop.schedule(at: $0) { [weak self] in
                guard let self else { return }
                timer = nil
                perform(machine.expire(at: loop.now))
            }
        }
    }
}
