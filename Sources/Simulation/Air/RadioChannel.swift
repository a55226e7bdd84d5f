/// An LE channel index: data channels 0...36, primary advertising channels 37...39. Core Vol 6, Part B, 1.4.1.
struct ChannelIndex: Hashable, Comparable, RawRepresentable, ExpressibleByIntegerLiteral {
    var rawValue: UInt8
    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ rawValue: UInt8) { self.rawValue = rawValue }
    init(integerLiteral value: UInt8) { rawValue = value }

    static func < (a: ChannelIndex, b: ChannelIndex) -> Bool { a.rawValue < b.rawValue }

    static let count = 40
    static let primaryAdvertising: [ChannelIndex] = [37, 38, 39]

    /// The physical channel number; its centre frequency is 2402 MHz + 2 MHz times this number.
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

/// A channel of the 2.4 GHz band in the numbering of LE or BR/EDR.
enum RadioChannel: Hashable {
    case le(ChannelIndex)
    /// RF channel 0...78. Core Vol 2, Part A, 2.
    case bredr(UInt8)

    /// Offset of the centre frequency from 2402 MHz, in MHz, 0...78. LE and BR/EDR channels with equal offsets share the medium.
    var frequency: Int {
        switch self {
        case .le(let index): 2 * Int(index.physicalChannel)
        case .bredr(let rfChannel): Int(rfChannel)
        }
    }

    /// Number of centre frequencies.
    static let frequencies = 79
}

/// Access address of all advertising physical channel packets except AUX_SYNC_IND and its chain. Core Vol 6, Part B, 2.1.2.
let advertisingAccessAddress: UInt32 = 0x8E89_BED6
/// CRC initial value on advertising physical channels. Core Vol 6, Part B, 3.1.1.
let advertisingCRCInit: UInt32 = 0x55_5555
