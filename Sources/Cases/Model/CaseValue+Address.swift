import BBPackets

extension CaseValue {
    /// The value of a device address in text form: `C0:B1:BE:00:00:01`.
    package var asAddress: UInt64? {
        guard case .text(let text) = self, text.count == 17, text.split(separator: ":").count == 6, let octets = Hexadecimal.octets(text)
        else {
            return nil
        }
        return octets.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The value of a device address in text form or as a PDU's number.
    package var asDeviceAddress: UInt64? {
        asAddress ?? asNumber.flatMap { UInt64(exactly: $0) }.flatMap { $0 < 1 << 48 ? $0 : nil }
    }

    package var asUUID: BluetoothUUID? {
        switch self {
        case .text(let text): BluetoothUUID(text)
        case .number(let number): UInt16(exactly: number).map { BluetoothUUID($0) }
        case .octets, .list, .record: nil
        }
    }
}
