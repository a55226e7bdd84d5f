import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Procedures as both hosts see them, over an undisturbed and over a lossy air.
@Suite struct ProcedureTests {
    enum Act: Sendable {
        case version
        case features
        case update(RequestedParameters)
        /// LL_CONNECTION_UPDATE_IND without a preceding request.
        case announce(RequestedParameters)
        case channelMap(UInt64)
        case phy(tx: PHYs, rx: PHYs)
        case length(UInt16, UInt16)
        case terminate(ErrorCode)
        case ping
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var central: [Act] = []
        var peripheral: [Act] = []
        var centralFeatures = LEFeatures.simulated
        var peripheralFeatures = LEFeatures.simulated
        var reply: @Sendable (RequestedParameters) -> (RequestedParameters?, ErrorCode) = { ($0, .success) }
        var phy = PHY.le1M
        var centralLog: [String] = []
        var peripheralLog: [String] = []
        var testDescription: String { name }
    }

    static func perform(_ acts: [Act], _ end: LinkEnd) {
        for act in acts {
            let status: ErrorCode =
                switch act {
                case .version: end.link.readRemoteVersion()
                case .features: end.link.readRemoteFeatures()
                case .update(let requested): end.link.updateParameters(requested)
                case .announce(let requested):
                    {
                        end.link.request(LocalConnectionUpdate(requested))
                        return .success
                    }()
                case .channelMap(let map):
                    {
                        end.link.updateChannelMap(ChannelMap(map))
                        return .success
                    }()
                case .phy(let tx, let rx): end.link.updatePHY(tx: tx, rx: rx)
                case .length(let octets, let time): end.link.setDataLength(txOctets: octets, txTime: time)
                case .terminate(let reason): end.link.terminate(reason)
                case .ping:
                    {
                        end.link.ping()
                        return .success
                    }()
                }
            if status != .success { end.log.append("status \(end.code(status))") }
        }
    }

    static let faster = RequestedParameters(intervalMin: 6, intervalMax: 6, latency: 0, timeout: 100)
    static let slower = RequestedParameters(intervalMin: 80, intervalMax: 80, latency: 3, timeout: 600)

    static let cases: [Case] = [
        Case(
            name: "version", central: [.version], peripheral: [.version], centralLog: ["version 00 13 65535 1"],
            peripheralLog: ["version 00 13 65535 1"]),
        Case(name: "features by the central", central: [.features], centralLog: ["features 00 493f"]),
        Case(name: "features by the peripheral", peripheral: [.features], peripheralLog: ["features 00 493f"]),
        Case(
            name: "features the peripheral may not ask for", peripheral: [.features],
            centralFeatures: LEFeatures.simulated.subtracting(.peripheralInitiatedFeaturesExchange), peripheralLog: ["features 1A 0"]),
        Case(
            name: "first octet is what both support", central: [.features], centralFeatures: [.lePing, .le2MPHY],
            centralLog: ["features 00 4910"]),
        Case(
            name: "update by the central", central: [.announce(faster)], centralLog: ["updated 00 7500 0 1000000"],
            peripheralLog: ["updated 00 7500 0 1000000"]),
        Case(
            name: "update with latency", central: [.announce(slower)], centralLog: ["updated 00 100000 3 6000000"],
            peripheralLog: ["updated 00 100000 3 6000000"]),
        Case(
            name: "update that changes nothing",
            central: [.announce(RequestedParameters(intervalMin: 12, intervalMax: 12, latency: 0, timeout: 400))],
            centralLog: ["updated 00 15000 0 4000000"]),
        Case(
            name: "request by the peripheral", peripheral: [.update(faster)],
            centralLog: ["requested 6-6 0 100", "updated 00 7500 0 1000000"], peripheralLog: ["updated 00 7500 0 1000000"]),
        Case(
            name: "request by the central", central: [.update(slower)], centralLog: ["updated 00 100000 3 6000000"],
            peripheralLog: ["requested 80-80 3 600", "updated 00 100000 3 6000000"]),
        Case(
            name: "request by the central refused", central: [.update(faster)], reply: { _ in (nil, .unacceptableConnectionParameters) },
            centralLog: ["updated 3B 15000 0 4000000"], peripheralLog: ["requested 6-6 0 100"]),
        Case(
            name: "update by a central that cannot ask", central: [.update(faster)],
            centralFeatures: LEFeatures.simulated.subtracting(.connectionParametersRequest), centralLog: ["updated 00 7500 0 1000000"],
            peripheralLog: ["updated 00 7500 0 1000000"]),
        Case(
            name: "update of a peripheral whose host cannot be asked", central: [.update(faster)],
            reply: { _ in (nil, .unsupportedRemoteFeature) }, centralLog: ["updated 00 7500 0 1000000"],
            peripheralLog: ["requested 6-6 0 100", "updated 00 7500 0 1000000"]),
        Case(
            name: "request refused", peripheral: [.update(faster)],
            reply: { _ in (nil, .unacceptableConnectionParameters) },
            centralLog: ["requested 6-6 0 100"], peripheralLog: ["updated 3B 15000 0 4000000"]),
        Case(
            name: "request to a central without it", peripheral: [.update(faster)],
            centralFeatures: LEFeatures.simulated.subtracting(.connectionParametersRequest), peripheralLog: ["updated 1A 15000 0 4000000"]),
        Case(
            name: "request to a peripheral without it becomes an update", central: [.update(faster)],
            peripheralFeatures: LEFeatures.simulated.subtracting(.connectionParametersRequest),
            centralLog: ["updated 00 7500 0 1000000"], peripheralLog: ["updated 00 7500 0 1000000"]),
        Case(
            name: "illegal parameters",
            central: [.update(RequestedParameters(intervalMin: 6, intervalMax: 3_200, latency: 0, timeout: 10))],
            centralLog: ["status 12"]),
        Case(name: "channel map", central: [.channelMap(0x0F)]),
        Case(
            name: "2M both ways by the central", central: [.phy(tx: .le2M, rx: .le2M)], centralLog: ["phy 00 le2M le2M"],
            peripheralLog: ["phy 00 le2M le2M"]),
        Case(
            name: "2M both ways by the peripheral", peripheral: [.phy(tx: .le2M, rx: .le2M)], centralLog: ["phy 00 le2M le2M"],
            peripheralLog: ["phy 00 le2M le2M"]),
        Case(
            name: "asymmetric", central: [.phy(tx: .le2M, rx: .le1M)], centralLog: ["phy 00 le2M le1M"],
            peripheralLog: ["phy 00 le1M le2M"]),
        Case(
            name: "asymmetric with Coded", peripheral: [.phy(tx: .leCoded, rx: .le2M)],
            centralLog: ["length 27 328 27 2704", "phy 00 le2M leCoded"], peripheralLog: ["length 27 2704 27 328", "phy 00 leCoded le2M"]),
        Case(
            name: "Coded", central: [.phy(tx: .leCoded, rx: .leCoded)],
            centralLog: ["length 27 2704 27 2704", "phy 00 leCoded leCoded"],
            peripheralLog: ["length 27 2704 27 2704", "phy 00 leCoded leCoded"]),
        Case(name: "no preference keeps the PHY", central: [.phy(tx: [], rx: [])], centralLog: ["phy 00 le1M le1M"]),
        Case(name: "the PHY in use", peripheral: [.phy(tx: .le1M, rx: .le1M)], peripheralLog: ["phy 00 le1M le1M"]),
        Case(
            name: "a PHY the peer lacks", central: [.phy(tx: .leCoded, rx: .leCoded)], peripheralFeatures: [.le2MPHY],
            centralLog: ["phy 00 le1M le1M"]),
        Case(
            name: "PHY update with a peer without it", central: [.phy(tx: .le2M, rx: .le2M)], peripheralFeatures: [],
            centralLog: ["phy 1A le1M le1M"]),
        Case(
            name: "a second PHY update at once", central: [.phy(tx: .le2M, rx: .le2M), .phy(tx: .le1M, rx: .le1M)],
            centralLog: ["status 0C", "phy 00 le2M le2M"], peripheralLog: ["phy 00 le2M le2M"]),
        Case(
            name: "data length by the central", central: [.length(251, 2_120)], centralLog: ["length 251 2120 27 328"],
            peripheralLog: ["length 27 328 251 2120"]),
        Case(
            name: "data length by both", central: [.length(251, 2_120)], peripheral: [.length(100, 912)],
            centralLog: ["length 251 2120 100 912"],
            peripheralLog: ["length 100 912 251 2120"]),
        Case(name: "data length as it is", central: [.length(27, 328)]),
        Case(name: "data length out of range", central: [.length(26, 328), .length(27, 327)], centralLog: ["status 12", "status 12"]),
        Case(name: "data length with a peer without it", central: [.length(251, 2_120)], peripheralFeatures: []),
        Case(name: "ping", central: [.ping], peripheral: [.ping]),
        Case(name: "ping a peer without it", central: [.ping], peripheralFeatures: []),
        Case(
            name: "terminate by the central", central: [.terminate(.remoteUserTerminatedConnection)], centralLog: ["disconnected 16"],
            peripheralLog: ["disconnected 13"]),
        Case(
            name: "terminate by the peripheral", peripheral: [.terminate(.remoteDeviceTerminatedConnectionDueToPowerOff)],
            centralLog: ["disconnected 15"], peripheralLog: ["disconnected 16"]),
        Case(
            name: "terminate twice", central: [.terminate(.remoteUserTerminatedConnection), .terminate(.remoteUserTerminatedConnection)],
            centralLog: ["status 0C", "disconnected 16"], peripheralLog: ["disconnected 13"]),
        Case(
            name: "PHY collision", central: [.phy(tx: .le2M, rx: .le2M)], peripheral: [.phy(tx: .leCoded, rx: .leCoded)],
            centralLog: ["phy 00 le1M le1M"], peripheralLog: ["phy 23 le1M le1M"]),
        Case(
            name: "PHY against channel map", central: [.channelMap(0xFF)], peripheral: [.phy(tx: .le2M, rx: .le2M)],
            peripheralLog: ["phy 2A le1M le1M"]),
        Case(
            name: "PHY against update", central: [.announce(faster)], peripheral: [.phy(tx: .le2M, rx: .le2M)],
            centralLog: ["updated 00 7500 0 1000000"], peripheralLog: ["phy 2A le1M le1M", "updated 00 7500 0 1000000"]),
        Case(
            name: "request against request", central: [.update(faster)], peripheral: [.update(slower)],
            centralLog: ["updated 00 7500 0 1000000"],
            peripheralLog: ["requested 6-6 0 100", "updated 23 15000 0 4000000", "updated 00 7500 0 1000000"]),
        Case(
            name: "one after another",
            central: [.version, .features, .length(251, 2_120), .phy(tx: .le2M, rx: .le2M), .update(faster)],
            centralLog: [
                "version 00 13 65535 1", "features 00 493f", "length 251 2120 27 328", "phy 00 le2M le2M", "updated 00 7500 0 1000000",
            ],
            peripheralLog: ["length 27 328 251 2120", "phy 00 le2M le2M", "requested 6-6 0 100", "updated 00 7500 0 1000000"]),
    ]

    private func bench(_ row: Case, seed: UInt64 = 1) -> LinkBench {
        let bench = LinkBench {
            $0.seed = seed
            $0.timeout = 4_000_000
            $0.phy = row.phy
            $0.central.features = row.centralFeatures
            $0.peripheral.features = row.peripheralFeatures
        }
        for end in bench.ends { end.answersRequests = row.reply }
        return bench
    }

    @Test(arguments: cases)
    func undisturbed(row: Case) throws {
        let bench = bench(row)
        try bench.run(100_000)
        Self.perform(row.central, bench.central)
        Self.perform(row.peripheral, bench.peripheral)
        try bench.run(3_000_000)
        #expect(bench.central.log == ["established"] + row.centralLog)
        #expect(bench.peripheral.log == ["established"] + row.peripheralLog)
        checkAgreement(bench)
    }

    @Test(arguments: cases)
    func withLossAndData(row: Case) throws {
        for seed in 1...2 as ClosedRange<UInt64> {
            let bench = bench(row, seed: seed)
            bench.air.propagation.setLoss(.init(corrupted: 0.15, unnoticed: 0.05), on: .init())
            bench.central.saturate(4, length: 60)
            bench.peripheral.saturate(4, length: 251)
            try bench.run(100_000)
            Self.perform(row.central, bench.central)
            Self.perform(row.peripheral, bench.peripheral)
            try bench.run(6_000_000)
            checkAgreement(bench)
            // The last acknowledgement of a termination may be lost.
            let ended = bench.ends.allSatisfy { $0.link.isClosed }
            #expect(ended == row.name.hasPrefix("terminate"))
            for end in bench.ends { #expect(end.link.isClosed || end.link.engine.isIdle) }
        }
    }

    /// Both ends agree on the link state, and no octet was lost, duplicated or reordered.
    private func checkAgreement(_ bench: LinkBench) {
        let (central, peripheral) = (bench.central, bench.peripheral)
        #expect(central.received == Array(peripheral.sentOctets.prefix(central.received.count)))
        #expect(peripheral.received == Array(central.sentOctets.prefix(peripheral.received.count)))
        guard !central.link.isClosed else { return }
        #expect(central.link.transmitPHY == peripheral.link.receivePHY && central.link.receivePHY == peripheral.link.transmitPHY)
        #expect(central.link.channelMap == peripheral.link.channelMap)
        #expect(central.link.interval == peripheral.link.interval)
        #expect(central.link.dataLength.maxTxOctets == peripheral.link.dataLength.maxRxOctets)
    }

    /// Response of a link layer to an unexpected PDU, which must not break the link.
    static let strange: [(pdu: String, toCentral: String?, toPeripheral: String?)] = [
        ("", nil, nil),
        ("FF", "07FF", "07FF"),
        ("2B00", "072B", "072B"),
        ("0200", nil, nil),
        ("02", "0702", "0702"),
        ("021300", "0702", "0702"),
        ("0C0D", "070C", "070C"),
        ("070C00", nil, nil),
        ("0D", nil, nil),
        ("1100", nil, nil),
        ("00", "0700", "0700"),
        // Interval 0, instant far ahead.
        ("0001000000000000640000F0", "0700", "0700"),
        ("010000000000" + "0070", "0701", "0701"),
        ("01FFFFFFFF1F0070", "0701", nil),
        ("180202", "0718", "0718"),
        ("1802020070", "0718", "0718"),
        ("17", "0717", "0717"),
        ("13", "0713", "0713"),
        ("12", "13", "13"),
        ("1200", "0712", "0712"),
        ("15FB004808FB004808", "0715", "0715"),
        ("0800000000000000000000", "0708", "0708"),
        ("080000000000000000", "0708", "090049000000000000"),
        ("0EFF00000000000000", "093F49000000000000", "070E"),
        ("03" + String(repeating: "00", count: 21), "0703", "0703"),
        ("0F060005000000640000" + String(repeating: "00", count: 14), "0D1E", "0D1E"),
    ]

    @Test(arguments: strange.indices)
    func strangePDUs(row: Int) throws {
        let strange = Self.strange[row]
        for (toCentral, expected) in [(true, strange.toCentral), (false, strange.toPeripheral)] {
            let bench = LinkBench()
            try bench.run(100_000)
            let (sender, receiver) = toCentral ? (bench.peripheral, bench.central) : (bench.central, bench.peripheral)
            var answers: [[UInt8]] = []
            bench.air.observer = { observation in
                let frame = observation.frame
                let fromReceiver = (frame.channel == .dataFromCentral) == toCentral
                if fromReceiver, frame.bytes[4] & 3 == 3 { answers.append(Array(frame.bytes[6...].dropLast(3))) }
            }
            if strange.pdu.isEmpty { sender.link.send(control: []) } else { sender.link.send(control: octets(strange.pdu)) }
            try bench.run(200_000)
            #expect(answers == (expected.map { [octets($0)] } ?? []), "to the \(toCentral ? "central" : "peripheral")")
            let terminated = strange.pdu == "0200"
            #expect(receiver.link.isClosed == terminated)
            #expect(!receiver.link.engine.isAwaitingPeer)
            bench.abandon()
        }
    }

    @Test func randomPDUsNeverTrap() throws {
        var random = RandomSource(seed: 3)
        for round in 0..<150 {
            let bench = LinkBench { $0.seed = UInt64(round) }
            for end in bench.ends { end.answersRequests = { ($0, .success) } }
            for _ in 0..<8 {
                let end = bench.ends[Int(random.next() % 2)]
                let length = Int(random.next() % 30)
                end.link.send(control: [UInt8(random.next() % 0x30)] + random.octets(length))
                if random.chance(0.3) { _ = end.link.updatePHY(tx: PHYs(rawValue: UInt8(random.next() % 8)), rx: .le2M) }
            }
            try bench.run(500_000)
            bench.abandon()
        }
    }
}
