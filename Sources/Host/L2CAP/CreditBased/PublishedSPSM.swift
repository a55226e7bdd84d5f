import BBPackets

extension BluetoothUUID {
    /// The characteristic that publishes the SPSM of an L2CAP channel, as accessories of phones have it: a number of two octets.
    public static let publishedSPSM = BluetoothUUID(long: 0xABDD_3056_28FA_441D_A470_55A7_5A52_553A)
}

extension CharacteristicDefinition {
    /// A characteristic that publishes an SPSM.
    public static func publishing(_ spsm: UInt16) -> CharacteristicDefinition {
        CharacteristicDefinition(
            .publishedSPSM, properties: .read, onRead: { _ in .value([UInt8(truncatingIfNeeded: spsm), UInt8(spsm >> 8)]) })
    }
}

extension GATTClient {
    /// The SPSMs that the peer publishes, in the order of their handles. A value that is no SPSM is left out.
    public func publishedSPSMs() async throws -> [UInt16] {
        var found: [UInt16] = []
        for service in try await discoverServices() {
            for characteristic in try await discoverCharacteristics(in: service, uuid: .publishedSPSM) {
                let value = try await read(characteristic.value)
                guard (1...2).contains(value.count) else { continue }
                let spsm = UInt16(value[0]) | (value.count > 1 ? UInt16(value[1]) << 8 : 0)
                if spsm > 0 { found.append(spsm) }
            }
        }
        return found
    }
}
