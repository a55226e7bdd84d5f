import BBHCI
import BBPackets

/// The step after which a dongle answered.
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

/// Brings a dongle from any state that another program may have left to a known one: discards stale input, sends HCI_Reset, sends it again,
/// then resets the USB port.
///
/// A dongle that has re-enumerated because of a reset is not reset again, because it would re-enumerate again. It is asked for its version
/// instead.
struct StartupLadder {
    enum Action: Equatable {
        /// Discard input until the deadline.
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
    /// The command that the dongle must answer.
    let question: HCIPacket
    /// Time at which to call `timeOut(at:)`.
    private(set) var deadline: Microseconds?
    /// Number of stale packets discarded.
    private(set) var discarded = 0
    /// Number of stale packets that arrived before any command and that no dongle sends unsolicited.
    private(set) var stale = 0

    /// - Parameter wasReset: the dongle has re-enumerated after a reset.
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

    /// Handles a packet received during the start. A boot loader that needs firmware rejects HCI_Reset as unknown. Command Status counts
    /// like Command Complete.
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

    /// True for events that dongles send unsolicited: command credits without a command, and vendor events.
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

    /// The dongle cannot be used without a port reset; nil if the port has already been reset.
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
