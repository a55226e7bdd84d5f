import BBHCI
import BBPackets
import BBTiming
import BBTransport

/// Checks a dongle over HCI, one check after another, and compares its behaviour with its reported capabilities.
public final class CheckUp {
    public struct Plan: Sendable {
        /// Numbers from the USB descriptors.
        public var usb: DongleNumbers?
        public var table = KnownDongles.builtIn
        /// The time to listen for advertisers.
        public var listening = Microseconds.seconds(3)
        /// Time limit of all checks together, without listening.
        public var limit = Microseconds.seconds(60)
        /// True to include commands that lock up some dongles until they are replugged.
        public var isThorough = true

        public init() {}
    }

    public internal(set) var report = CheckUpReport()
    /// Called at the start of each check.
    public var onCheck: ((String) -> Void)?

    let plan: Plan
    let link: CheckUpLink
    /// A second dongle, which advertises and accepts connections.
    let helper: CheckUpLink?
    var identity = DongleIdentity()
    var claims = SupportedCommands([])
    /// True if the dongle has received advertisements on LE 1M.
    var hears = false

    /// Opens the pipes.
    public init(_ transport: any HCITransport, helper: (any HCITransport)? = nil, plan: Plan = Plan(), on loop: RunLoop)
        throws(TransportError)
    {
        self.plan = plan
        link = try CheckUpLink(transport, on: loop)
        self.helper = try helper.map { second throws(TransportError) in try CheckUpLink(second, on: loop) }
    }

    public func close() {
        link.close()
        helper?.close()
    }

    /// Stops all activities of both controllers and closes the pipes, even if the caller is cancelled.
    public func leave() async {
        await link.leave()
        await helper?.leave()
    }

    /// Runs all checks. Results stay in `report` even if the run is cancelled or the dongle is lost.
    public func run() async throws {
        defer { conclude() }
        for end in [link, helper] { end?.timeLimit = link.loop.now + plan.listening + plan.limit }
        do {
            for check in Self.checks {
                if let reason = check.isLeftOut(self) {
                    report.skipped.append(CheckUpReport.Skipped(check: check.name, reason: reason))
                    continue
                }
                onCheck?(check.name)
                link.clear()
                helper?.clear()
                try await check.make(self)
                report.made.append(check.name)
            }
            _ = try await link.ask(HCICommands.Reset())
        } catch is CheckUpLink.Dead {
            report.ended = "it answers nothing any more"
            if !link.watch.hasCrashed, !link.has("event-filter-locks", "no-erroneous-data-reporting", "port-reset-needed") {
                link.note("mute-after-commands", "it fell silent after \(link.commandsSent) commands")
            }
        } catch is CheckUpLink.TimeIsUp {
            report.ended = "it took longer than \((plan.listening + plan.limit).seconds) s"
            let reached = Set(report.made + report.skipped.map(\.check))
            for check in Self.checks where !reached.contains(check.name) {
                report.skipped.append(CheckUpReport.Skipped(check: check.name, reason: "the time for all checks was up"))
            }
        } catch let error as TransportError {
            report.ended = error.description
            throw error
        }
    }

    private func conclude() {
        for finding in link.watch.findings { report.add(finding) }
        for finding in link.foundByPipe { report.add(finding) }
        let slowest = link.slowest
        if slowest.took > .zero { figure("slowest command", "\(slowest.name), \(Self.milliseconds(slowest.took))") }
    }

    func figure(_ name: String, _ value: String) { report.figures.append(CheckUpReport.Figure(name: name, value: value)) }

    static func milliseconds(_ time: Microseconds) -> String { "\(Double(time.rawValue / 100) / 10) ms" }

    func claims<Command: HCICommand>(_ command: Command.Type) -> Bool { claims.contains(command) }

    func has(_ feature: LEFeatures) -> Bool { LEFeatures(rawValue: identity.leFeatures).contains(feature) }

    // MARK: The checks

    struct Check {
        var name: String
        /// Reason for skipping the check; nil to run it.
        var isLeftOut: (CheckUp) -> String? = { _ in nil }
        var make: (CheckUp) async throws -> Void
    }

    private static func withoutLE(_ checkUp: CheckUp) -> String? { checkUp.identity.hasLE ? nil : "it has no LE" }

    private static func withoutHelper(_ checkUp: CheckUp) -> String? {
        withoutLE(checkUp) ?? (checkUp.helper == nil ? "it needs a second dongle: --with" : nil)
    }

    private static func withoutHearing(_ checkUp: CheckUp) -> String? {
        withoutHelper(checkUp) ?? (checkUp.hears ? nil : "it receives nothing")
    }

    static var checks: [Check] {
        [
            Check(name: "start", make: { try await $0.checkStart() }),
            Check(name: "identity", make: { try await $0.checkIdentity() }),
            Check(name: "claims", make: { try await $0.checkClaims() }),
            Check(name: "abilities", make: { try await $0.checkAbilities() }),
            Check(name: "loopback", make: { try await $0.checkLoopback() }),
            Check(name: "states", isLeftOut: withoutLE, make: { try await $0.checkStates() }),
            Check(name: "extended commands", isLeftOut: withoutLE, make: { try await $0.checkExtendedCommands() }),
            Check(name: "hearing", isLeftOut: withoutLE, make: { try await $0.checkHearing() }),
            Check(name: "extended hearing", isLeftOut: withoutHearing, make: { try await $0.checkExtendedHearing() }),
            Check(name: "own address", isLeftOut: withoutHelper, make: { try await $0.checkOwnAddress() }),
            Check(name: "links", isLeftOut: withoutHelper, make: { try await $0.checkLinks() }),
            Check(name: "links at once", isLeftOut: withoutHelper, make: { try await $0.checkLinkCount() }),
            Check(
                name: "what locks some up", isLeftOut: { $0.plan.isThorough && !$0.isClone ? nil : "it may lock the dongle up" },
                make: { try await $0.checkDangers() }),
        ]
    }

    var isClone: Bool { report.numbers.map { CSRClone.reason($0) != nil } ?? false }
}
