import BBPackets

extension DeviceDescription.Declares {
    /// Adds what docs/guide/accessory.md says of the reference accessory, unless its maker has declared something else.
    package mutating func addReference() {
        if protects.isEmpty { protects = Self.referenceProtection }
        if sends.isEmpty { sends = Self.referenceSenders }
        changes = changes ?? .init(characteristic: ReferenceAccessory.uuid(0x17), value: [6, 1, 0, 0], undo: [6, 0, 0, 0])
    }

    private static let referenceProtection: [DeviceDescription.Protected] =
        [(0x11, .encryption), (0x12, .authentication), (0x13, .authentication), (0x14, .longKey)].map { digits, need in
            .init(
                characteristic: ReferenceAccessory.uuid(digits), needs: need, value: [UInt8(truncatingIfNeeded: digits)],
                access: [.read, .write])
        } + [.init(characteristic: ReferenceAccessory.uuid(0x19), needs: .encryption, value: nil, access: [.subscribe])]

    /// One notification of 60 octets, cut at the ATT_MTU of the client, and three indications of 4 octets.
    private static let referenceSenders: [DeviceDescription.Sender] = [(UInt16(4), [1, 1, 60]), (5, [2, 3, 4])].map { digits, command in
        .init(
            characteristic: ReferenceAccessory.uuid(digits), within: .seconds(1),
            stimulus: .init(characteristic: ReferenceAccessory.uuid(6), value: command))
    }
}
