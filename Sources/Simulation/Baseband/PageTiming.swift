import Packets

/// Times and channels of a page and of the response to it. Core Vol 2, Part B, 2.6.4 and 8.3.
enum PageTiming {
    /// pagerespTO: 8 slots. Core Vol 2, Part B, 8.3.3.
    static let responseTimeout: Microseconds = NativeClock.slot * 8
    /// newconnectionTO: 32 slots. Core Vol 2, Part B, 8.3.3.
    static let newConnectionTimeout: Microseconds = NativeClock.slot * 32
    /// From the start of a packet of the pager to the start of the answer.
    static let answerDelay: Microseconds = NativeClock.slot
    /// How far a packet may start from where it is due. Core Vol 2, Part B, 2.2.5.
    static let uncertainty: Microseconds = 10

    /// N_page: how often a train is sent before the other, by the page scan repetition mode of the device that is paged. Core Vol 2, Part B, 8.3.2.
    static func trainRepetitions(mode: UInt8) -> Int {
        switch mode {
        case 0: 1
        case 1: 128
        default: 256
        }
    }
}

/// The channels of one device's page hopping sequence by phase. Core Vol 2, Part B, 2.6.4.1 to 2.6.4.4.
struct PageChannels {
    private let idChannels: [UInt8]
    private let responseChannels: [UInt8]

    /// - Parameter address: of the device that is paged.
    init(_ address: BDADDR) {
        idChannels = (0..<32).map { HopSelection.rfChannel(phase: $0, isResponse: false, address: address.hopAddress) }
        responseChannels = (0..<32).map { HopSelection.rfChannel(phase: $0, isResponse: true, address: address.hopAddress) }
    }

    /// Where the pager sends.
    func id(_ phase: Int) -> UInt8 { idChannels[phase & 31] }
    /// Where the answer is sent.
    func response(_ phase: Int) -> UInt8 { responseChannels[phase & 31] }
}
