import BBMisbehaviour
import BBPackets

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
            case commands
            /// Vendor commands, such as those that carry firmware.
            case vendorCommands
            case data
        }

        public var trigger: Trigger
        private var occurrences: Occurrences
        /// Identifiers after the return; nil for its own.
        public var vendorID: UInt16?
        public var productID: UInt16?
        public var returns: Bool

        /// - Parameters:
        ///   - number: number of host packets until it leaves.
        ///   - identity: 0 and 0 keep the identifiers.
        init(_ trigger: Trigger, _ number: Int = 1, as identity: (vendor: UInt16, product: UInt16)? = nil, returns: Bool = true) {
            self.trigger = trigger
            occurrences = Occurrences(skip: number - 1)
            self.returns = returns
            guard let identity, identity != (0, 0) else { return }
            (vendorID, productID) = identity
        }

        private static let vendorGroup: UInt16 = 0xFC00

        /// Counts a host packet; true if the condition is met.
        mutating func isReached(by packet: HCIPacket) -> Bool {
            let isCounted =
                switch trigger {
                case .reset: packet.commandOpcode == HCICommands.Reset.opcode
                case .commands: packet.kind == .command
                case .vendorCommands: packet.commandOpcode ?? 0 >= Self.vendorGroup
                case .data: packet.kind == .acl
                }
            return isCounted && occurrences.isDue()
        }
    }

    /// An endpoint that halts. USB 2.0, 9.4.5.
    public struct Halt: Sendable, Equatable {
        /// Endpoint address with the direction bit: 0x81 events, 0x82 data in, 0x02 data out.
        public var endpoint: UInt8
        /// Requests at which it halts instead of accepting them, counted while it is not halted.
        public var occurrences: Occurrences
        /// True if a port reset does not help either.
        public var survivesPortReset: Bool

        public init(endpoint: UInt8, _ occurrences: Occurrences, survivesPortReset: Bool = false) {
            (self.endpoint, self.occurrences, self.survivesPortReset) = (endpoint, occurrences, survivesPortReset)
        }
    }

    /// Defects of Bulk Serialization mode and of the switch between the modes. Core Vol 4, Part B, 1.1 and 7.
    public struct Serialised: Sendable, Equatable {
        public enum Indicator: String, Sendable, CaseIterable {
            case missing
            case wrong
            case doubled
            /// Voice has the indicator of ACL data.
            case voiceAsData = "voice-as-data"
        }

        /// Packets that the host has not fetched at a switch.
        public enum Pending: String, Sendable, CaseIterable {
            case lost
            /// Events are lost, data is kept.
            case eventsLost = "events-lost"
            case doubled
            case reversed
        }

        /// A request that shall be answered by a STALL.
        public enum Refusal: String, Sendable, CaseIterable {
            /// A command on the control endpoint in Bulk Serialization mode.
            case command
            /// Another setting of the voice interface in Bulk Serialization mode.
            case voice
            /// A switch while the voice interface has a setting with bandwidth.
            case mode
        }

        /// The end of a request that shall be answered by a STALL.
        public enum RefusalEnd: String, Sendable, CaseIterable {
            case stall
            /// The request stays open.
            case silent
            /// The bus reports an error.
            case error
        }

        public var indicator: Indicator?
        public var pending: Pending?
        /// A request that is accepted in place of a STALL.
        public var missingRefusal: Refusal?
        public var refusalEnd = RefusalEnd.stall
        public var hasEventsOnInterrupt = false
        /// Setting 1 can be selected, but carries nothing.
        public var isDead = false
        /// Setting 1 stalls.
        public var isRefused = false
        /// Setting 1 stalls after a reset of the port.
        public var isRefusedAfterReset = false
    }

    public var serialised = Serialised()
    /// Recipient whose commands are accepted but not executed.
    public var ignoredRecipient: USBRecipient?
    /// Maximum octets of a bulk IN transfer.
    public var dataTransferLimit: Int?
    public var joinsData = false
    /// An empty transfer follows a bulk IN transfer whose length is a multiple of wMaxPacketSize.
    public var sendsEmptyTransfers = false
    /// A bulk IN transfer that fills its last USB packet goes on with the next packet. USB 2.0, 5.8.3.
    public var leavesTransfersOpen = false
    /// An event that fills its last USB packet waits for the next one.
    public var holdsFullEvents = false
    public var halt: Halt?
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
    /// Commands that stall.
    public var stalledCommands = Occurrences(count: 0)
    public var takesVendorRequests = false
    /// Class requests whose bRequest or wValue is not 0 stall.
    public var takesOnlyRequestZero = false
    public var refusesVoice = false
    public var silentVoiceAlternate: UInt8?
    /// Isochronous packets to the host that are lost on the bus.
    public var lostVoice = Occurrences(count: 0)
    public var leaving: Leaving?
    public var suspension = Suspension.sleeps

    public init() {}

    /// Counts a request to an endpoint that is not halted; true if the endpoint halts instead of accepting it.
    mutating func halts(_ address: UInt8) -> Bool { halt?.endpoint == address && halt?.occurrences.isDue() == true }

    mutating func portWasReset() {
        if halt?.survivesPortReset == false { halt = nil }
        if serialised.isRefusedAfterReset { serialised.isRefused = true }
    }

    /// The time that a packet waits for another to share its transfer.
    static let joiningTime = Microseconds.milliseconds(2)
}
