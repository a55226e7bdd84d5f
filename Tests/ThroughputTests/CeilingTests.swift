import BBPackets
import BBThroughput
import BBTraffic
import Testing

/// The model compared with published figures; Tests/Reference compares it with the independent table.
@Suite struct CeilingTests {
    @Test(arguments: [
        (LinkPHY.le1M, [80, 296, 328, 2_088, 2_120]), (.le2M, [44, 152, 168, 1_048, 1_064]),
        (.codedS2, [462, 894, 958, 4_478, 4_542]), (.codedS8, [720, 2_448, 2_704, 16_784, 17_040]),
    ])
    func airTimes(_ phy: LinkPHY, _ expected: [Int]) {
        for (payload, time) in zip([0, 27, 31, 251, 255], expected) {
            #expect(phy.airTime(payload: payload) == Microseconds(time))
            #expect(phy.payload(within: Microseconds(time)) == payload)
            #expect(phy.payload(within: Microseconds(time - 1)) == max(0, payload - 1))
        }
    }

    /// Encrypted: packets per event and kbit/s.
    @Test(arguments: [
        (7_500, LinkPHY.le1M, 3.0, 780.8), (7_500, .le2M, 5, 1301.3), (11_250, .le1M, 4, 694.0), (11_250, .le2M, 7, 1214.6),
        (11_250, .codedS2, 2, 347.0), (12_500, .le2M, 8, 1249.3), (30_000, .le2M, 21, 1366.4), (45_000, .codedS2, 8, 347.0),
        (50_000, .le1M, 20, 780.8), (100_000, .le2M, 71, 1385.9), (400_000, .codedS2, 75, 366.0),
    ])
    func wholeExchanges(_ interval: Int, _ phy: LinkPHY, _ packets: Double, _ kbps: Double) {
        var link = LinkParameters(phy: phy, interval: Microseconds(interval), octets: 251, mtu: 247)
        link.isEncrypted = true
        let ceiling = Ceiling(link)
        #expect(ceiling.packetsPerEvent == packets)
        #expect(abs(ceiling.perInterval - kbps) < 0.06)
    }

    @Test(arguments: [(27, 23, 322.6), (27, 185, 419.4), (27, 247, 399.7), (251, 185, 1272.7), (251, 247, 1402.3), (251, 498, 1422.4)])
    func backToBack(_ octets: Int, _ mtu: Int, _ kbps: Double) {
        let ceiling = Ceiling(LinkParameters(phy: .le2M, interval: 400_000, octets: octets, mtu: mtu))
        #expect(abs(ceiling.backToBack - kbps) < 0.06)
    }

    /// An attribute value has at most 512 octets. Core Vol 3, Part F, 3.2.9.
    @Test(arguments: [515, 516, 517]) func valuesEndAt512Octets(_ mtu: Int) {
        let link = LinkParameters(phy: .le2M, interval: 15_000, octets: 251, mtu: mtu)
        #expect(link.valueOctets == 512 && link.fragments(valueOctets: link.valueOctets) == [251, 251, 17])
        var overBearers = link
        overBearers.channels = ChannelLoad(sdu: mtu, mps: mtu + 2, header: 3)
        #expect(overBearers.valueOctets == 512 && overBearers.fragments(valueOctets: 512) == [251, 251, 19])
        var overChannel = link
        overChannel.channels = ChannelLoad(sdu: mtu, mps: mtu + 2)
        #expect(overChannel.valueOctets == mtu)
    }

    @Test func shortIntervalsShrinkCodedPackets() {
        let intervals: [Microseconds] = [7_500, 15_000, 30_000, 50_000]
        let octets = intervals.prefix(3).map { LinkParameters(phy: .codedS8, interval: $0, octets: 251, mtu: 247).usableOctets }
        #expect(octets == [59, 176, 251])
        let bothWays = intervals.map {
            var link = LinkParameters(phy: .codedS8, interval: $0, octets: 251, mtu: 247)
            link.isEncrypted = true
            link.time = EffectiveTime.transmit(
                on: .codedS8, negotiated: 17_040, interval: $0, receiveOctets: 251, receiveTime: 17_040)
            return link.usableOctets
        }
        #expect(bothWays == [27, 27, 182, 251])
    }

    @Test func limitsOfAnEvent() {
        let link = LinkParameters(phy: .le1M, interval: 30_000, octets: 27, mtu: 23)
        #expect(Ceiling(link, limits: .init(exchanges: 7)).perInterval == 1_120.0 / 30)
        var full = LinkParameters(phy: .le1M, interval: 15_000, octets: 251, mtu: 247)
        full.returnOctets = 251
        full.isFromCentral = true
        // Reserving a reply of 2088 us instead of 80 us costs the last exchange.
        #expect(Ceiling(full, limits: .init(reservesLongestReply: true)).exchangesPerEvent == 5)
    }

    /// Data in both directions in every exchange, as packed by Tests/Reference/greedy_packer.py.
    @Test(arguments: [
        (LinkPHY.le2M, 251, 247, 15_000, 780.8, 814.691), (.le1M, 251, 247, 7_500, 260.267, 436.104),
        (.le2M, 27, 247, 30_000, 325.333, 331.522),
        (.le1M, 27, 23, 7_500, 170.667, 179.372), (.codedS8, 27, 247, 15_000, 32.533, 39.412),
    ])
    func bothWays(_ phy: LinkPHY, _ octets: Int, _ mtu: Int, _ interval: Int, _ kbps: Double, _ backToBack: Double) {
        let link = LinkParameters(phy: phy, interval: Microseconds(interval), octets: octets, mtu: mtu)
        let ceiling = Ceiling(link, replies: link.fragments(valueOctets: link.valueOctets))
        #expect(abs(ceiling.perInterval - kbps) < 0.001 && abs(ceiling.backToBack - backToBack) < 0.001)
    }

    /// Periods of different lengths: ten packets in one direction and four in the other, with a common period of twenty exchanges with two
    /// packets.
    @Test func trainsOfTwoLengthsTurnTogether() {
        let link = LinkParameters(phy: .le2M, interval: 400_000, octets: 27, mtu: 247)
        let ceiling = Ceiling(link, replies: [27, 27, 27, 8])
        let data = (link.phy.airTime(payload: 27) * 9 + link.phy.airTime(payload: 8)) * 2
        let replies = link.phy.airTime(payload: 27) * 15 + link.phy.airTime(payload: 8) * 5
        let turn = data + replies + Microseconds(20 * 300)
        #expect(abs(ceiling.backToBack - Double(2 * 244 * 8 * 1_000) / Double(turn.rawValue)) < 1e-9)
        #expect(ceiling.fragmentsPerPacket == 10)
    }

    /// 1396 us per exchange: evenly spaced links have complete exchanges in their part of the interval.
    @Test(arguments: [(1, 21), (2, 10), (3, 7), (4, 5), (7, 3)]) func anEvenShareOfTheInterval(_ links: Int, _ exchanges: Int) {
        let link = LinkParameters(phy: .le2M, interval: 30_000, octets: 251, mtu: 247)
        #expect(Ceiling(link, limits: .init(links: links)).exchangesPerEvent == Double(exchanges))
    }

    @Test func aclPacketsCutTheTrain() {
        var link = LinkParameters(phy: .le1M, interval: 15_000, octets: 251, mtu: 247)
        #expect(link.fragments(valueOctets: 244) == [251])
        link.aclLength = 27
        #expect(link.fragments(valueOctets: 244) == [27, 27, 27, 27, 27, 27, 27, 27, 27, 8])
        link.aclLength = 64
        link.octets = 27
        #expect(link.fragments(valueOctets: 57) == [27, 27, 10])
        #expect(link.fragments(valueOctets: 100) == [27, 27, 10, 27, 16])
    }
}
