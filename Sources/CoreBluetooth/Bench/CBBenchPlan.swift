import BBHost
import BBPackets
import BBTiming
import Foundation

/// Something that happens to a phone while an app uses it.
public enum CBBenchDisturbance: String, CaseIterable, Sendable, Hashable {
    /// The other devices end their connections to the phone.
    case disconnection
    /// No packet arrives for 8 s: connections are lost.
    case lostLink
    /// Half of all packets are lost for 2 s.
    case lostPackets
    /// The other devices report that all their services have changed.
    case changedServices
    /// The user switches Bluetooth off, and on again after 2 s.
    case powerOff
    /// The system's Bluetooth service crashes, and is back after 1 s.
    case crash
    /// The system ends the program; the user launches it again after 1 s if nothing else has. Without `CBPhone.onLaunch` nothing happens.
    case kill
}

/// Disturbances of a phone, and the calls of its delegates after which they happen: found by `CBBench.explore`, repeated with
/// `CBBench(plan)`.
public struct CBBenchPlan: Sendable, Hashable, CustomStringConvertible {
    public struct Step: Sendable, Hashable {
        /// Number of the call, from 1.
        public let call: Int
        public let disturbance: CBBenchDisturbance

        public init(_ disturbance: CBBenchDisturbance, after call: Int) { (self.call, self.disturbance) = (call, disturbance) }
    }

    public let seed: UInt64
    /// Name of the phone.
    public let phone: String
    public let steps: [Step]

    public init(seed: UInt64 = 1, phone: String = "phone", _ steps: [Step]) { (self.seed, self.phone, self.steps) = (seed, phone, steps) }

    /// Such as `seed 1: changedServices after call 9`.
    public var description: String {
        let texts = steps.map { "\($0.disturbance) after call \($0.call)" }
        return "seed \(seed): " + (texts.isEmpty ? "undisturbed" : texts.joined(separator: ", "))
    }

    func with(_ steps: [Step]) -> CBBenchPlan { CBBenchPlan(seed: seed, phone: phone, steps) }
}

extension CBBench {
    /// Tries a test with disturbances: each alone after each call of a delegate, then two and three together at random.
    ///
    /// - Parameters:
    ///   - disturbances: those that are tried; by default all.
    ///   - phone: the name of the phone that they happen to.
    ///   - seed: determines every random choice.
    ///   - tries: the number of courses with two or three disturbances.
    ///   - strict: a call without effect is a failure as well.
    ///   - test: makes its phones on the bench that it gets, runs it, and returns true if the app has done its work. An error is a failure.
    /// - Returns: nil if the test holds in all courses, otherwise the smallest plan that was found for a failure.
    public static func explore(
        _ disturbances: [CBBenchDisturbance] = CBBenchDisturbance.allCases, of phone: String = "phone", seed: UInt64 = 1, tries: Int = 100,
        strict: Bool = false, _ test: (CBBench) throws -> Bool
    ) -> CBBenchPlan? {
        func calls(_ plan: CBBenchPlan) -> (holds: Bool, calls: Int) {
            let bench = CBBench(plan, strict: strict)
            defer { bench.loop.end() }
            let holds = (try? test(bench)) ?? false
            return (holds && (!strict || bench.misuses.isEmpty), bench.calls)
        }
        let undisturbed = CBBenchPlan(seed: seed, phone: phone, [])
        let first = calls(undisturbed)
        guard first.holds else { return undisturbed }
        var plans = (0..<first.calls).flatMap { call in disturbances.map { undisturbed.with([.init($0, after: call + 1)]) } }
        var random = RandomSource(seed: seed, label: "disturbances")
        func index(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        for _ in 0..<(disturbances.isEmpty || first.calls == 0 ? 0 : max(0, tries)) {
            let steps = (0..<(2 + index(2))).map { _ in
                CBBenchPlan.Step(disturbances[index(disturbances.count)], after: 1 + index(first.calls))
            }
            plans.append(undisturbed.with(steps.sorted { $0.call < $1.call }))
        }
        return plans.first { !calls($0).holds }.map { shrunk($0) { !calls($0).holds } }
    }

    /// Leaves out what a failure does not need, and lets the rest happen as early as it can.
    private static func shrunk(_ plan: CBBenchPlan, _ fails: (CBBenchPlan) -> Bool) -> CBBenchPlan {
        var plan = plan
        for index in plan.steps.indices.reversed() where plan.steps.count > 1 {
            var steps = plan.steps
            steps.remove(at: index)
            if fails(plan.with(steps)) { plan = plan.with(steps) }
        }
        for index in plan.steps.indices {
            for call in 1..<max(1, plan.steps[index].call) {
                var steps = plan.steps
                steps[index] = .init(steps[index].disturbance, after: call)
                guard fails(plan.with(steps)) else { continue }
                plan = plan.with(steps)
                break
            }
        }
        return plan
    }

    /// A bench on which a plan happens.
    public convenience init(_ plan: CBBenchPlan, strict: Bool = false) {
        self.init(seed: plan.seed, strict: strict)
        self.plan = plan
    }

    /// A delegate of the phone of the plan is called now.
    func noteCall(_ phone: CBPhone) {
        calls += 1
        for step in plan?.steps ?? [] where step.call == calls {
            loop.schedule(after: .zero) { [unowned self, unowned phone] in disturb(phone, step.disturbance) }
        }
    }

    private func disturb(_ phone: CBPhone, _ disturbance: CBBenchDisturbance) {
        let others = hosts.filter { $0 !== phone.host }
        switch disturbance {
        case .disconnection: for link in others.flatMap(\.connections) { start { _ = try? await link.disconnect() } }
        case .lostLink: disturbAir(1, for: 8)
        case .lostPackets: disturbAir(0.5, for: 2)
        case .changedServices: for host in others { host.database.reportChange(1...UInt16.max) }
        case .powerOff:
            phone.isPoweredOn = false
            after(2) { phone.isPoweredOn = true }
        case .crash: phone.crashService(for: 1)
        case .kill:
            guard phone.onLaunch != nil else { return }
            phone.endProgram()
            after(1) { phone.launchByUser() }
        }
    }
}
