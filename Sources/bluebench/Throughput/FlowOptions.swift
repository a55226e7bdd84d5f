import ArgumentParser
import BBPackets
import BBSimulation
import BBThroughput
import BBTiming
import BBTraffic
import Foundation

/// The measured flows and their links.
struct FlowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Kinds of flow, separated by commas: notify, write, request, ping (round trips), channel (L2CAP); over BR/EDR l2cap, rfcomm.",
            valueName: "flows"
        ))
    var over = "notify"
    @Option(help: ArgumentHelp("Directions, separated by commas: from-subject, to-subject.", valueName: "directions")) var direction:
        String?
    @Option(help: ArgumentHelp("PHYs, separated by commas: 1m, 2m, coded-s2, coded-s8.", valueName: "phys")) var phy = "2m"
    @Option(help: ArgumentHelp("Octets in a link layer PDU, 27 to 251.", valueName: "octets")) var dataLength = "251"
    @Option(
        help: ArgumentHelp("ATT_MTU, 23 to 517. Default: 247; with --bearers the longest that fills packets, 245.", valueName: "octets"))
    var mtu: String?
    @Option(help: ArgumentHelp("Connection interval, 7.5 to 4000 in steps of 1.25.", valueName: "ms")) var interval = "15"
    @Flag(help: "Encrypt the links; the devices pair first.") var encrypted = false
    @Option(help: ArgumentHelp("Over BR/EDR: the longest packet type, dm1 to 3-dh5.", valueName: "types")) var packets = "3-dh5"
    @Option(
        help: ArgumentHelp(
            "Over BR/EDR and channels: octets in an SDU. Default: as many as fill a packet or a K-frame.", valueName: "octets"))
    var sdu: String?
    @Option(
        help: ArgumentHelp(
            "Channels: octets in a K-frame, 23 to 65533. Default: as many as fill --data-length.", valueName: "octets", visibility: .hidden)
    )
    var mps: String?
    @Option(
        help: ArgumentHelp("Number of L2CAP channels at once, each with a flow.", valueName: "n"), transform: Arguments.whole(1...64))
    var channels = 1
    @Option(
        help: ArgumentHelp(
            "Channels: credits that the receiver gives first, and renews when half are used.", valueName: "n", visibility: .hidden),
        transform: Arguments.whole(1...65_535))
    var credits = 65_535
    @Option(
        help: ArgumentHelp(
            "Numbers of Enhanced ATT bearers, 1 to 5, for notify, write and request on encrypted links. Default: the fixed channel.",
            valueName: "numbers"))
    var bearers: String?
    @Flag(help: "Measure each row over LE together with a flow over BR/EDR on the same radios.") var beside = false
    @Option(
        help: ArgumentHelp("Number of links at once, each to a simulated DUT; rows for each and for their sum.", valueName: "n"),
        transform: Arguments.whole(1...20))
    var links = 1
    @Flag(help: "Both directions at once on each link; rows for each and for their sum.") var both = false
    @Option(help: ArgumentHelp("Length of the measurement of a row.", valueName: "seconds"), transform: Arguments.seconds) var seconds = 5.0
    @Flag(help: "Measure the ladder of WWDC 2017, session 712, instead of a sweep.") var ladder = false

    /// Options that apply only to flows over BR/EDR.
    static var givenOfBREDR: String? { ["--packets"].first(where: Arguments.given) }
    /// Options that apply only to flows over L2CAP channels on LE.
    static var givenOfChannels: String? { ["--mps", "--channels", "--credits"].first(where: Arguments.given) }

    /// The first option that selects a flow other than a product's own, or further links.
    static var givenBesidePeer: String? {
        let isChannel = Arguments.given("--psm")
        return ["--over", "--direction", "--bearers", "--beside", "--links", "--both", "--ladder"].first {
            Arguments.given($0) && !(isChannel && $0 == "--direction")
        }
    }

    static var givenBesideLadder: String? {
        optionNames.first { !["--seconds", "--ladder"].contains($0) && Arguments.given($0) }
    }

    /// - Parameters:
    ///   - product: the flow of a product, if it is not notified.
    ///   - further: the number of subjects after the first.
    func plan(product: FlowKind?, further: Int) throws -> SweepPlan {
        var plan = SweepPlan()
        plan.over = try Self.list(product?.rawValue ?? over, "--over", FlowKind.allCases)
        plan.directions = try direction.map { try Self.list($0, "--direction", FlowDirection.allCases) }
        plan.phys = try Self.list(phy, "--phy", LinkPHY.allCases)
        plan.dataLengths = try Self.numbers(dataLength, "--data-length")
        plan.mtus = try mtu.map { try Self.numbers($0, "--mtu") } ?? [nil]
        plan.intervals = try interval.split(separator: ",").map { text in
            guard let milliseconds = Double(text), milliseconds > 0, milliseconds < 100_000 else {
                throw CommandFailure(.usage, "--interval takes a time in ms, not '\(text)'")
            }
            return Microseconds(Int64(saturating: (milliseconds * 1_000).rounded()))
        }
        plan.packets = try Self.packetTypes(packets)
        plan.sdus = try sdu.map { try Self.numbers($0, "--sdu") } ?? [nil]
        let isChannel = plan.over.contains(.channel)
        plan.mpss = try mps.flatMap { isChannel ? try Self.numbers($0, "--mps") : nil } ?? [nil]
        plan.bearers = try bearers.map { try Self.numbers($0, "--bearers") } ?? [nil]
        plan.channels = channels
        if isChannel { plan.credits = credits }
        plan.encryption = [encrypted]
        plan.isShared = beside
        (plan.links, plan.isBothWays) = (links + further, both)
        plan.seconds = seconds
        return plan
    }

    private static func list<Item: RawRepresentable<String>>(_ text: String, _ option: String, _ all: [Item]) throws -> [Item] {
        try text.split(separator: ",").map { name in
            guard let item = all.first(where: { $0.rawValue == name }) else {
                throw CommandFailure(.usage, "\(option) \(name): use " + all.map(\.rawValue).joined(separator: ", "))
            }
            return item
        }
    }

    private static func packetTypes(_ text: String) throws -> [BREDRPacketType] {
        let all = PacketFamily.allCases.flatMap(\.types)
        return try text.split(separator: ",").map { name in
            guard let type = all.first(where: { $0.rawValue.lowercased() == name }) else {
                throw CommandFailure(.usage, "--packets \(name): use " + all.map { $0.rawValue.lowercased() }.joined(separator: ", "))
            }
            return type
        }
    }

    private static func numbers(_ text: String, _ option: String) throws -> [Int] {
        try text.split(separator: ",").map { part in
            guard let number = Int(part) else {
                throw CommandFailure(.usage, "\(option) takes numbers, separated by commas, not '\(part)'")
            }
            return number
        }
    }
}
