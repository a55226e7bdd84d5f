import Packets

/// What is wrong with a dongle's USB side: the state in which another program left it, and endpoints that halt.
public struct USBDongleFaults: Sendable, Equatable {
    /// An endpoint that halts. USB 2.0, 9.4.5.
    public struct Halt: Sendable, Equatable {
        /// With the direction's bit: 0x81 events, 0x82 data in, 0x02 data out.
        public var endpoint: UInt8
        /// How many requests it takes before.
        public var after: Int
        /// How often it halts: once, or again at the first request after each clearing.
        public var times: Int

        public init(endpoint: UInt8, after: Int, times: Int = 1) {
            self.endpoint = endpoint
            self.after = after
            self.times = times
        }
    }

    /// Packets of the past that the dongle still has to say.
    public var staleEvents: [[UInt8]] = []
    public var staleData: [[UInt8]] = []
    /// How many times it does not hear HCI_Reset.
    public var unheardResets = 0
    public var halt: Halt?
    /// A reset of the port does not help either.
    public var survivesPortReset = false
    /// How late events come on the interrupt pipe, drawn anew for each: data of the bulk pipe overtakes them.
    public var eventsLateBy: ClosedRange<Microseconds>?
    /// How it behaves for as long as it is plugged in.
    public var conduct = USBConduct()
    /// Fixes what is drawn.
    public var seed: UInt64 = 1

    public init() {}

    mutating func isDeaf(to command: [UInt8]) -> Bool {
        guard unheardResets > 0, command.starts(with: [0x03, 0x0C]) else { return false }
        unheardResets -= 1
        return true
    }

    /// Counts a request to an endpoint that is not halted; true when the endpoint halts instead of taking it.
    mutating func halts(_ address: UInt8) -> Bool {
        guard let waiting = halt, waiting.endpoint == address, waiting.times > 0 else { return false }
        guard waiting.after == 0 else {
            halt?.after -= 1
            return false
        }
        halt?.times -= 1
        return true
    }

    mutating func portWasReset() {
        staleEvents = []
        staleData = []
        guard !survivesPortReset else { return }
        unheardResets = 0
        halt = nil
    }
}
