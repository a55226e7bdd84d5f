import Packets

/// How a dongle's endpoints behave otherwise than ours, for as long as it is plugged in.
public struct USBConduct: Sendable, Equatable {
    /// What brings a dead endpoint to life.
    public enum Cure: String, Sendable {
        case suspension = "suspend"
        case portReset = "reset"
        case none = "never"
    }

    /// What it does when it was suspended.
    public enum Suspension: Sendable {
        case sleeps
        /// It says nothing any more until its port is reset.
        case mute
        /// It leaves the bus and comes back.
        case returnsAsNew
    }

    /// When it leaves the bus by itself.
    public struct Leaving: Sendable, Equatable {
        public enum Trigger: Sendable, Equatable {
            case reset
            case commands(Int)
            /// Commands of the vendor's group, as those that carry firmware.
            case vendorCommands(Int)
            case data(Int)
        }

        public var trigger: Trigger
        /// The numbers under which it comes back; its own when nil.
        public var vendorID: UInt16?
        public var productID: UInt16?
        public var returns: Bool

        /// - Parameter identity: 0 and 0 keep the numbers.
        init(_ trigger: Trigger, as identity: (vendor: UInt16, product: UInt16)? = nil, returns: Bool = true) {
            self.trigger = trigger
            self.returns = returns
            guard let identity, identity != (0, 0) else { return }
            (vendorID, productID) = identity
        }

        private static let vendorGroup: UInt16 = 0xFC00

        /// Counts a packet of the host; true when it is the last.
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

    /// A transfer of events ends after so many octets.
    public var eventTransferLimit: Int?
    public var joinsEvents = false
    /// Commands after whose answers comes an octet too many.
    public var strayOctetAfter: Set<UInt16> = []
    /// Reads of more than wMaxPacketSize of events never end.
    public var longReadsStayPending = false
    /// Data of a multiple of wMaxPacketSize waits for a zero-length packet.
    public var waitsForZeroLength = false
    public var eventsNeedSetInterface = false
    /// Bulk IN is dead until this; alive when nil.
    public var dataInCure: Cure?
    /// So many commands stall.
    public var stalledCommands = 0
    public var takesVendorRequests = false
    public var refusesVoice = false
    public var silentVoiceAlternate: UInt8?
    /// Of the isochronous packets that bring voice to the host, every so manieth is lost on the bus.
    public var losesVoiceEvery: Int?
    public var leaving: Leaving?
    public var suspension = Suspension.sleeps
    private var voicePackets = 0

    public init() {}

    /// Counts an isochronous packet of voice; true when it is lost.
    mutating func losesVoice() -> Bool {
        guard let every = losesVoiceEvery, every > 0 else { return false }
        voicePackets += 1
        return voicePackets.isMultiple(of: every)
    }

    /// The time that an event waits for another to share its transfer.
    static let joiningTime = Microseconds.milliseconds(2)
}
