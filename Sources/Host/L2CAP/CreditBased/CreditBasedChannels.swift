import Packets
import Timing

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
    private var opening: [UInt16: Promise<CreditBasedChannel>] = [:]
    private var reconfiguration: Promise<ReconfigurationResult>?
    private var failure: HostError?
    /// The number of channels that are open or requested by this side.
    var count: Int { channels.count + opening.count }
    /// The number of channels that the signalling knows, with those that await the end.
    var endpoints: Int { signaling.channelCount }

    init(_ signaling: any CreditBasedLink, _ multiplexer: L2CAPMultiplexer, loop: RunLoop) {
        self.signaling = signaling
        self.multiplexer = multiplexer
        self.loop = loop
        signaling.channels = self
    }

    func open(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings, _ kind: CreditBasedKind, count: Int
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
                opening[cid] = promise
                return promise
            }
            return actions
        }
        guard !promises.isEmpty else { throw HostError.misuse(.noChannelLeft) }
        var opened: [CreditBasedChannel] = []
        var refusal: (any Error)?
        for promise in promises {
            do { opened.append(try await promise.value()) } catch { refusal = error }
        }
        if let refusal, opened.isEmpty { throw refusal }
        return opened
    }

    func reconfigure(_ channels: [CreditBasedChannel], mtu: UInt16, mps: UInt16) async throws {
        if let failure { throw failure }
        guard reconfiguration == nil else { throw HostError.misuse(.busy(.reconfiguration)) }
        let promise = Promise<ReconfigurationResult>(on: loop)
        reconfiguration = promise
        defer { reconfiguration = nil }
        signaling.withChannels { $0.reconfigure(channels.map(\.localCID), mtu: mtu, mps: mps, at: loop.now) }
        let result = try await promise.value()
        guard result == .successful else { throw HostError.peer(.notReconfigured(result)) }
        for channel in channels { channel.tookEffect(mtu: mtu, mps: mps) }
    }

    // MARK: Events

    func decide(_ spsm: UInt16, _ kind: CreditBasedKind, count: Int) -> CreditBasedSignaling.Decision { admits(spsm, kind, count) }

    func happened(_ event: CreditBasedSignaling.Action) {
        switch event {
        case .send, .requested: break
        case .opened(let terms): opened(terms)
        case .closed(let cid, let end):
            opening.removeValue(forKey: cid)?.fail(HostError.peer(.channel(end)))
            channels.removeValue(forKey: cid)?.ended(.peer(.channel(end)))
        case .credited(let cid, let count): channels[cid]?.credited(count)
        case .reconfigured(let cid, let mtu, let mps): channels[cid]?.reconfigured(mtu: mtu, mps: mps)
        case .reconfigurationAnswered(let result): reconfiguration?.fulfil(result)
        }
    }

    private func opened(_ terms: CreditBasedTerms) {
        let below = multiplexer.channel(terms.localCID, to: terms.remoteCID)
        let channel = CreditBasedChannel(terms, on: below, signaling: signaling, loop: loop)
        channels[terms.localCID] = channel
        if let promise = opening.removeValue(forKey: terms.localCID) { promise.fulfil(channel) } else { arrived(channel) }
    }

    func ended(_ error: HostError) {
        failure = error
        for (_, promise) in opening.sorted(by: { $0.key < $1.key }) { promise.fail(error) }
        for (_, channel) in channels.sorted(by: { $0.key < $1.key }) { channel.ended(error) }
        opening.removeAll()
        channels.removeAll()
        reconfiguration?.fail(error)
    }
}
