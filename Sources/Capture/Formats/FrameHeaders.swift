import BBTraffic

/// The header of LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR before a packet.
extension AirFrame {
    private static let headerLength = 10
    private static let plainFlags: UInt16 = 0x3C1F

    /// Parses header and packet; nil if the header is truncated or has an invalid PHY.
    init?(headed octets: ArraySlice<UInt8>) {
        guard octets.count >= Self.headerLength else { return nil }
        let at = octets.startIndex
        let word = UInt16(octets[at + 8]) | UInt16(octets[at + 9]) << 8
        guard let channel = Channel(rawValue: word >> 7 & 7), let modulation = Modulation(rawValue: word >> 14) else { return nil }
        self.init(
            rfChannel: octets[at], signalPower: Int8(bitPattern: octets[at + 1]), noisePower: Int8(bitPattern: octets[at + 2]),
            referenceAccessAddress: octets[(at + 4)..<(at + 8)].reversed().reduce(0) { $0 << 8 | UInt32($1) },
            flags: Flags(rawValue: word & Self.plainFlags), channel: channel, modulation: modulation,
            bytes: Array(octets[(at + Self.headerLength)...]))
    }

    /// The ten octets before the packet.
    var header: [UInt8] {
        var octets: [UInt8] = [rfChannel, UInt8(bitPattern: signalPower), UInt8(bitPattern: noisePower), 0]
        octets.reserveCapacity(Self.headerLength)
        octets.append(little: referenceAccessAddress)
        octets.append(little: flags.rawValue & Self.plainFlags | channel.rawValue << 7 | modulation.rawValue << 14)
        return octets
    }
}

/// The header of LINKTYPE_BLUETOOTH_BREDR_BB before a packet.
extension BasebandFrame {
    private static let headerLength = 22

    /// Parses header and packet; nil if the header is truncated or has an invalid transport or rate.
    init?(headed octets: ArraySlice<UInt8>) {
        guard octets.count >= Self.headerLength, let lap: UInt32 = octets.number(at: 8, big: false),
            let reference: UInt32 = octets.number(at: 12, big: false), let packetHeader: UInt32 = octets.number(at: 16, big: false),
            let flags: UInt16 = octets.number(at: 20, big: false)
        else { return nil }
        let at = octets.startIndex
        guard let transport = Transport(rawValue: octets[at + 4] >> 4), let modulation = Modulation(rawValue: octets[at + 4] & 15) else {
            return nil
        }
        self.init(
            rfChannel: octets[at], signalPower: Int8(bitPattern: octets[at + 1]), transport: transport, lap: lap & 0xFF_FFFF,
            referenceUAP: UInt8(reference >> 24), packetHeader: packetHeader & 0x3_FFFF, flags: Flags(rawValue: flags),
            payload: Array(octets.dropFirst(Self.headerLength)))
        noisePower = Int8(bitPattern: octets[at + 2])
        self.modulation = modulation
    }

    /// The 22 octets before the payload, with no corrected bits.
    var header: [UInt8] {
        var octets: [UInt8] = [rfChannel, UInt8(bitPattern: signalPower), UInt8(bitPattern: noisePower), 0]
        octets.reserveCapacity(Self.headerLength)
        octets.append(contentsOf: [transport.rawValue << 4 | modulation.rawValue, 0, 0, 0])
        octets.append(little: lap)
        octets.append(little: lap & 0xFF_FFFF | UInt32(referenceUAP) << 24)
        octets.append(little: packetHeader)
        octets.append(little: flags.rawValue)
        return octets
    }
}
