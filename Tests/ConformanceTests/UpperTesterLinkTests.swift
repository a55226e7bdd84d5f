import BBBTP
import BBPackets
import BBTiming
import BBTransport
import BBUpperTester
import Testing

@testable import BBConformance

/// Faults of an upper tester are those of the environment, and each has its own reason.
@Suite struct UpperTesterLinkTests {
    /// Behaviour of the upper tester towards the command after the start sequence.
    enum Conduct: Sendable, CaseIterable {
        case answers, refuses, silent, late, leaves, otherService, cutEvent, longResponse, split
    }

    /// An upper tester without a host.
    private final class Dummy: BTPPipe {
        let name = "dummy"
        private let conduct: Conduct
        private let loop: RunLoop
        private var framer = BTPFramer()
        private var received: ([UInt8]) -> Void = { _ in }
        private var ended: (TransportError) -> Void = { _ in }

        init(_ conduct: Conduct, _ loop: RunLoop) { (self.conduct, self.loop) = (conduct, loop) }

        func open(received: @escaping ([UInt8]) -> Void, ended: @escaping (TransportError) -> Void) throws(TransportError) {
            (self.received, self.ended) = (received, ended)
            later { received([0, 0x80, 0xFF, 0, 0]) }
        }

        func close() {}

        func send(_ octets: [UInt8]) {
            guard let frame = try? framer.receive(octets).first else { return }
            if frame.service == .core { return answer([UInt8](BTPFrame(success: frame).bytes)) }
            if frame.opcode == 3 {
                let data = BTPResponses.GAPReadControllerInformation(
                    address: BDADDR(0xC0B1_BE00_0002), currentSettings: [.powered, .staticAddress])
                return answer(BTPFrame(success: frame, data: data.parameters).bytes)
            }
            act(frame)
        }

        private func act(_ frame: BTPFrame) {
            let response = BTPFrame(success: frame, data: BTPResponses.GAPSetConnectable(currentSettings: .connectable).parameters).bytes
            switch conduct {
            case .answers: answer(response)
            case .refuses: answer(BTPFrame(.notReady, to: frame).bytes)
            case .silent: break
            case .late: later(.seconds(25)) { [received] in received(response) }
            case .leaves: later { [ended] in ended(.lost("dummy")) }
            case .otherService: answer([2] + response.dropFirst())
            case .cutEvent: answer([1, 0x82, 0, 3, 0, 1, 2, 3])
            case .longResponse: answer([1, 6, 0, 5, 0, 2, 0, 0, 0, 0])
            case .split: for octet in response { answer([octet]) }
            }
        }

        private func answer(_ octets: [UInt8]) { later { [received] in received(octets) } }
        private func later(_ delay: Microseconds = .milliseconds(1), _ action: @escaping () -> Void) { loop.schedule(after: delay, action) }
    }

    @Test(arguments: Conduct.allCases) func isToldApartFromTheHost(conduct: Conduct) throws {
        let loop = RunLoop(mode: .virtual)
        defer { loop.end() }
        let log = ObservationLog(loop: loop)
        let text: String = try loop.run {
            let dummy = Dummy(conduct, loop)
            let link = UpperTesterLink(dummy, log: log, loop: loop)
            let own = try await link.start()
            #expect(own.isRandom && own.address == BDADDR(0xC0B1_BE00_0002))
            let command = try #require(BTPFrame(.btpCommands, named: BTPCommands.GAPSetConnectable.name, data: [1]))
            do {
                switch try await link.ask(command) {
                case .response: return "response"
                case .refused(let error, _): return "refused \(error.map { "\($0)" } ?? "")"
                }
            } catch let failure as StepFailure {
                #expect(failure.blame == .environment)
                return failure.message
            }
        }
        let expected =
            switch conduct {
            case .answers, .split: "response"
            case .refuses: "refused notReady"
            case .silent, .late: "the upper tester did not answer BTP_GAP_Set_Connectable within 20 s"
            case .leaves: "the upper tester left"
            case .otherService: "answered BTP_GAP_Set_Connectable with a response to service"
            case .cutEvent: "its BTP_GAP_Device_Connected is malformed"
            case .longResponse: "its BTP_GAP_Set_Connectable has 1 octets too many"
            }
        #expect(text.contains(expected), "\(text)")
        // A fault also ends the waits of the case.
        if ![.answers, .split, .refuses, .silent, .late].contains(conduct) { #expect(log.broken is StepFailure) }
    }

    /// A host whose upper tester answers other commands has not answered this one.
    @Test(arguments: [Conduct.silent, .late]) func aCommandThatIsGivenUpLeavesTheOthers(conduct: Conduct) throws {
        let loop = RunLoop(mode: .virtual)
        defer { loop.end() }
        let log = ObservationLog(loop: loop)
        try loop.run {
            let link = UpperTesterLink(Dummy(conduct, loop), log: log, loop: loop)
            _ = try await link.start()
            let command = try #require(BTPFrame(.btpCommands, named: BTPCommands.GAPSetConnectable.name, data: [1]))
            let answer = try await link.attempt(command, within: .seconds(20))
            #expect(answer == nil)
            #expect(await link.isAlive())
            try await loop.sleep(for: .seconds(10))
            #expect(await link.isAlive())
        }
        #expect(log.broken == nil)
    }
}
