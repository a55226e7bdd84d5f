import Host
import Packets
import Timing

/// Server of the throughput service on one host. See docs/guide/throughput-service.md.
final class ThroughputServer {
    private let loop: RunLoop
    let sink = FlowReceiver()
    private(set) var sender: FlowSender?
    private var source: UInt16 = 0

    /// Publishes the service; its handlers retain the server.
    init(_ database: GATTDatabase, loop: RunLoop) {
        self.loop = loop
        let published = database.add(
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
                        onRead: { [self] _ in .value(ThroughputService.Counters(sent: sender?.sent ?? 0, sink.tally).octetString) }),
                ]))
        source = published[ThroughputService.source]?.value ?? 0
    }

    /// Removes the flow of a link that has ended.
    func reset() {
        sender?.stop()
        sender = nil
        sink.reset()
    }

    private func perform(_ octets: [UInt8], for link: Connection?) -> ATTErrorCode? {
        do throws(ThroughputService.Refusal) {
            switch try ThroughputService.Command(octets: octets) {
            case .start(let length, let count):
                guard let link, link.configuration(of: source) & 1 != 0 else { throw .notSubscribed }
                start(on: link, length: length == 0 ? link.mtu - 3 : Int(length), count: count == 0 ? nil : count)
            case .stop: sender?.stop()
            case .reset: sink.reset()
            }
            return nil
        } catch {
            return ATTErrorCode(rawValue: error.rawValue)
        }
    }

    private func start(on link: Connection, length: Int, count: UInt32?) {
        sender?.stop()
        let source = source
        let sender = FlowSender(link, length: min(length, link.mtu - 3), count: count) { [unowned link] in link.tryNotify(source, $0) }
        self.sender = sender
        sender.start()
    }
}
