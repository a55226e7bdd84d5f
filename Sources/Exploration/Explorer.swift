import BBPackets
import BBSimulation
import BBTiming
import Synchronization

/// Tries every course of events of a set of procedures on a simulated link, and checks the invariants after each.
public struct Explorer: Sendable {
    /// The subject's role and controllers, and the seed of the random numbers on the air.
    public struct Setup: Sendable {
        /// Role of the controller under test; the other is the reference controller.
        public var subject: LinkRole
        /// The controller under test.
        public var configuration: ControllerConfiguration
        public var seed: UInt64

        public init(subject: LinkRole, configuration: ControllerConfiguration, seed: UInt64 = 1) {
            (self.subject, self.configuration, self.seed) = (subject, configuration, seed)
        }
    }

    /// The result of one path without a lost packet, and of those with one.
    public struct Finding: Sendable, Codable {
        /// The shortest path that shows the violation.
        public var path: ExploredPath
        public var violation: Violation
        /// Number of paths that violate the same invariant.
        public var count: Int
    }

    private let setup: Setup

    public init(_ setup: Setup) { self.setup = setup }

    // MARK: Paths

    /// All pairs of procedures without a lost packet: both begin in the same connection event, or one up to `events` after the other.
    ///
    /// - Parameter requests: the procedures; pairs of the same device are included.
    public static func pairs(of requests: [LinkRequest], events: Int) -> [ExploredPath] {
        let all = LinkRole.allCases.flatMap { role in
            LinkRequest.all(of: role).filter(requests.contains).map { PlannedRequest(role, $0) }
        }
        return all.flatMap { first in
            all.flatMap { second in
                (0...events).compactMap { event in
                    // Two requests in the same event come in both orders only from one device.
                    let isTwin = event == 0 && first.role == .peripheral && second.role == .central
                    return isTwin ? nil : ExploredPath([first, PlannedRequest(second.role, second.request, event: event)])
                }
            }
        }
    }

    /// Random courses of three procedures.
    public static func triples(of requests: [LinkRequest], events: Int, count: Int, seed: UInt64) -> [ExploredPath] {
        var random = RandomSource(seed: seed, label: "three procedures")
        return (0..<count).map { _ in
            var event = 0
            return ExploredPath(
                (0..<3).map { number in
                    let role = LinkRole.allCases[Int.random(in: 0...1, using: &random)]
                    let possible = LinkRequest.all(of: role).filter(requests.contains)
                    if number > 0 { event += Int.random(in: 0...events, using: &random) }
                    return PlannedRequest(role, possible[Int.random(in: possible.indices, using: &random)], event: event)
                })
        }
    }

    // MARK: Running

    /// Runs one path.
    public func violations(_ path: ExploredPath) throws -> [Violation] { try outcome(of: path).violations(of: path) }

    private func outcome(of path: ExploredPath) throws -> PathOutcome {
        let isDirect = path.requests(of: .central).contains(.update)
        return try ExploredLink(
            { role in
                var configuration = role == setup.subject ? setup.configuration : ControllerConfiguration(address: DeviceAddress(value: 0))
                if isDirect, role == .central { configuration.features.remove(.connectionParametersRequest) }
                return configuration
            }, seed: setup.seed
        ).run(path)
    }

    /// The number of runs and the violations of a path and, if `losses`, of the same path with each packet lost in turn.
    public func explore(_ path: ExploredPath, losses: Bool) throws -> (runs: Int, found: [(path: ExploredPath, violation: Violation)]) {
        let whole = try outcome(of: path)
        var found = whole.violations(of: path).map { (path, $0) }
        guard losses else { return (1, found) }
        for number in whole.worthLosing {
            let lossy = ExploredPath(path.requests, lostPacket: number)
            found += try violations(lossy).map { (lossy, $0) }
        }
        return (1 + whole.worthLosing.count, found)
    }

    // MARK: Shrinking

    /// Returns the shortest path that still violates the invariant: without the loss, with fewer requests, closer together.
    public func shrink(_ path: ExploredPath, _ violation: Violation) throws -> (path: ExploredPath, violation: Violation) {
        var best = (path, violation)
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            for candidate in Self.smaller(best.0) {
                guard let same = try violations(candidate).first(where: { $0.isSame(as: violation) }) else { continue }
                best = (candidate, same)
                isSmaller = true
                break
            }
        }
        return best
    }

    private static func smaller(_ path: ExploredPath) -> [ExploredPath] {
        var all: [ExploredPath] = []
        if path.lostPacket != nil { all.append(ExploredPath(path.requests)) }
        if path.requests.count > 1 {
            for index in path.requests.indices {
                var requests = path.requests
                requests.remove(at: index)
                let first = requests.first?.event ?? 0
                for other in requests.indices { requests[other].event -= first }
                all.append(ExploredPath(requests, lostPacket: path.lostPacket))
            }
        }
        for index in path.requests.indices where path.requests[index].event > 0 {
            let gap = path.requests[index].event - (index > 0 ? path.requests[index - 1].event : 0)
            for less in Set([gap, gap / 2, 1]) where less > 0 && less <= gap {
                var requests = path.requests
                for later in index..<requests.count { requests[later].event -= less }
                all.append(ExploredPath(requests, lostPacket: path.lostPacket))
            }
        }
        if let lost = path.lostPacket, lost > 1 { all.append(ExploredPath(path.requests, lostPacket: lost - 1)) }
        return all
    }
}
