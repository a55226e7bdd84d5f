import HCI
import Packets

/// Which step brought a dongle to answer.
public enum StartupStep: Int, Sendable, Comparable, CaseIterable {
    case firstReset
    case secondReset
    case portReset

    public static func < (a: StartupStep, b: StartupStep) -> Bool { a.rawValue < b.rawValue }
}

extension StartupStep: CustomStringConvertible {
    public var description: String {
        switch self {
        case .firstReset: "answered at once"
        case .secondReset: "answered to the second HCI_Reset"
        case .portReset: "answered after a reset of the USB port"
        }
    }
}

/// Brings a dongle that another program may have left in any state to a known one: what it still has to say is thrown away, then it is reset,
/// then reset again, then its port is reset.
///
/// One that has left the bus because it was reset is not reset again, or it would leave again: it is asked for its version.
struct StartupLadder {
    enum Action: Equatable {
        /// Throw away what arrives until the deadline.
        case drain
        /// Send `question`.
        case sendReset
        case resetPort
        case ready(StartupStep)
        case fail
    }

    private enum State: Equatable {
        case draining
        case awaitingReset(StartupStep)
        case ended
    }

    static let reset = HCIPacket(command: HCICommands.Reset())

    private let limits: USBLimits
    private var state = State.draining
    /// What the dongle has to answer.
    let question: HCIPacket
    /// When `timeOut(at:)` should be called.
    private(set) var deadline: Microseconds?
    /// Packets of the past that were thrown away.
    private(set) var discarded = 0
    /// Those among them that came before anything was asked, and that no dongle says by itself.
    private(set) var stale = 0

    /// - Parameter wasReset: it comes from a reset of its own.
    init(limits: USBLimits = USBLimits(), wasReset: Bool = false) {
        self.limits = limits
        question = wasReset ? HCIPacket(command: HCICommands.ReadLocalVersionInformation()) : Self.reset
    }

    /// The step whose answer is awaited.
    var step: StartupStep? { if case .awaitingReset(let step) = state { step } else { nil } }

    mutating func start(at time: Microseconds) -> Action {
        deadline = time + limits.drain
        return .drain
    }

    /// Takes a packet that arrived during the start. A boot loader that waits for firmware does not know HCI_Reset, and
    /// says so. Command Status is as good here as Command Complete.
    mutating func received(_ packet: HCIPacket) -> Action? {
        guard case .awaitingReset(let step) = state, isAnswer(packet) else {
            discarded += 1
            if state == .draining, !Self.isSaidUnasked(packet) { stale += 1 }
            return nil
        }
        state = .ended
        deadline = nil
        return .ready(step)
    }

    /// Credits for commands that come with no command's answer, and what is the vendor's.
    private static func isSaidUnasked(_ packet: HCIPacket) -> Bool {
        packet.eventCode == HCIEvents.VendorSpecific.code || (try? CommandAnswer(event: packet))?.opcode == CommandQueue.noCommand
    }

    private func isAnswer(_ packet: HCIPacket) -> Bool {
        guard let answer = try? CommandAnswer(event: packet), answer.opcode == question.commandOpcode else { return false }
        return answer.status == .unknownHCICommand || answer.status == .success
    }

    mutating func timeOut(at time: Microseconds) -> [Action] {
        switch state {
        case .draining: return ask(.firstReset, at: time)
        case .awaitingReset(.firstReset): return ask(.secondReset, at: time)
        case .awaitingReset(.secondReset): return [.resetPort] + ask(.portReset, at: time)
        case .awaitingReset(.portReset), .ended:
            state = .ended
            deadline = nil
            return [.fail]
        }
    }

    /// The dongle can be asked nothing before its port is reset; nil when it was already.
    mutating func mustResetPort(at time: Microseconds) -> [Action]? {
        switch state {
        case .draining, .awaitingReset(.firstReset), .awaitingReset(.secondReset): [.resetPort] + ask(.portReset, at: time)
        case .awaitingReset(.portReset), .ended: nil
        }
    }

    private mutating func ask(_ step: StartupStep, at time: Microseconds) -> [Action] {
        state = .awaitingReset(step)
        deadline = time + (step == .firstReset ? limits.firstReset : limits.laterReset)
        return [.sendReset]
    }
}
