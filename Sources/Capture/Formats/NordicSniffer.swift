import BBPackets
import BBTraffic

/// Packets of the nRF sniffer, LINKTYPE_NORDIC_BLE: board number, header of the sniffer's serial protocol, radio information, and the
/// packet with access address and CRC. The differences between protocol versions 1...3 are not relevant here.
enum NordicSniffer {
    private static let advertisingEvent: UInt8 = 0x02
    private static let dataEvent: UInt8 = 0x06
    /// Packet id 0, from programs that use this link type without a sniffer; the access address then determines the kind of packet.
    private static let noEvent: UInt8 = 0x00
    private static let events: Set<UInt8> = [advertisingEvent, dataEvent, noEvent]
    private static let reception = 7

    /// Returns nil for anything except a received packet.
    static func frame(_ octets: ArraySlice<UInt8>) -> AirFrame? {
        let bytes = Array(octets)
        guard bytes.count > reception + 4, events.contains(bytes[6]) else { return nil }
        let start = reception + Int(bytes[reception])
        guard Int(bytes[reception]) >= 4, bytes.count >= start + 4 else { return nil }
        let flags = bytes[reception + 1]
        let channel = bytes[reception + 2]
        let accessAddress = bytes[start..<start + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let isAdvertising = bytes[6] == advertisingEvent || accessAddress == AirFrame.advertisingAccessAddress
        let isPrimary = channel >= 37 || bytes[6] == noEvent
        return AirFrame(
            rfChannel: isAdvertising && isPrimary && channel < 37 ? AirFrame.noChannel : AirFrame.rfChannel(of: channel),
            signalPower: Int8(clamping: -Int(bytes[reception + 3])),
            referenceAccessAddress: accessAddress, flags: known(flags, isData: !isAdvertising),
            channel: isAdvertising
                ? (isPrimary ? .advertising : .auxiliaryAdvertising) : flags & 0x02 != 0 ? .dataFromCentral : .dataFromPeripheral,
            modulation: AirFrame.Modulation(rawValue: UInt16(flags >> 4 & 7)) ?? .le1M, bytes: Array(bytes[start...]))
    }

    /// The sniffer decrypts packets if it has the key, and the MIC is then valid.
    private static func known(_ flags: UInt8, isData: Bool) -> AirFrame.Flags {
        var known: AirFrame.Flags = [.dewhitened, .signalPowerValid, .crcChecked]
        if flags & 0x01 != 0 { known.insert(.crcValid) }
        if isData, flags & 0x04 != 0 {
            known.insert(.micChecked)
            if flags & 0x08 != 0 { known.formUnion([.micValid, .decrypted]) }
        }
        return known
    }
}
