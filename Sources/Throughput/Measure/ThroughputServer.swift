import BBHost
import BBPackets
import BBTiming

/// Server of the throughput service on one host. See docs/guide/throughput-service.md.
final class ThroughputServer {
    private let loop: RunLoop
    private let host: Host
    let sink = FlowReceiver()
    private(set) var sender: FlowSender?
    /// Receives the SDUs of all channels.
    let channelSink = FlowReceiver()
    private(set) var channelSender: ChannelSender?
    private var channels: [CreditBasedChannel] = []
    private var channelLink: Connection?
    private var source: UInt16 = 0

    /// Publishes the service; its handlers retain the server.
    init(_ host: Host, loop: RunLoop) {
        (self.host, self.loop) = (host, loop)
        let published = host.database.add(
            ServiceDefinition(
                ThroughputService.service,
                characteristics: [
                    CharacteristicDefinition(ThroughputService.source, properties: .notify),
                    CharacteristicDefinition(
                        ThroughputService.sink, properties: [.write, .writeWithoutResponse],
                        onWrite: { [self] _, value in
                            sink.receive(value, at: loop.now)
                            return nil
                        }),
                    CharacteristicDefinition(
                        ThroughputService.control, properties: .write,
                        onWrite: { [self] access, value in perform(value.withUnsafeBytes { Array($0) }, for: access.connection) }),
                    CharacteristicDefinition(
                        ThroughputService.counters, properties: .read,
                        onRead: { [self] _ in .value(counters.octetString) }), .publishing(ThroughputService.spsm),
                ]))
        source = published[ThroughputService.source]?.value ?? 0
        offer(CreditBasedChannelSettings(mtu: 2_048, mps: 247, initialCredits: UInt16(ChannelRequest.mostCredits)))
    }

    /// Accepts channels with these settings from now on.
    func offer(_ settings: CreditBasedChannelSettings) {
        host.listen(ThroughputService.spsm, settings, openedOn: { [unowned self] in opened($0, on: $1) })
    }

    /// Accepts Enhanced ATT bearers with these settings from now on.
    func offer(_ settings: EnhancedBearerSettings) { host.offerEnhancedBearers(settings) }

    private func opened(_ channel: CreditBasedChannel, on link: Connection) {
        let (flow, sink, loop) = (channels.count, channelSink, loop)
        channels.append(channel)
        channelLink = link
        channel.onSDU = { sink.receive($0, at: loop.now, flow: flow) }
    }

    private var counters: ThroughputService.Counters {
        var tally = sink.tally
        tally.add(channelSink.tally)
        return ThroughputService.Counters(sent: (sender?.sent ?? 0) &+ (channelSender?.sent ?? 0), tally)
    }

    /// Removes the flows of a link that has ended.
    func reset() {
        sender?.stop()
        channelSender?.stop()
        (sender, channelSender, channelLink) = (nil, nil, nil)
        channels.removeAll()
        sink.reset()
        channelSink.reset()
    }

    private func perform(_ octets: [UInt8], for link: Connection?) -> ATTErrorCode? {
        do throws(ThroughputService.Refusal) {
            switch try ThroughputService.Command(octets: octets) {
            case .start(let length, let count):
                guard let link, link.configuration(of: source) & 1 != 0 else { throw .notSubscribed }
                start(on: link, length: length == 0 ? .max : Int(length), count: count == 0 ? nil : count)
            case .startChannels(let length, let count):
                guard let channelLink, channels.contains(where: \.isOpen) else { throw .noChannel }
                channelSender?.stop()
                let sender = ChannelSender(
                    channelLink, channels.filter(\.isOpen), length: length == 0 ? nil : Int(length), count: count == 0 ? nil : count)
                channelSender = sender
                sender.start()
            case .stop:
                sender?.stop()
                channelSender?.stop()
            case .reset:
                sink.reset()
                channelSink.reset()
            }
            return nil
        } catch {
            return ATTErrorCode(rawValue: error.rawValue)
        }
    }

    private func start(on link: Connection, length: Int, count: UInt32?) {
        sender?.stop()
        let source = source
        let sender = Self.notifier(on: link, source, length: length, count: count)
        self.sender = sender
        sender.start()
    }

    /// A flow of notifications, on the Enhanced ATT bearers if there are any.
    private static func notifier(on link: Connection, _ source: UInt16, length: Int, count: UInt32?) -> FlowSender {
        let bearers = link.enhancedBearers
        guard let longest = bearers.map(\.values.longest).min() else {
            return FlowSender(link, length: min(length, link.values.longest), count: count) { [unowned link] in link.tryNotify(source, $0) }
        }
        return FlowSender(link, over: bearers, length: min(length, longest), count: count) { $0.values.tryNotify(source, $1) }
    }
}
