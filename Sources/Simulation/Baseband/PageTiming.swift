import BBPackets

/// Timing and channels of paging and page response. Core Vol 2, Part B, 2.6.4 and 8.3.
enum PageTiming {
    /// pagerespTO: 8 slots. Core Vol 2, Part B, 8.3.3.
    static let responseTimeout: Microseconds = NativeClock.slot * 8
    /// newconnectionTO: 32 slots. Core Vol 2, Part B, 8.3.3.
    static let newConnectionTimeout: Microseconds = NativeClock.slot * 32
    /// Start of a pager's packet to start of the reply.
    static let answerDelay: Microseconds = NativeClock.slot
    /// Maximum deviation of a packet from its nominal start. Core Vol 2, Part B, 2.2.5.
    static let uncertainty: Microseconds = 10

    /// The train of a pager's packets.
    ///
    /// A train is sent N_page times before the other; N_page has a least number by the page scan repetition mode of the paged device. For
    /// R0, the trains alternate, and one in 1.28 s is repeated: a device that scans once in 1.28 s, the default interval, is not there, then
    /// and always, while the train without its channel is sent. Core Vol 2, Part B, 8.3.2.
    ///
    /// - Parameter ticks: since the pager's first packet.
    static func train(after ticks: Int, mode: UInt8) -> HopTrain {
        let trains = ticks / TrainTurns.ticksPerTrain
        let turns = mode == 0 ? trains + trains / trainsPerScanInterval : trains / trainRepetitions(mode: mode)
        return turns % 2 == 0 ? .a : .b
    }

    private static func trainRepetitions(mode: UInt8) -> Int { mode == 1 ? trainsPerScanInterval : 2 * trainsPerScanInterval }

    /// Trains in 1.28 s.
    private static let trainsPerScanInterval = 128
}

/// Channels of a device's page hopping sequences, by phase. Core Vol 2, Part B, 2.6.4.1 to 2.6.4.4.
struct PageChannels {
    private let idChannels: [UInt8]
    private let responseChannels: [UInt8]

    /// - Parameter address: address of the paged device.
    init(_ address: BDADDR) {
        idChannels = (0..<32).map { HopSelection.rfChannel(phase: $0, isResponse: false, address: address.hopAddress) }
        responseChannels = (0..<32).map { HopSelection.rfChannel(phase: $0, isResponse: true, address: address.hopAddress) }
    }

    /// Channel of the pager's packets.
    func id(_ phase: Int) -> UInt8 { idChannels[phase & 31] }
    /// Channel of the response.
    func response(_ phase: Int) -> UInt8 { responseChannels[phase & 31] }
}
