import Cases
import Host
import Packets
import Timing
import Transport

/// The device over the air, as far as it concerns which cases run.
extension Runner {
    /// Finds out what the device is, and compares it with the plan's description of it.
    ///
    /// - Throws: `SurveyFailure` if there is none, another one than described, or nothing to look for it with.
    public func describeDevice() throws -> DeviceDescription {
        switch surveyed() {
        case .success(let description): return description
        case .failure(let failure): throw SurveyFailure(description: failure.message)
        }
    }

    /// The profile whose rules are judged, for people.
    public var profileLine: String? {
        plan.setup.profile.flatMap { plan.catalogue.profiles[$0] }.map {
            "\($0.id): \($0.title), \($0.revision), \($0.rules.count) rules"
        }
    }

    /// What a case comes to without its steps: left out, about another kind of device, or about one that is not there.
    func resultWithoutRunning(_ testCase: TestCase) -> CaseResult? {
        guard testCase.subject == .accessory else { return nil }
        var result = CaseResult(id: testCase.id, title: testCase.title, verdict: .notApplicable)
        if let rule = testCase.rule, plan.catalogue.rule(rule, of: plan.setup.profile) == nil {
            result.message =
                plan.setup.profile.map { "\($0) has no rule '\(rule)'" }
                ?? "it is about a profile's rule: --profile names one"
            return result
        }
        let isOther = plan.setup.peer != nil || plan.device != nil || plan.setup.accessory != .reference
        if isOther, testCase.meetsReference(plan.catalogue) {
            guard case .success(let description) = surveyed(), !description.isReference else { return nil }
            result.message = "it is about the profile of docs/guide/accessory.md, which the device does not offer"
            return result
        }
        guard testCase.needsDevice(plan.catalogue) else { return nil }
        switch surveyed() {
        case .failure(let failure):
            result.verdict = failure.blame == .bench ? .error : .inconclusive
            result.message = failure.message
            return result
        case .success(let description):
            guard let reason = description.reason(toLeaveOut: testCase.file) else { return nil }
            result.message = "left out: \(reason)"
            return result
        }
    }

    private func surveyed() -> Result<DeviceDescription, StepFailure> {
        if let survey { return survey }
        let result = runSurvey().flatMap(compared)
        survey = result
        if case .success(let description) = result { factory.device = DeviceFacts(description) }
        return result
    }

    /// The device facts for the cases, by the plan's description. Another device is the environment's fault: nothing is written to it.
    private func compared(_ found: DeviceDescription) -> Result<DeviceDescription, StepFailure> {
        guard let stored = plan.device else {
            product = ProductReport(found, description: nil, change: nil)
            return .success(found)
        }
        let comparison = DescriptionComparison(stored, in: plan.deviceFile, found: found)
        if let refusal = comparison.refusal { return .failure(StepFailure(.environment, refusal)) }
        product = ProductReport(found, description: plan.deviceFile, change: comparison.change)
        return .success(comparison.description)
    }

    /// In a world of its own where the air is simulated: cases begin anew there.
    private func runSurvey() -> Result<DeviceDescription, StepFailure> {
        let loop = factory.makeLoop()
        defer { if !factory.sharesLoop { loop.end() } }
        do {
            let bench = try factory.makeBench(for: Self.surveyCase, loop: loop, hosts: Set(Side.allCases))
            // The rules of a profile are about what a device asks for by itself, which takes it a while.
            let asks: Set<String> = ["device.asksParameters", "device.asksMTU"]
            let isJudged = plan.setup.profile != nil && plan.cases.contains { !asks.isDisjoint(with: $0.needs?.names ?? []) }
            let lingers = isJudged || plan.device?.link.asks.contains("parameters") == true
            return .success(
                try stopping.run(on: loop) { try await Self.survey(on: bench, lingers: lingers) })
        } catch let failure as StepFailure {
            return .failure(failure)
        } catch is CancellationError {
            return .failure(StepFailure(.environment, "the run was stopped"))
        } catch {
            return .failure(StepFailure(.environment, "\(error)"))
        }
    }

    private static func survey(on bench: CaseBench, lingers: Bool) async throws -> DeviceDescription {
        do {
            try await bench.prepare()
            guard let host = bench.hosts[.tester]?.host else {
                throw StepFailure(.bench, "the tester has no host")
            }
            let description = try await Surveyor(host, lingers: lingers).survey(bench.peer)
            await bench.finish()
            return description
        } catch {
            await bench.finish()
            throw error
        }
    }

    /// What the bench of a survey is made for: an accessory with nothing special about its world.
    private static let surveyCase: TestCase = {
        let position = Position(file: "survey", line: 1, column: 1)
        return TestCase(id: "survey/survey", position: position, subject: .accessory)
    }()
}
