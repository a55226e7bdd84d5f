import BBBTP
import BBCases
import BBPackets
import BBTiming
import BBTransport
import BBUpperTester

/// The bench's connection to the upper tester of a host: one command at a time, and events into the log of the case.
///
/// An upper tester that is silent, leaves or violates the protocol ends the case: it says nothing about the host.
final class UpperTesterLink {
    /// The result of a command.
    enum Answer {
        case response(CaseRecord, BTPFrame)
        case refused(BTPError?, BTPFrame)
    }

    private let pipe: any BTPPipe
    private let loop: RunLoop
    private let log: ObservationLog
    private var client = BTPClient()
    private var answer: Promise<Answer>?
    private var isReady = false
    private var ready: Promise<Void>?
    private var fault: StepFailure?
    /// The server of the bench's own host, if it is at the other end.
    private let server: BTPServer?

    /// The time in which an upper tester answers a command.
    static let timeout = Microseconds.seconds(20)
    private static let startTimeout = Microseconds.seconds(10)

    init(_ pipe: any BTPPipe, server: BTPServer? = nil, log: ObservationLog, loop: RunLoop) {
        (self.pipe, self.server, self.log, self.loop) = (pipe, server, log, loop)
    }

    /// Opens the connection, registers the services, and returns the host's address.
    ///
    /// An upper tester that was ready before the connection reports nothing; one that answers is ready.
    func start() async throws -> (address: BDADDR, isRandom: Bool) {
        isReady = pipe.hasDelivered
        do {
            try pipe.open(received: { [weak self] in self?.receive($0) }, ended: { [weak self] in self?.end("left: \($0)") })
        } catch { throw failure("cannot be reached: \(error)") }
        if !isReady {
            let ready = Promise<Void>(on: loop)
            self.ready = ready
            do { try await ready.value(until: loop.now + Self.startTimeout) } catch is TimeOut {}
            self.ready = nil
        }
        for service in [BTPService.gap, .gatt, .l2cap, .gattClient, .vendor] {
            // A service that is registered already is refused; one that is missing shows when it is used.
            _ = try await ask(BTPFrame(.core, 3, data: [service.rawValue]))
        }
        guard let read = BTPFrame(.btpCommands, named: BTPCommands.GAPReadControllerInformation.name, data: []),
            case .response(_, let frame) = try await ask(read),
            let information = try? BTPResponses.GAPReadControllerInformation(parameters: frame.data)
        else { throw failure("does not tell the host's address") }
        let settings = information.currentSettings
        return (information.address, settings.contains(.privacy) || settings.contains(.staticAddress))
    }

    /// Restores the initial state of a host that has run other cases. Commands that it lacks are left out.
    ///
    /// - Parameter tester: the device of the case before, whose bond is deleted.
    func restore(_ tester: DeviceAddress) async throws {
        let peer = (type: tester.kind.rawValue, address: tester.bdADDR)
        try await tryAll([
            (BTPCommands.GAPStopAdvertising.name, []), (BTPCommands.GAPStopDiscovery.name, []),
            (
                BTPCommands.GAPUnpair.name,
                BTPCommands.GAPUnpair(addressType: peer.type, address: peer.address).parameters
            ),
            (BTPCommands.GAPUnpair.name, BTPCommands.GAPUnpair(addressType: BTPFrame.bredrAddress, address: peer.address).parameters),
            (BTPCommands.GAPSetPrivacy.name, [0]), (BTPCommands.GATTResetServer.name, []), (BTPCommands.GAPSetBondable.name, [1]),
            (BTPCommands.GAPSetIOCapability.name, [3]), (BTPCommands.GAPSetSecureConnections.name, [1]),
            (BTPCommands.GAPSetSecureConnectionsOnly.name, [0]), (BTPCommands.GAPSetConnectable.name, [0]),
            (BTPCommands.GAPSetDiscoverable.name, [0]), (BTPCommands.GAPSetMITM.name, [0]), (BTPCommands.GAPSetMinimumKeySize.name, [7]),
        ])
    }

    private func tryAll(_ commands: [(name: String, data: [UInt8])]) async throws {
        for command in commands {
            guard let frame = BTPFrame(.btpCommands, named: command.name, data: command.data) else { continue }
            // A fault of the upper tester shows at the first step.
            do { _ = try await ask(frame) } catch is StepFailure {}
        }
    }

    func stop() async {
        await server?.stop()
        pipe.close()
    }

    /// Sends a command and waits for its response.
    ///
    /// - Throws: `StepFailure` of the environment if there is none.
    func ask(_ command: BTPFrame, within limit: Microseconds = UpperTesterLink.timeout) async throws -> Answer {
        if let answer = try await attempt(command, within: limit) { return answer }
        let failure = failure("did not answer \(command.text) within \(limit.text)")
        fault = failure
        throw failure
    }

    /// Sends a command and waits for its response; returns nil if there is none. The next command may be answered.
    func attempt(_ command: BTPFrame, within limit: Microseconds) async throws -> Answer? {
        if let fault { throw fault }
        guard let octets = client.send(command) else { throw StepFailure(.bench, "two commands to the upper tester at a time") }
        log.trail?.add(command, isResponse: false, at: loop.now)
        let answer = Promise<Answer>(on: loop)
        self.answer = answer
        pipe.send(octets)
        do {
            return try await answer.value(until: loop.now + limit)
        } catch is TimeOut {
            client.giveUp()
            return nil
        }
    }

    /// True if the upper tester answers a command that does nothing: the host is to blame for a missing event then.
    func isAlive() async -> Bool { (try? await ask(BTPFrame(.core, 1), within: .seconds(5))) != nil }

    private func failure(_ text: String) -> StepFailure { StepFailure(.environment, "the upper tester \(text)") }

    private func receive(_ octets: [UInt8]) {
        for outcome in client.receive(octets) {
            switch outcome {
            case .event(let frame): received(event: frame)
            case .response(let frame):
                log.trail?.add(frame, isResponse: true, at: loop.now)
                take()?.fulfil(.response(DecodedLayer(btp: frame, isResponse: true).caseRecord, frame))
            case .refused(let error, let frame):
                log.trail?.add(frame, isResponse: true, at: loop.now)
                take()?.fulfil(.refused(error, frame))
            case .late(let frame): log.trail?.add(frame, isResponse: true, at: loop.now)
            case .violation(let text): end("violates its protocol: \(text)")
            }
        }
    }

    private func received(event frame: BTPFrame) {
        log.trail?.add(frame, isResponse: false, at: loop.now)
        if frame.code == 0x0080 {
            isReady = true
            ready?.fulfil(())
            return
        }
        log.add(.subject, DecodedLayer(btp: frame, isResponse: false).name, .upperTester(frame), number: 0, at: loop.now)
    }

    private func take() -> Promise<Answer>? {
        defer { answer = nil }
        return answer
    }

    private func end(_ text: String) {
        guard fault == nil else { return }
        let failure = failure(text)
        fault = failure
        take()?.fail(failure)
        ready?.fail(failure)
        log.breakOff(failure)
    }
}
