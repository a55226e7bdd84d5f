import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// One end of a link in a test: records the link's callbacks and keeps its queue filled.
final class LinkEnd: ConnectionDelegate {
    var link: Connection!
    /// Callbacks, one per entry: `disconnected 08`.
    var log: [String] = []
    var received: [UInt8] = []
    var receivedPDUs: [Int] = []
    var starts = 0
    var completed = 0
    var disconnectedAt: Microseconds?
    /// Immediate reply to a parameter request.
    var answersRequests: ((RequestedParameters) -> (RequestedParameters?, ErrorCode))?
    /// Reply to a key request; nil for no key.
    var longTermKey: UInt128? = LinkEnd.key
    var answersKeyRequests = true
    static let key: UInt128 = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF
    /// Number of ACL packets to keep in the link's queue, and their length.
    var backlog = 0
    var packetLength = 251
    private var sent: UInt8 = 0
    private(set) var sentOctets: [UInt8] = []

    func code(_ status: ErrorCode) -> String {
        let digits = String(status.rawValue, radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
    }

    /// Queues ACL packets with consecutive numbers.
    func feed(_ count: Int) {
        var data: [UInt8] = []
        for _ in 0..<count {
            data.append(sent)
            sent &+= 1
        }
        sentOctets += data
        link.send(data[...], isStart: true)
    }

    func saturate(_ packets: Int = 8, length: Int) {
        backlog = packets
        packetLength = length
        for _ in 0..<packets { feed(length) }
    }

    func connectionEstablished(_ connection: Connection) { log.append("established") }
    func connection(_ connection: Connection, disconnected reason: ErrorCode) {
        log.append("disconnected \(code(reason))")
        disconnectedAt = connection.air.loop.now
    }
    func connection(_ connection: Connection, received data: ArraySlice<UInt8>, isStart: Bool) {
        received += data
        receivedPDUs.append(data.count)
        if isStart { starts += 1 }
    }
    func connection(_ connection: Connection, completed count: Int) {
        completed += count
        if backlog > 0 { for _ in 0..<count { feed(packetLength) } }
    }
    func connection(_ connection: Connection, reports report: LinkReport) {
        switch report {
        case .updated(let status):
            let timing = "\(connection.interval.rawValue) \(connection.peripheralLatency) \(connection.supervisionTimeout.rawValue)"
            log.append("updated \(code(status)) \(timing)")
        case .requested(let parameters):
            log.append("requested \(parameters.intervalMin)-\(parameters.intervalMax) \(parameters.latency) \(parameters.timeout)")
            guard let (accepted, reason) = answersRequests?(parameters) else { return }
            _ = connection.replyToParameterRequest(accepted, reason: reason)
        case .phy(let status): log.append("phy \(code(status)) \(connection.transmitPHY) \(connection.receivePHY)")
        case .dataLength:
            let length = connection.dataLength
            log.append("length \(length.maxTxOctets) \(length.maxTxTime) \(length.maxRxOctets) \(length.maxRxTime)")
        case .features(let features, let status): log.append("features \(code(status)) \(String(features.rawValue, radix: 16))")
        case .version(let remote, let status):
            log.append("version \(code(status)) \(remote.version) \(remote.companyIdentifier) \(remote.subversion)")
        case .encrypted(let status): log.append("encrypted \(code(status))")
        case .keyRefreshed(let status): log.append("refreshed \(code(status))")
        case .keyRequested(let random, let diversifier):
            log.append("key wanted \(random) \(diversifier)")
            if answersKeyRequests { _ = connection.replyToKeyRequest(longTermKey) }
        }
    }
    func connectionAuthenticatedPayloadExpired(_ connection: Connection) { log.append("payload timeout") }
}

/// A link between two bare link layers on its own air. At the end of its test it must be idle, with nothing left over.
final class LinkBench {
    struct Options {
        var interval: Microseconds = 15_000
        var latency = 0
        var timeout: Microseconds = 1_000_000
        var phy = PHY.le1M
        var usesAlgorithm2 = true
        var hop: UInt8 = 7
        var map = ChannelMap.all
        var windowOffset: Microseconds = 0
        var seed: UInt64 = 1
        var central = ControllerConfiguration(address: DeviceAddress(value: 0x11))
        var peripheral = ControllerConfiguration(address: DeviceAddress(value: 0x22))
        var withoutPeripheral = false
        var defaults = LinkDefaults()
    }

    private let base: AirBench
    let central = LinkEnd()
    let peripheral = LinkEnd()
    let radios: [Radio]
    var loop: RunLoop { base.loop }
    var air: Air { base.air }

    init(_ options: Options = Options(), _ location: SourceLocation = #_sourceLocation) {
        base = AirBench(seed: options.seed, location)
        radios = [base.air.makeRadio(), base.air.makeRadio()]
        connect(central, .central, radios[0], options)
        if !options.withoutPeripheral { connect(peripheral, .peripheral, radios[1], options) }
    }

    convenience init(_ change: (inout Options) -> Void, _ location: SourceLocation = #_sourceLocation) {
        var options = Options()
        change(&options)
        self.init(options, location)
    }

    deinit { base.close(ends) }

    private func connect(_ end: LinkEnd, _ role: ConnectionParameters.Role, _ radio: Radio, _ options: Options) {
        let own = role == .central ? options.central : options.peripheral
        let other = role == .central ? options.peripheral : options.central
        let parameters = ConnectionParameters(
            role: role, handle: ConnectionHandle(1), accessAddress: 0x5A3C_96E1, crcInit: 0x123456, interval: options.interval,
            peripheralLatency: options.latency, supervisionTimeout: options.timeout, channelMap: options.map, hopIncrement: options.hop,
            usesAlgorithm2: options.usesAlgorithm2, phy: options.phy, ownAddress: own.address, peerAddress: other.address,
            transmitWindowStart: loop.now + 1_250 + options.windowOffset, transmitWindowSize: 1_250,
            peerClockAccuracy: other.clockAccuracy)
        end.link = Connection(parameters, configuration: own, defaults: options.defaults, radio: radio, delegate: end)
    }

    var ends: [LinkEnd] { [central, peripheral] }

    /// Lets both devices send PDUs of up to this length, as after a data length update.
    func setDataLength(_ octets: UInt16, time: UInt16 = 17_040, sender: LinkEnd? = nil) {
        for end in ends {
            var remote = end.link.state.lengths.remote
            if sender == nil || sender === end {
                end.link.apply(.localLengths(octets: octets, time: time))
                remote.maxRxOctets = 251
                remote.maxRxTime = time
            }
            if sender == nil || sender !== end {
                remote.maxTxOctets = octets
                remote.maxTxTime = time
            }
            end.link.apply(.peerLengths(remote))
            end.log.removeAll()
        }
    }

    func run(_ time: Microseconds) throws { try base.run(time) }

    /// Waits until the link is idle, as required at the end of each test.
    func rest() throws { try base.rest(ends) }

    /// Ends the link without sending anything.
    func abandon() { for end in ends { end.link?.abandon() } }
}

/// Observes every packet of a link on the air, and its control PDUs.
final class ControlSniffer {
    struct Sent {
        var start: Microseconds
        var fromCentral: Bool
        var pdu: [UInt8]
    }

    var pdus: [Sent] = []
    /// Called with every packet; the PDU is empty unless it is an LL control PDU.
    var onPacket: ((_ start: Microseconds, _ isFromCentral: Bool, _ pdu: [UInt8]) -> Void)?

    init(_ bench: LinkBench) {
        bench.air.observer = { [unowned self] observation in
            let frame = observation.frame
            let header = frame.modulation == .leCoded ? 5 : 4
            let pdu = frame.bytes[header] & 3 == LLID.control ? Array(frame.bytes[(header + 2)...].dropLast(3)) : []
            let isFromCentral = frame.channel == .dataFromCentral
            if !pdu.isEmpty { pdus.append(Sent(start: observation.start, fromCentral: isFromCentral, pdu: pdu)) }
            onPacket?(observation.start, isFromCentral, pdu)
        }
    }

    /// MaxRxTime and MaxTxTime sent by each device.
    var lengths: [(fromCentral: Bool, times: [UInt16])] {
        pdus.compactMap { sent in
            switch LinkLayerControl.decode(sent.pdu[0], sent.pdu[...]) {
            case .lengthReq(let pdu): (sent.fromCentral, [pdu.maxRxTime, pdu.maxTxTime])
            case .lengthRsp(let pdu): (sent.fromCentral, [pdu.maxRxTime, pdu.maxTxTime])
            default: nil
            }
        }
    }

    func first(_ opcode: UInt8) -> Sent? { pdus.first { $0.pdu.first == opcode } }
}
