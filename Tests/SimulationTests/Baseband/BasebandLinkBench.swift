import BBPackets
import BBTiming
import BBTraffic
import Testing

@testable import BBSimulation

/// One end of a link without link manager and host: records received data and keeps the link's queue filled.
final class BasebandEnd: BasebandLinkDelegate, LinkTransportDelegate {
    var link: BasebandLink!
    var received: [UInt8] = []
    var sent: [UInt8] = []
    var lmp: [[UInt8]] = []
    var acknowledged: [[UInt8]] = []
    var log: [String] = []
    var completed = 0
    /// Order of reception: `d` for data, `l` for an LMP message.
    var order = ""
    /// Length of the packets sent continuously; 0 for none.
    var length = 0
    var endedAt: Microseconds?
    /// Received voice by transport, packet by packet.
    var voice: [UInt8: [(octets: [UInt8], isCorrect: Bool)]] = [:]
    var spoken: [UInt8: [[UInt8]]] = [:]
    private var number: UInt8 = 0

    func feed(_ count: Int) {
        var data: [UInt8] = []
        for _ in 0..<count {
            number = number &* 5 &+ 1
            data.append(number)
        }
        sent += data
        link.send(data[...], isStart: true)
    }

    func saturate(_ length: Int) {
        self.length = length
        for _ in 0..<4 { feed(length) }
    }

    /// Queues the next packets of a transport, and another with each received one.
    func speak(_ id: UInt8, length: Int) {
        for _ in 0..<4 { sayMore(on: id, length: length) }
    }

    private func sayMore(on id: UInt8, length: Int) {
        let count = UInt16(truncatingIfNeeded: spoken[id]?.count ?? 0)
        let octets = (0..<length).map { UInt8(truncatingIfNeeded: count &* 7 &+ UInt16($0) &+ count >> 8 &+ UInt16(id)) }
        spoken[id, default: []].append(octets)
        link.send(voice: octets[...], on: id)
    }

    func link(_ link: BasebandLink, voice octets: ArraySlice<UInt8>, isCorrect: Bool, of id: UInt8) {
        voice[id, default: []].append((Array(octets), isCorrect))
        if let length = spoken[id]?.first?.count { sayMore(on: id, length: length) }
    }

    func linkEstablished(_ link: BasebandLink) { log.append("established") }
    func linkFailed(_ link: BasebandLink) {
        log.append("failed")
        endedAt = link.air.loop.now
    }
    func link(_ link: BasebandLink, received data: ArraySlice<UInt8>, isStart: Bool) {
        received += data
        order += "d"
    }
    func freeLTAddr(for link: BasebandLink) -> UInt8? { 6 }
    func link(_ link: BasebandLink, completed count: Int) {
        completed += count
        if length > 0 { for _ in 0..<count { feed(length) } }
    }
    func transport(_ transport: any LinkTransport, received lmp: [UInt8]) {
        self.lmp.append(lmp)
        order += "l"
    }
    func transportAcknowledged(_ transport: any LinkTransport, lmp: [UInt8]) { acknowledged.append(lmp) }
    func transport(_ transport: any LinkTransport, made change: BasebandChange, isDone: Bool) { log.append("made \(isDone)") }
    func transportNeedsKeyRefresh(_ transport: any LinkTransport) { log.append("refresh") }
    func transportLost(_ transport: any LinkTransport, _ reason: ErrorCode) {
        log.append("lost \(reason.rawValue)")
        endedAt = link.air.loop.now
    }
}

extension BREDRPacketType {
    fileprivate var rate: BasebandFrame.Modulation {
        switch format.modulation {
        case .gfsk: .basicRate
        case .dqpsk: .edr2M
        case .dpsk8: .edr3M
        }
    }
}

/// A piconet after paging: a central and its peripherals, whose first packets are due.
final class BasebandLinkBench {
    static let address: BDADDR = 0x1234_5678_9ABC
    let bench: AirBench
    static let other: BDADDR = 0x0011_2289_6745
    let clock: NativeClock
    /// Clock of the peripherals.
    let otherClock: NativeClock
    let centralRadio: Radio
    private(set) var ends: [BasebandEnd] = []
    var frames:
        [(packet: BREDRHeader, channel: UInt8, octets: Int, start: Microseconds, transport: BasebandFrame.Transport, airTime: Microseconds)] =
            []

    /// The ends of a link: central, peripheral.
    var central: BasebandEnd { ends[0] }
    var peripheral: BasebandEnd { ends[1] }
    var loop: RunLoop { bench.loop }

    /// - Parameter phase: time from the central's slot pairs to those of the peripherals' clock; nil for a random one.
    init(seed: UInt64 = 1, phase: Microseconds? = nil, _ location: SourceLocation = #_sourceLocation) {
        bench = AirBench(seed: seed, location)
        var random = RandomSource(seed: seed, label: "clocks")
        clock = NativeClock(&random)
        let clock = clock
        otherClock = phase.map { NativeClock(showing: 0, at: clock.start(of: 0) + $0) } ?? NativeClock(&random)
        centralRadio = bench.air.makeRadio()
    }

    /// - Parameter isWhole: false to omit the peripheral.
    @discardableResult
    func join(ltAddr: UInt8 = 1, isWhole: Bool = true) -> (central: BasebandEnd, peripheral: BasebandEnd) {
        let start = clock.start(of: (clock.tick(at: loop.now) + 8) & ~3)
        let pair = (BasebandEnd(), BasebandEnd())
        for (end, role) in [(pair.0, LinkRole.central), (pair.1, .peripheral)] where isWhole || role == .central {
            let parameters = BasebandLinkParameters(
                role: role, central: Self.address, clock: clock, ltAddr: ltAddr, start: start,
                own: role == .central ? Self.address : Self.other, native: role == .central ? clock : otherClock)
            end.link = BasebandLink(parameters, radio: role == .central ? centralRadio : bench.air.makeRadio(), delegate: end)
            end.link.manager = end
            ends.append(end)
        }
        return pair
    }

    func watch() {
        bench.air.log = { [unowned self] frame, start in
            guard case .bredr(let frame) = frame, let header = BREDRHeader(bits: frame.packetHeader, uap: Self.address.uap) else { return }
            frames.append(
                (header, frame.rfChannel, frame.payload.count, start, frame.transport, Self.airTime(header, frame)))
        }
    }

    private static func airTime(_ header: BREDRHeader, _ frame: BasebandFrame) -> Microseconds {
        let type = BREDRPacketType.allCases.first {
            $0.code == header.type && (header.type < 3 || (BasebandFrame.Transport($0) == frame.transport && $0.rate == frame.modulation))
        }
        guard let type else { return .zero }
        return Microseconds(type.airTime(payload: max(0, frame.payload.count - (type.format.hasCRC ? 2 : 0))))
    }

    func applyToAll(_ changes: BasebandChange...) { for end in ends { for change in changes { end.link.apply(change) } } }

    /// Sets the encryption of both directions on both ends.
    func encrypt(_ encryption: PayloadEncryption) {
        applyToAll(.encryption(encryption, direction: .transmit), .encryption(encryption, direction: .receive))
    }

    func run(_ time: Microseconds = 100_000) throws { try bench.run(time) }

    func close() {
        bench.air.log = nil
        for end in ends { end.link?.detach() }
    }
}
