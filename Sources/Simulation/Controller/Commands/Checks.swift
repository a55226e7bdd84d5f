import Packets

/// Checks that several commands share. Ranges are those of the commands' sections in Core Vol 4, Part E, 7.8.
enum Check {
    static func that(_ condition: Bool, else failure: CommandFailure = .invalidParameters) throws(CommandFailure) {
        guard condition else { throw failure }
    }

    static func flag(_ value: UInt8) throws(CommandFailure) -> Bool {
        try that(value <= 1)
        return value == 1
    }

    /// Without address resolution, the two types that would use it are not supported.
    static func ownAddressKind(_ type: OwnAddressType) throws(CommandFailure) -> DeviceAddress.Kind {
        try that(type.rawValue <= 3)
        try that(type.rawValue <= 1, else: .unsupportedValue)
        return type.rawValue == 0 ? .public : .random
    }

    static func peerAddress(_ type: AddressType, _ address: BDADDR, identities: Bool = false) throws(CommandFailure) -> DeviceAddress {
        try that(type.rawValue <= (identities ? 3 : 1))
        return DeviceAddress(address, kind: type.rawValue & 1 == 0 ? .public : .random)
    }

    static func channels(_ map: AdvertisingChannels) throws(CommandFailure) -> UInt8 {
        try that((1...7).contains(map.rawValue))
        return map.rawValue
    }

    /// In units of 0.625 ms.
    static func windows(_ phy: PHY, interval: UInt16, window: UInt16, longest: UInt16) throws(CommandFailure) -> ScanWindows {
        try that((4...longest).contains(interval) && (4...longest).contains(window) && window <= interval)
        return ScanWindows(phy: phy, interval: Microseconds(Int(interval) * 625), window: Microseconds(Int(window) * 625))
    }

    /// The parameters of a connection, asked for as a range.
    static func link(
        intervalMin: UInt16, intervalMax: UInt16, latency: UInt16, timeout: UInt16, minCE: UInt16 = 0, maxCE: UInt16 = 0
    ) throws(CommandFailure) -> RequestedParameters {
        let intervals: ClosedRange<UInt16> = 0x0006...0x0C80
        try that(intervals.contains(intervalMin) && intervals.contains(intervalMax) && intervalMin <= intervalMax)
        try that(latency <= 0x01F3 && (0x000A...0x0C80).contains(timeout) && minCE <= maxCE)
        // The time-out must be longer than twice the longest silence that latency allows: (1 + latency) x interval x 2, in units of 1.25 ms.
        try that(Int(timeout) * 8 > (1 + Int(latency)) * Int(intervalMax) * 2)
        return RequestedParameters(intervalMin: intervalMin, intervalMax: intervalMax, latency: latency, timeout: timeout)
    }

    static func dataLength(octets: UInt16, time: UInt16) throws(CommandFailure) {
        try that((0x001B...0x00FB).contains(octets) && (0x0148...0x4290).contains(time))
    }
}
