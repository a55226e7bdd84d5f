import BBHost
import BBPackets
import BBTiming
import BBTraffic

/// A subject without the throughput service, found by a custom procedure and measured with one of its characteristics, or with an L2CAP
/// channel.
public struct ProductFlow {
    public enum Measured: Sendable, Hashable {
        case characteristic(BluetoothUUID)
        /// A channel to this SPSM; nil for the first that the product publishes.
        case channel(UInt16?)
    }

    /// Finds the subject.
    public var find: (Host) async throws -> DeviceAddress
    public var measured: Measured

    public init(_ measured: Measured, find: @escaping (Host) async throws -> DeviceAddress) {
        self.measured = measured
        self.find = find
    }
}

extension ThroughputClient {
    /// Discovers the product's characteristic on a link.
    ///
    /// - Throws: `MeasurementFailure` if it is missing or lacks the required property; `HostError`.
    init(_ product: ProductFlow, _ over: FlowKind, on link: Connection) async throws {
        guard case .characteristic(let uuid) = product.measured else {
            self.init(link: link)
            return
        }
        let needed: CharacteristicProperties = over == .notify ? .notify : over == .write ? .writeWithoutResponse : .write
        for service in try await link.gatt.discoverServices() {
            guard let found = try await link.gatt.discoverCharacteristics(in: service, uuid: uuid).first else { continue }
            guard found.properties.contains(needed) else {
                let word = over == .notify ? "notify" : over == .write ? "take writes without response" : "take writes"
                throw MeasurementFailure("the characteristic \(uuid) does not \(word)")
            }
            self.init(link: link, characteristic: found)
            return
        }
        throw MeasurementFailure("the device has no characteristic \(uuid)")
    }
}

/// Counts a product's notifications within a time span.
private final class ProductTally {
    var packets = 0
    var octets = 0
    var longest = 0
}

extension RowMeasurement {
    /// Measures the flow of a product: its notifications or SDUs on arrival, or the data sent to it as its controller acknowledges them.
    func product(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        switch setup.request.over {
        case .notify: try await told(&row, span)
        case .channel where LinkSetup.isFromSubject(setup.request): try await told(&row, span)
        case .write, .channel: try await given(&row, span)
        case .request, .ping, .l2cap, .rfcomm:
            throw MeasurementFailure("a product is measured by what it notifies, or by what it takes without a response")
        }
        guard setup.tester.isConnected else { throw MeasurementFailure("the link was lost") }
    }

    private func told(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        let (tally, loop) = (ProductTally(), bench.loop)
        var window = (begin: Microseconds.never, end: Microseconds.never)
        try await listen { value in
            guard loop.now > window.begin, loop.now <= window.end else { return }
            tally.packets += 1
            tally.octets += value.byteCount
            tally.longest = max(tally.longest, value.byteCount)
        }
        let begin = loop.now + settling
        window = (begin, begin + span)
        try await loop.sleep(until: begin + span)
        (row.begin, row.end, row.packets, row.octets) = (begin, begin + span, tally.packets, tally.octets)
        guard tally.packets > 0 else {
            throw MeasurementFailure(
                "nothing came within \(Int(saturating: span.milliseconds)) ms: what makes the device send, only it knows")
        }
        explain(&row, longest: tally.longest)
    }

    /// Splits what a product did not send into what its data length takes, and the rest.
    private func explain(_ row: inout ThroughputRow, longest: Int) {
        var link = setup.parameters
        // A product may change its data length after the link is set up.
        let length = setup.tester.dataLength
        (link.octets, link.time) = (Int(length.rxOctets), Microseconds(Int(length.rxTime)))
        row.link = link
        let ceiling = Ceiling(link, valueOctets: longest)
        row.ceiling = ceiling
        func add(_ cause: Limit, _ kbps: Double, _ text: String) {
            row.missing.append(.init(cause: cause, kbps: (kbps * 10).rounded() / 10, text: text))
        }
        let short = setup.shortDataLength(link, of: "product")
        let taken = short.map { Ceiling($0.lengthened(link), valueOctets: longest).perInterval - ceiling.perInterval } ?? 0
        if let short, taken > 0.05 { add(.dataLength, taken, short.text) }
        let rest = ceiling.perInterval - row.goodput
        guard rest > ceiling.perInterval * 0.01 else {
            row.limit = taken > ceiling.perInterval * Explanation.noticeable ? .dataLength : .air
            return
        }
        row.limit = .product
        add(.product, rest, "\(Limit.product.text); values of up to \(longest) octets came")
    }

    /// Calls `handler` with each value that the product notifies, or each SDU.
    private func listen(_ handler: @escaping (RawSpan) -> Void) async throws {
        guard setup.channels.isEmpty else {
            for channel in setup.channels { channel.onSDU = handler }
            return
        }
        try await setup.client.subscribe(handler)
    }

    private func given(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        let sender: any FlowSource =
            setup.channels.isEmpty
            ? setup.client.writer(length: valueOctets) : ChannelSender(setup.tester, setup.channels, length: valueOctets)
        sender.start()
        defer { sender.stop() }
        try await countCompleted(&row, span, sender)
        row.supply = sender.supply
        sender.stop()
        try await drained(setup.client.link)
        let explanation = Explanation(
            goodput: row.goodput, link: setup.parameters, ceiling: ceiling, limited: limited, counters: nil, supply: row.supply,
            short: setup.shortDataLength(setup.parameters, of: "product"))
        (row.missing, row.limit) = (explanation.missing, explanation.limit)
    }
}
