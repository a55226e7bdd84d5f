import Packets

/// Endpoint behaviour of a dongle that differs from the default, for as long as it is plugged in.
public struct USBConduct: Sendable, Equatable {
    /// Event that revives a dead endpoint.
    public enum Cure: String, Sendable {
        case suspension = "suspend"
        case portReset = "reset"
        case none = "never"
    }

    /// Behaviour after a suspend.
    public enum Suspension: Sendable {
        case sleeps
        /// Sends nothing until its port is reset.
        case mute
        /// Leaves the bus and returns.
        case returnsAsNew
    }

    /// Condition for leaving the bus by itself.
    public struct Leaving: Sendable, Equatable {
        public enum Trigger: Sendable, Equatable {
            case reset
            case commands(Int)
            /// A number of vendor commands, such as those that carry firmware.
            case vendorCommands(Int)
            case data(Int)
        }

        public var trigger: Trigger
        /// Identifiers after the return; nil for its own.
        public var vendorID: UInt16?
        public var productID: UInt16?
        public var returns: Bool

        /// - Parameter identity: 0 and 0 keep the identifiers.
        init(_ trigger: Trigger, as identity: (vendor: UInt16, product: UInt16)? = nil, returns: Bool = true) {
            self.trigger = trigger
            self.returns = returns
            guard let identity, identity != (0, 0) else { return }
            (vendorID, productID) = identity
        }

        private static let vendorGroup: UInt16 = 0xFC00

        /// Counts a host packet; true if the condition is met.
        mutating func isReached(by packet: HCIPacket) -> Bool {
            switch trigger {
            case .reset: return packet.commandOpcode == HCICommands.Reset.opcode
            case .commands(let left) where packet.kind == .command: return count(left) { .commands($0) }
            case .vendorCommands(let left) where packet.commandOpcode ?? 0 >= Self.vendorGroup: return count(left) { .vendorCommands($0) }
            case .data(let left) where packet.kind == .acl: return count(left) { .data($0) }
            case .commands, .vendorCommands, .data: return false
            }
        }

        private mutating func count(_ left: Int, _ make: (Int) -> Trigger) -> Bool {
            trigger = make(left - 1)
            return left <= 1
        }
    }

    /// Maximum octets of an event transfer.
    public var eventTransferLimit: Int?
    public var joinsEvents = false
    /// Commands whose answers are followed by a stray octet.
    public var strayOctetAfter: Set<UInt16> = []
    /// Event reads longer than wMaxPacketSize never complete.
    public var longReadsStayPending = false
    /// Data with a length that is a multiple of wMaxPacketSize needs a zero-length packet.
    public var waitsForZeroLength = false
    public var eventsNeedSetInterface = false
    /// Bulk IN is dead until this event; nil if it works.
    public var dataInCure: Cure?
    /// Number of commands that stall.
    public var stalledCommands = 0
    public var takesVendorRequests = false
    public var refusesVoice = false
    public var silentVoiceAlternate: UInt8?
    /// Every n-th isochronous packet to the host is lost on the bus.
    public var losesVoiceEvery: Int?
    public var leaving: Leaving?
    public var suspension = Suspension.sleeps
    private var voicePackets = 0

    public init() {}

    /// Counts an isochronous packet; true if it is lost.
    mutating func losesVoice() -> Bool {
        guard let every = losesVoiceEvery, every > 0 else { return false }
        voicePackets += 1
        return voicePackets.isMultiple(of: every)
    }

    /// The time that an event waits for another to share its transfer.
    static let joiningTime = Microseconds.milliseconds(2)
}
