import Packets

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

    /// N_page: repetitions of a train before the other is sent, by the page scan repetition mode of the paged device. Core Vol 2, Part B,
    /// 8.3.2.
    static func trainRepetitions(mode: UInt8) -> Int {
        switch mode {
        case 0: 1
        case 1: 128
        default: 256
        }
    }
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
