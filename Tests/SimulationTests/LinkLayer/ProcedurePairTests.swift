import BBMisbehaviour
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// All pairs of procedures that start at the same time, one on each device or both on one, without and with packet loss.
@Suite struct ProcedurePairTests {
    typealias Kind = LinkLayerControl.Kind

    struct Row: Sendable, CustomTestStringConvertible {
        var central: [Kind] = []
        var peripheral: [Kind] = []
        var testDescription: String { "central \(central), peripheral \(peripheral)" }
    }

    /// Procedures that only a central starts.
    static let ofTheCentral: Set<Kind> = [.connectionUpdate, .channelMap, .encryption]
    static let ofThePeripheral = Kind.allCases.filter { !ofTheCentral.contains($0) }

    static let rows: [Row] =
        Kind.allCases.flatMap { first in ofThePeripheral.map { Row(central: [first], peripheral: [$0]) } }
        + Kind.allCases.flatMap { first in Kind.allCases.map { Row(central: [first, $0]) } }
        + ofThePeripheral.flatMap { first in ofThePeripheral.map { Row(peripheral: [first, $0]) } }

    /// Starts a procedure on one device, with different parameters on each.
    private func begin(_ kind: Kind, _ end: LinkEnd) -> ErrorCode {
        let isCentral = end.link.role == .central
        let requested = isCentral ? ProcedureTests.faster : ProcedureTests.slower
        switch kind {
        case .version: return end.link.readRemoteVersion()
        case .features: return end.link.readRemoteFeatures()
        case .connectionUpdate:
            guard [.connectionUpdate, .parameterRequest].allSatisfy({ !end.link.engine.isBusy(with: $0) }) else {
                return .commandDisallowed
            }
            end.link.request(LocalConnectionUpdate(requested))
        case .parameterRequest: return end.link.updateParameters(requested)
        case .channelMap: end.link.updateChannelMap(ChannelMap(0xFF_FFFF))
        case .phy: return end.link.updatePHY(tx: isCentral ? .le2M : .leCoded, rx: isCentral ? .le2M : .le1M)
        case .dataLength: return end.link.setDataLength(txOctets: isCentral ? 251 : 100, txTime: 2_120)
        case .ping: end.link.ping()
        case .encryption: return end.link.encrypt(EncryptionKey(longTermKey: LinkEnd.key, random: 7, diversifier: 9))
        case .termination: return end.link.terminate(.remoteUserTerminatedConnection)
        }
        return .success
    }

    /// The event that reports the end of a procedure; nil if there is none.
    private func word(_ kind: Kind) -> String? {
        switch kind {
        case .version: "version"
        case .features: "features"
        case .connectionUpdate, .parameterRequest: "updated"
        case .phy: "phy"
        case .encryption: "encrypted"
        case .termination: "disconnected"
        case .channelMap, .dataLength, .ping: nil
        }
    }

    /// LL_REJECT_IND and LL_REJECT_EXT_IND PDUs, without retransmissions.
    private final class Refusals {
        var list: [[UInt8]] = []

        init(_ bench: LinkBench) {
            bench.air.log = { [unowned self] logged, _ in
                guard case .le(let frame) = logged else { return }
                let pdu = Array(frame.bytes[6...].dropLast(3))
                // Unencrypted; with a MIC it is longer.
                let lengths = [LLControl.RejectInd.opcode: 2, LLControl.RejectExtInd.opcode: 3]
                guard frame.bytes[4] & 3 == LLID.control, pdu.count == lengths[pdu[0]] else { return }
                if !list.contains(pdu) { list.append(pdu) }
            }
        }
    }

    /// - Parameters:
    ///   - isEncrypted: the link is already encrypted, so that encryption means a key refresh.
    ///   - knowsFeatures: the features were exchanged before.
    private func run(
        _ row: Row, seed: UInt64, loss: Double, isEncrypted: Bool = false, knowsFeatures: Bool = false
    ) throws -> (bench: LinkBench, refusals: [[UInt8]]) {
        let bench = LinkBench {
            $0.seed = seed
            $0.timeout = 4_000_000
        }
        for end in bench.ends { end.answersRequests = { ($0, .success) } }
        let refusals = Refusals(bench)
        try bench.run(100_000)
        if knowsFeatures {
            for end in bench.ends { #expect(begin(.features, end) == .success) }
            try bench.run(200_000)
        }
        if isEncrypted {
            #expect(begin(.encryption, bench.central) == .success)
            try bench.run(300_000)
        }
        if isEncrypted || knowsFeatures { for end in bench.ends { end.log.removeAll() } }
        bench.air.propagation.setLoss(.init(corrupted: loss * 0.7, unnoticed: loss * 0.3), on: .init())
        for (end, kinds) in [(bench.central, row.central), (bench.peripheral, row.peripheral)] {
            end.feed(200)
            for kind in kinds where begin(kind, end) == .success {
                end.log.append("asked \(word(kind) ?? "")")
            }
        }
        try bench.run(loss > 0 ? 3_000_000 : 1_500_000)
        return (bench, refusals.list)
    }

    /// Each host got one result for each request, both ends agree on the link state, and nothing is left.
    private func check(_ bench: LinkBench, _ row: Row, isEncrypted: Bool = false) throws {
        let terminates = (row.central + row.peripheral).contains(.termination)
        try bench.rest()
        #expect(bench.ends.allSatisfy { $0.link.isClosed == terminates })
        guard !terminates else { return }
        for (end, other) in [(bench.central, bench.peripheral), (bench.peripheral, bench.central)] {
            for word in ["version", "features", "updated", "phy", "encrypted"] {
                let asked = end.log.filter { $0 == "asked \(word)" }.count
                let ended = end.log.filter { $0.hasPrefix("\(isEncrypted && word == "encrypted" ? "refreshed" : word) ") }.count
                #expect(ended >= asked, "\(end.log)")
            }
            #expect(end.received == other.sentOctets)
        }
        let (central, peripheral) = (bench.central.link.state, bench.peripheral.link.state)
        #expect(central.phys.transmit == peripheral.phys.receive && central.phys.receive == peripheral.phys.transmit)
        #expect(central.channels.map == peripheral.channels.map)
        #expect(central.timing.interval == peripheral.timing.interval)
        #expect(central.timing.peripheralLatency == peripheral.timing.peripheralLatency)
        #expect(central.timing.supervisionTimeout == peripheral.timing.supervisionTimeout)
        #expect(
            central.encryption.isOn == (isEncrypted || row.central.contains(.encryption))
                && peripheral.encryption.isOn == central.encryption.isOn)
        #expect(central.lengths.effective.maxTxOctets == peripheral.lengths.effective.maxRxOctets)
        #expect(central.lengths.effective.maxRxOctets == peripheral.lengths.effective.maxTxOctets)
    }

    /// A collision is rejected with LL_REJECT_EXT_IND only where the features are known. Core Vol 6, Part B, 5.3 and 2.4.2.
    @Test(arguments: rows, [false, true]) func undisturbed(row: Row, knowsFeatures: Bool) throws {
        let (bench, refusals) = try run(row, seed: 1, loss: 0, knowsFeatures: knowsFeatures)
        try check(bench, row)
        var expected: [[UInt8]] = []
        if let first = row.central.first, let second = row.peripheral.first, first != .termination, second != .termination {
            let opcodes: [Kind: UInt8] = [.phy: LLControl.PHYReq.opcode, .parameterRequest: LLControl.ConnectionParamReq.opcode]
            if let reason = LinkLayerControl.collisions.reason(against: second, beside: first), let opcode = opcodes[second] {
                expected = [
                    knowsFeatures
                        ? [LLControl.RejectExtInd.opcode, opcode, reason.rawValue] : [LLControl.RejectInd.opcode, reason.rawValue]
                ]
            }
        }
        #expect(refusals == expected)
    }

    @Test(arguments: rows) func lossy(row: Row) throws {
        for seed in 1...2 as ClosedRange<UInt64> {
            let (bench, _) = try run(row, seed: seed, loss: 0.25, isEncrypted: seed == 2)
            try check(bench, row, isEncrypted: seed == 2)
        }
    }

    /// The table is symmetric and contains the pairs of Core Vol 6, Part B, 5.3.
    @Test func theTable() {
        let instants: [Kind] = [.connectionUpdate, .parameterRequest, .channelMap, .phy]
        let same: Set<Set<Kind>> = [
            [.connectionUpdate], [.parameterRequest], [.connectionUpdate, .parameterRequest], [.channelMap], [.phy],
        ]
        for first in Kind.allCases {
            for second in Kind.allCases {
                let reason = LinkLayerControl.collisions.reason(against: first, beside: second)
                #expect(reason == LinkLayerControl.collisions.reason(against: second, beside: first))
                guard instants.contains(first), instants.contains(second) else {
                    #expect(reason == nil)
                    continue
                }
                #expect(reason?.rawValue == (same.contains([first, second]) ? 0x23 : 0x2A))
            }
        }
    }

    /// A procedure that holds back data, as encryption does.
    private struct HoldingPing: LinkProcedure {
        let kind = Kind.ping
        let isAwaitingPeer = true
        let holdsData = true

        mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
            switch event {
            case .start: [.send(LLControl.PingReq())]
            case .message(.pingRsp): [.finish]
            default: nil
            }
        }
    }

    @Test(arguments: [ConnectionParameters.Role.central, .peripheral], [0, 4])
    func dataIsHeldBackUntilTheProcedureIsOver(role: ConnectionParameters.Role, latency: Int) throws {
        let rule = try PacketRewrite(.llControl, "LL_PING_RSP", .delay(400_000))
        let bench = LinkBench {
            $0.latency = latency
            $0.timeout = 4_000_000
            $0.central.quirks.rewrites = [rule]
            $0.peripheral.quirks.rewrites = [rule]
        }
        let (holder, other) = role == .central ? (bench.central, bench.peripheral) : (bench.peripheral, bench.central)
        try bench.run(100_000)
        holder.link.request(HoldingPing())
        for end in bench.ends { end.feed(60) }
        try bench.run(300_000)
        #expect(other.received.isEmpty && holder.link.packets.isDataHeld)
        #expect(holder.received == other.sentOctets)
        try bench.rest()
        #expect(other.received == holder.sentOctets && other.starts == 1)
    }
}
