import BBPackets
import BBTiming

/// The signalling of a link, of either transport, as its credit-based channels use it.
protocol CreditBasedLink: AnyObject {
    /// The channels whose requests and events are reported; if nil, requests are refused as an unsupported service.
    var channels: CreditBasedChannels? { get set }
    /// The number of credit-based channels, with those that await a response.
    var channelCount: Int { get }
    /// Calls a function of the credit-based channels and performs the resulting actions.
    func withChannels(_ body: (inout CreditBasedSignaling) -> [CreditBasedSignaling.Action])
}

/// The credit-based channels of a connection. Core Vol 3, Part A, 10.
final class CreditBasedChannels {
    /// The handler of a channel that the peer has opened.
    typealias Arrival = (CreditBasedChannel) -> Void

    /// Decides whether a channel requested by the peer is accepted, and with which settings.
    var admits: (_ spsm: UInt16, _ kind: CreditBasedKind, _ count: Int) -> CreditBasedSignaling.Decision = { _, _, _ in
        .refuse(.refusedSPSMNotSupported)
    }
    var arrived: Arrival = { _ in }
    private let signaling: any CreditBasedLink
    private let multiplexer: L2CAPMultiplexer
    private let loop: RunLoop
    private var channels: [UInt16: CreditBasedChannel] = [:]
    /// The channels that this side has requested.
    private var opening: [UInt16: Opening] = [:]
    private var reconfiguration: Reconfiguration?
    private var failure: HostError?
    /// The number of channels that are open or requested by this side.
    var count: Int { channels.count + opening.count }
    /// The number of channels to a service of the peer that were requested and not answered.
    func requested(to spsm: UInt16) -> Int { opening.values.count { $0.spsm == spsm } }
    /// The number of channels that the signalling knows, with those that await the end.
    var endpoints: Int { signaling.channelCount }

    /// A channel that this side has requested.
    private struct Opening {
        let spsm: UInt16
        let promise: Promise<CreditBasedChannel>
        /// Called with the peer's response: the next packet may already be data.
        let opened: Arrival
    }

    /// Other limits of this side, which take effect with the peer's response: the next packet may already use them.
    private struct Reconfiguration {
        let channels: [CreditBasedChannel]
        let mtu: UInt16
        let mps: UInt16
        let promise: Promise<ReconfigurationResult>
    }

    init(_ signaling: any CreditBasedLink, _ multiplexer: L2CAPMultiplexer, loop: RunLoop) {
        self.signaling = signaling
        self.multiplexer = multiplexer
        self.loop = loop
        signaling.channels = self
    }

    /// Requests channels.
    ///
    /// - Parameter opened: receives each channel from within the delivery of the peer's response.
    func open(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings, _ kind: CreditBasedKind, count: Int,
        opened: @escaping Arrival = { _ in }
    ) async throws -> [CreditBasedChannel] {
        if let failure { throw failure }
        guard kind.isLegal(mtu: settings.mtu, mps: settings.mps), kind == .lowEnergy || settings.initialCredits > 0 else {
            throw HostError.misuse(.illegalChannel)
        }
        var promises: [Promise<CreditBasedChannel>] = []
        signaling.withChannels { machine in
            let (cids, actions) = machine.connect(spsm: spsm, settings, kind: kind, count: count, at: loop.now)
            promises = cids.map { cid in
                let promise = Promise<CreditBasedChannel>(on: loop)
                opening[cid] = Opening(spsm: spsm, promise: promise, opened: opened)
                return promise
            }
            return actions
        }
        guard !promises.isEmpty else { throw HostError.misuse(.noChannelLeft) }
        var channels: [CreditBasedChannel] = []
        var refusal: (any Error)?
        for promise in promises {
            do { channels.append(try await promise.value()) } catch { refusal = error }
        }
        if let refusal, channels.isEmpty { throw refusal }
        return channels
    }

    /// The open channels to or of a service.
    func open(of spsm: UInt16) -> [CreditBasedChannel] {
        channels.values.filter { $0.spsm == spsm }.sorted { $0.localCID < $1.localCID }
    }

    func reconfigure(_ channels: [CreditBasedChannel], mtu: UInt16, mps: UInt16) async throws {
        if let failure { throw failure }
        guard reconfiguration == nil else { throw HostError.misuse(.busy(.reconfiguration)) }
        guard !channels.isEmpty, channels.allSatisfy({ self.channels[$0.localCID] === $0 }) else { throw HostError.misuse(.illegalChannel) }
        let promise = Promise<ReconfigurationResult>(on: loop)
        reconfiguration = Reconfiguration(channels: channels, mtu: mtu, mps: mps, promise: promise)
        signaling.withChannels { $0.reconfigure(channels.map(\.localCID), mtu: mtu, mps: mps, at: loop.now) }
        let result = try await promise.value()
        guard result == .successful else { throw HostError.peer(.notReconfigured(result)) }
    }

    private func reconfigured(_ result: ReconfigurationResult) {
        guard let answered = reconfiguration else { return }
        reconfiguration = nil
        if result == .successful { for channel in answered.channels { channel.tookEffect(mtu: answered.mtu, mps: answered.mps) } }
        answered.promise.fulfil(result)
    }

    // MARK: Events

    func decide(_ spsm: UInt16, _ kind: CreditBasedKind, count: Int) -> CreditBasedSignaling.Decision { admits(spsm, kind, count) }

    func happened(_ event: CreditBasedSignaling.Action) {
        switch event {
        case .send, .requested: break
        case .opened(let terms): opened(terms)
        case .closed(let cid, let end):
            opening.removeValue(forKey: cid)?.promise.fail(HostError.peer(.channel(end)))
            channels.removeValue(forKey: cid)?.ended(.peer(.channel(end)))
        case .credited(let cid, let count): channels[cid]?.credited(count)
        case .reconfigured(let cid, let mtu, let mps): channels[cid]?.reconfigured(mtu: mtu, mps: mps)
        case .reconfigurationAnswered(let result): reconfigured(result)
        }
    }

    private func opened(_ terms: CreditBasedTerms) {
        let below = multiplexer.channel(terms.localCID, to: terms.remoteCID)
        let channel = CreditBasedChannel(terms, on: below, signaling: signaling, loop: loop)
        channels[terms.localCID] = channel
        guard let asked = opening.removeValue(forKey: terms.localCID) else { return arrived(channel) }
        asked.opened(channel)
        asked.promise.fulfil(channel)
    }

    func ended(_ error: HostError) {
        failure = error
        let (asked, open, changing) = (opening, channels, reconfiguration)
        opening.removeAll()
        channels.removeAll()
        reconfiguration = nil
        for (_, opening) in asked.sorted(by: { $0.key < $1.key }) { opening.promise.fail(error) }
        for (_, channel) in open.sorted(by: { $0.key < $1.key }) { channel.ended(error) }
        changing?.promise.fail(error)
    }
}
