/// A channel of the LE radio by its index: data channels 0...36, primary advertising channels 37...39. Core Vol 6, Part B, 1.4.1.
struct ChannelIndex: Hashable, Comparable, RawRepresentable, ExpressibleByIntegerLiteral {
    var rawValue: UInt8
    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ rawValue: UInt8) { self.rawValue = rawValue }
    init(integerLiteral value: UInt8) { rawValue = value }

    static func < (a: ChannelIndex, b: ChannelIndex) -> Bool { a.rawValue < b.rawValue }

    static let count = 40
    static let primaryAdvertising: [ChannelIndex] = [37, 38, 39]

    /// The physical channel: its frequency is 2402 MHz + 2 MHz times this.
    var physicalChannel: UInt8 {
        switch rawValue {
        case 0...10: rawValue + 1
        case 11...36: rawValue + 2
        case 37: 0
        case 38: 12
        default: 39
        }
    }
}

/// A channel of the 2.4 GHz band, as LE or BR/EDR numbers it.
enum RadioChannel: Hashable {
    case le(ChannelIndex)
    /// RF channel 0...78. Core Vol 2, Part A, 2.
    case bredr(UInt8)

    /// The centre frequency in MHz above 2402, 0...78. Both grids meet on the even ones, so equal numbers are one channel on the air.
    var frequency: Int {
        switch self {
        case .le(let index): 2 * Int(index.physicalChannel)
        case .bredr(let rfChannel): Int(rfChannel)
        }
    }

    /// How many centre frequencies there are.
    static let frequencies = 79
}

/// The access address of every advertising packet but AUX_SYNC_IND's. Core Vol 6, Part B, 2.1.2.
let advertisingAccessAddress: UInt32 = 0x8E89_BED6
/// The CRC's initial value on advertising channels. Core Vol 6, Part B, 3.1.1.
let advertisingCRCInit: UInt32 = 0x55_5555
