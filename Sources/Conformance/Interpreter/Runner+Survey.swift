import BBCases
import BBHost
import BBPackets
import BBProducts
import BBTiming
import BBTransport

/// The device over the air and its effect on the choice of cases.
extension Runner {
    /// Surveys the device and compares it with the plan's description.
    ///
    /// - Throws: `SurveyFailure` if there is no device, it differs from the description, or there is no tester to search for it.
    public func describeDevice() throws -> DeviceDescription {
        switch surveyed() {
        case .success(let description): return description
        case .failure(let failure): throw SurveyFailure(description: failure.message)
        }
    }

    /// A description of the profile whose rules are judged.
    public var profileLine: String? {
        plan.setup.profile.flatMap { plan.catalogue.profiles[$0] }.map {
            "\($0.id): \($0.title), \($0.revision), \($0.rules.count) rules"
        }
    }

    /// Returns the result of a case that cannot run: it is excluded, or needs another kind of device or one that was not found.
    func resultWithoutRunning(_ testCase: TestCase) -> CaseResult? {
        guard testCase.subject == .accessory else { return nil }
        var result = CaseResult(id: testCase.id, title: testCase.title, verdict: .notApplicable)
        if let rule = testCase.rule, plan.catalogue.rule(rule, of: plan.setup.profile) == nil {
            result.message =
                plan.setup.profile.map { "\($0) has no rule '\(rule)'" }
                ?? "it is about a profile's rule: --profile names one"
            return result
        }
        if isAboutProduct, testCase.meetsReference(plan.catalogue) {
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
            guard let reason = description.reason(toLeaveOut: testCase.id) else { return nil }
            result.message = "left out: \(reason)"
            return result
        }
    }

    /// True if the user has selected a device under test other than the reference accessory.
    var isAboutProduct: Bool { plan.setup.peer != nil || plan.device != nil || plan.setup.accessory != .reference }

    private func surveyed() -> Result<DeviceDescription, StepFailure> {
        if let survey { return survey }
        let result = runSurvey().flatMap(compared).map { description in
            var description = description
            if description.isReference { description.declares.addReference() }
            return description
        }
        survey = result
        if case .success(let description) = result {
            factory.device = DeviceFacts(description, powerCycles: plan.commands.powerCycle != nil)
        }
        return result
    }

    /// Returns the facts for the cases with the plan's description. A wrong device is an environment failure: nothing is written to it.
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

    /// Runs the survey, in its own world if the air is simulated: each case then starts in a new one.
    private func runSurvey() -> Result<DeviceDescription, StepFailure> {
        let loop = factory.makeLoop()
        defer { if !factory.sharesLoop { loop.end() } }
        do {
            let bench = try factory.makeBench(for: Self.surveyCase, loop: loop, hosts: Set(Side.allCases))
            // Rules of a profile concern requests that the device sends on its own, after some time.
            let asks: Set<String> = ["device.asksParameters", "device.asksMTU"]
            let isJudged = plan.setup.profile != nil && plan.cases.contains { !asks.isDisjoint(with: $0.needs?.names ?? []) }
            let lingers = isJudged || plan.device?.link.asks.contains("parameters") == true
            let asksToPair = plan.cases.contains { $0.needs?.names.contains("device.pairs") ?? false }
            return .success(
                try stopping.run(on: loop) { try await Self.survey(on: bench, lingers: lingers, asksToPair: asksToPair) })
        } catch let failure as StepFailure {
            return .failure(failure)
        } catch is CancellationError {
            return .failure(StepFailure(.environment, "the run was stopped"))
        } catch {
            return .failure(StepFailure(.environment, "\(error)"))
        }
    }

    private static func survey(on bench: CaseBench, lingers: Bool, asksToPair: Bool) async throws -> DeviceDescription {
        do {
            try await bench.prepare()
            guard let host = bench.hosts[.tester]?.host else {
                throw StepFailure(.bench, "the tester has no host")
            }
            let description = try await Surveyor(host, lingers: lingers, asksToPair: asksToPair, pairing: bench.product.pairing).survey(
                bench.product.peer)
            await bench.finish()
            return description
        } catch {
            await bench.finish()
            throw error
        }
    }

    /// The case for which a survey's bench is created: an accessory in the default world.
    private static let surveyCase: TestCase = {
        let position = Position(file: "survey", line: 1, column: 1)
        return TestCase(id: "survey/survey", position: position, subject: .accessory)
    }()
}
