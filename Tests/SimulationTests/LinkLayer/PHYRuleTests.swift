import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// PHYs that a PHY update may choose, and limits on packets around it. Core Vol 6, Part B, 5.1.10.
@Suite struct PHYRuleTests {
    static let masks: [PHYs] = [[], .le1M, .le2M, .leCoded, [.le2M, .leCoded]]

    /// If a peripheral names the same single PHY in TX_PHYS and RX_PHYS, both directions change to it or neither changes. Core Vol 6, Part
    /// B, 5.1.10.
    @Test(arguments: [PHYs.le1M, .le2M, .leCoded], [true, false])
    func aSymmetricWishIsMetBothWaysOrNotAtAll(wish: PHYs, peripheralAsks: Bool) throws {
        for present in [PHY.le1M, .le2M] {
            for (tx, rx) in Self.masks.flatMap({ tx in Self.masks.map { (tx, $0) } }) {
                let bench = LinkBench { $0.phy = present }
                try bench.run(30_000)
                if peripheralAsks {
                    bench.central.link.apply(.preferredPHYs(tx: tx, rx: rx))
                    _ = bench.peripheral.link.updatePHY(tx: wish, rx: wish)
                } else {
                    bench.peripheral.link.apply(.preferredPHYs(tx: wish, rx: wish))
                    _ = bench.central.link.updatePHY(tx: tx, rx: rx)
                }
                try bench.run(180_000)
                let link = try #require(bench.central.link)
                let phys = Set([link.transmitPHY, link.receivePHY])
                #expect(phys.count == 1 && phys.isSubset(of: [present, PHY.allCases.first { $0.flag == wish } ?? present]), "\(tx) \(rx)")
                #expect(link.engine.isIdle && bench.peripheral.link.engine.isIdle)
                bench.abandon()
            }
        }
    }

    /// A rejected LE_Set_PHY has no effect, not even on the preferred coding.
    @Test func aRefusedUpdateKeepsTheCoding() throws {
        let bench = LinkBench { $0.phy = .leCoded }
        try bench.run(100_000)
        #expect(bench.central.link.updatePHY(tx: .leCoded, rx: .leCoded, prefersS2: true) == .success)
        #expect(bench.central.link.updatePHY(tx: .le2M, rx: .le2M, prefersS2: false) == .commandDisallowed)
        #expect(bench.central.link.state.airPHY == .codedS2 && bench.central.link.state.phys.preferredTx == .leCoded)
        try bench.run(100_000)
        bench.abandon()
    }

    // MARK: Packets during the procedure

    struct Restriction: Sendable, CustomTestStringConvertible {
        var name: String
        var phy = PHY.le1M
        var interval: Microseconds = 50_000
        var time: UInt16 = 17_040
        var byCentral: [ProcedureTests.Act] = []
        var byPeripheral: [ProcedureTests.Act] = []
        var testDescription: String { name }
    }

    static let short = RequestedParameters(intervalMin: 6, intervalMax: 6, latency: 0, timeout: 500)

    static let restrictions = [
        Restriction(name: "Coded at a short interval", interval: 7_500, byCentral: [.phy(tx: .leCoded, rx: .leCoded)]),
        Restriction(name: "Coded, asked by the peripheral", interval: 7_500, byPeripheral: [.phy(tx: .leCoded, rx: .leCoded)]),
        Restriction(name: "2M to 1M with little time", phy: .le2M, time: 1_064, byCentral: [.phy(tx: .le1M, rx: .le1M)]),
        Restriction(name: "2M to 1M, asked by the peripheral", phy: .le2M, time: 1_064, byPeripheral: [.phy(tx: .le1M, rx: .le1M)]),
        Restriction(name: "one direction", interval: 15_000, time: 8_000, byPeripheral: [.phy(tx: .leCoded, rx: .le2M)]),
        Restriction(name: "a shorter interval on Coded", phy: .leCoded, time: 4_000, byCentral: [.update(short)]),
        Restriction(name: "a shorter interval, announced", phy: .leCoded, time: 4_000, byCentral: [.announce(short)]),
        Restriction(
            name: "a shorter interval, asked by the peripheral", phy: .leCoded, time: 4_000,
            byPeripheral: [.update(short)]),
    ]

    /// From the deciding PDU on, no packet exceeds the effective times before and after the change; otherwise its retransmission would.
    /// Core Vol 6, Part B, 5.1.10.1 and 5.1.7.4.
    @Test(arguments: restrictions)
    func noPacketTakesLongerThanItsLinkAllows(row: Restriction) throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            let bench = LinkBench {
                $0.seed = seed
                $0.phy = row.phy
                $0.interval = row.interval
                $0.timeout = 5_000_000
            }
            for end in bench.ends { end.answersRequests = { ($0, .success) } }
            bench.setDataLength(251, time: row.time)
            let log = AirTimes(bench)
            bench.central.saturate(4, length: 251)
            bench.peripheral.saturate(4, length: 251)
            try bench.run(300_000)
            bench.air.propagation.setLoss(.init(corrupted: 0.2, unnoticed: 0.1), on: .init())
            ProcedureTests.perform(row.byCentral, bench.central)
            ProcedureTests.perform(row.byPeripheral, bench.peripheral)
            try bench.run(2_000_000)
            #expect(log.tooLong == [], "seed \(seed)")
            #expect(log.checked > 50)
            #expect(bench.ends.allSatisfy { !$0.link.isClosed && $0.log.count > 1 }, "seed \(seed)")
            bench.abandon()
        }
    }

    /// Compares each packet with its sender's effective time at that moment.
    private final class AirTimes {
        var tooLong: [Microseconds] = []
        var checked = 0

        init(_ bench: LinkBench) {
            bench.air.observer = { [unowned self, unowned bench] observation in
                let frame = observation.frame
                let end = frame.channel == .dataFromCentral ? bench.central : bench.peripheral
                let (phy, header) =
                    frame.modulation == .leCoded ? (frame.bytes[4] == 1 ? AirPHY.codedS2 : .codedS8, 5) : (end.link.state.airPHY, 4)
                let time = phy.airTime(payload: Int(frame.bytes[header + 1]))
                checked += 1
                if time > Microseconds(Int(end.link.dataLength.maxTxTime)) { tooLong.append(time) }
            }
        }
    }
}
