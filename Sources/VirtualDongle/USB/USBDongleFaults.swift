import Packets

/// Faults of a dongle's USB side: state left by another program, and halting endpoints.
public struct USBDongleFaults: Sendable, Equatable {
    /// An endpoint that halts. USB 2.0, 9.4.5.
    public struct Halt: Sendable, Equatable {
        /// Endpoint address with the direction bit: 0x81 events, 0x82 data in, 0x02 data out.
        public var endpoint: UInt8
        /// Number of requests accepted before the halt.
        public var after: Int
        /// Number of halts: one, or another at the first request after each clear.
        public var times: Int

        public init(endpoint: UInt8, after: Int, times: Int = 1) {
            self.endpoint = endpoint
            self.after = after
            self.times = times
        }
    }

    /// Stale packets that the dongle still has to deliver.
    public var staleEvents: [[UInt8]] = []
    public var staleData: [[UInt8]] = []
    /// Number of HCI_Resets that it ignores.
    public var unheardResets = 0
    public var halt: Halt?
    /// True if a port reset does not help either.
    public var survivesPortReset = false
    /// Range of the random delay of events on the interrupt pipe, so that data on the bulk pipe overtakes them.
    public var eventsLateBy: ClosedRange<Microseconds>?
    /// Behaviour for as long as it is plugged in.
    public var conduct = USBConduct()
    /// Determines random choices.
    public var seed: UInt64 = 1

    public init() {}

    mutating func isDeaf(to command: [UInt8]) -> Bool {
        guard unheardResets > 0, command.starts(with: [0x03, 0x0C]) else { return false }
        unheardResets -= 1
        return true
    }

    /// Counts a request to an endpoint that is not halted; true if the endpoint halts instead of accepting it.
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
