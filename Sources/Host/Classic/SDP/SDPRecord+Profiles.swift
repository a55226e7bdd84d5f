import BBPackets

extension BluetoothUUID {
    // Protocols. Assigned Numbers, 3.2.
    public static let rfcommProtocol: BluetoothUUID = 0x0003
    public static let attProtocol: BluetoothUUID = 0x0007
    public static let avctpProtocol: BluetoothUUID = 0x0017
    public static let avdtpProtocol: BluetoothUUID = 0x0019
    public static let l2capProtocol: BluetoothUUID = 0x0100
    // Service classes and profiles. Assigned Numbers, 3.3.
    public static let publicBrowseRoot: BluetoothUUID = 0x1002
    public static let serialPort: BluetoothUUID = 0x1101
    public static let audioSource: BluetoothUUID = 0x110A
    public static let audioSink: BluetoothUUID = 0x110B
    public static let remoteControlTarget: BluetoothUUID = 0x110C
    public static let advancedAudioDistribution: BluetoothUUID = 0x110D
    public static let remoteControl: BluetoothUUID = 0x110E
    public static let remoteControlController: BluetoothUUID = 0x110F
    public static let handsFree: BluetoothUUID = 0x111E
    public static let audioGateway: BluetoothUUID = 0x111F
    public static let genericAudio: BluetoothUUID = 0x1203
}

/// Records of BR/EDR profiles.
extension SDPRecord {
    /// GATT or one of its services over BR/EDR: on PSM 31, with the service's handle range. Core Vol 3, Part G, 9.
    public static func attributeService(_ uuid: BluetoothUUID = .genericAttribute, from first: UInt16, to last: UInt16) -> SDPRecord {
        SDPRecord([
            .serviceClassIDList: classes(uuid),
            .protocolDescriptorList: stack([
                .sequence([.uuid(.l2capProtocol), .u16(PSM.att)]), .sequence([.uuid(.attProtocol), .u16(first), .u16(last)]),
            ]),
            .browseGroupList: classes(.publicBrowseRoot),
        ])
    }

    /// A serial port. SPP 1.2, 6.
    public static func serialPort(channel: UInt8, name: String = "Serial Port") -> SDPRecord {
        var record = overRFCOMM(channel, [.serialPort], profile: .serialPort, version: 0x0102)
        record[.serviceName] = .text(name)
        return record
    }

    /// An A2DP source or sink. A2DP 1.3, 5.3.
    public static func audio(isSink: Bool, features: UInt16 = 0x0001) -> SDPRecord {
        SDPRecord([
            .serviceClassIDList: classes(isSink ? .audioSink : .audioSource),
            .protocolDescriptorList: overL2CAP(PSM.avdtp, .avdtpProtocol, version: 0x0103),
            .browseGroupList: classes(.publicBrowseRoot),
            .profileDescriptorList: profile(.advancedAudioDistribution, version: 0x0103),
            .supportedFeatures: .u16(features),
        ])
    }

    /// An AVRCP target or controller; a controller also has the service class of its category. AVRCP 1.6, 8.
    public static func remoteControl(isTarget: Bool, features: UInt16 = 0x0002, hasBrowsing: Bool = false) -> SDPRecord {
        var record = SDPRecord([
            .serviceClassIDList: isTarget ? classes(.remoteControlTarget) : classes(.remoteControl, .remoteControlController),
            .protocolDescriptorList: overL2CAP(PSM.avctp, .avctpProtocol, version: 0x0104),
            .browseGroupList: classes(.publicBrowseRoot),
            .profileDescriptorList: profile(.remoteControl, version: 0x0106),
            .supportedFeatures: .u16(features),
        ])
        if hasBrowsing {
            record[.additionalProtocolDescriptorLists] = .sequence([
                overL2CAP(PSM.avctpBrowsing, .avctpProtocol, version: 0x0104)
            ])
        }
        return record
    }

    /// A hands-free unit. HFP 1.8, 5.3.
    public static func handsFree(channel: UInt8, features: UInt16, version: UInt16 = 0x0108) -> SDPRecord {
        var record = overRFCOMM(channel, [.handsFree, .genericAudio], profile: .handsFree, version: version)
        record[.supportedFeatures] = .u16(features)
        return record
    }

    /// An audio gateway. HFP 1.8, 5.3.
    ///
    /// - Parameter canReject: value of the attribute Network: ability to reject a call.
    public static func audioGateway(channel: UInt8, features: UInt16, version: UInt16 = 0x0108, canReject: Bool = true) -> SDPRecord {
        var record = overRFCOMM(channel, [.audioGateway, .genericAudio], profile: .handsFree, version: version)
        record[.network] = .u8(canReject ? 1 : 0)
        record[.supportedFeatures] = .u16(features)
        return record
    }

    // MARK: Partial responses

    private static func overRFCOMM(
        _ channel: UInt8, _ services: [BluetoothUUID], profile: BluetoothUUID, version: UInt16
    ) -> SDPRecord {
        SDPRecord([
            .serviceClassIDList: .sequence(services.map { .uuid($0) }),
            .protocolDescriptorList: stack([
                .sequence([.uuid(.l2capProtocol)]), .sequence([.uuid(.rfcommProtocol), .u8(channel)]),
            ]),
            .browseGroupList: classes(.publicBrowseRoot),
            .profileDescriptorList: Self.profile(profile, version: version),
        ])
    }

    private static func overL2CAP(_ psm: UInt16, _ uuid: BluetoothUUID, version: UInt16) -> SDPDataElement {
        stack([.sequence([.uuid(.l2capProtocol), .u16(psm)]), .sequence([.uuid(uuid), .u16(version)])])
    }

    private static func stack(_ protocols: [SDPDataElement]) -> SDPDataElement { .sequence(protocols) }

    private static func classes(_ uuids: BluetoothUUID...) -> SDPDataElement { .sequence(uuids.map { .uuid($0) }) }

    private static func profile(_ uuid: BluetoothUUID, version: UInt16) -> SDPDataElement {
        .sequence([.sequence([.uuid(uuid), .u16(version)])])
    }
}
