import BBPackets

/// Scripts that reveal every switch.
enum StageScripts {
    static let all = [questions, legacy, extended]

    private static let masks: [StageLine] = [
        .subject(HCICommands.ReadBDADDR()), .subject(HCICommands.Reset()), .peer(HCICommands.Reset()),
        .subject(HCICommands.SetEventMask(eventMask: .init(rawValue: 0x3FFF_FFFF_FFFB_FFFF))),
        .subject(HCICommands.LESetEventMask(leEventMask: .init(rawValue: 0x0FFF_FFFF_FFFF))),
        .peer(HCICommands.SetEventMask(eventMask: .init(rawValue: 0x3FFF_FFFF_FFFF_FFFF))),
        .peer(HCICommands.LESetEventMask(leEventMask: .init(rawValue: 0x0FFF_FFFF_FFFF))),
    ]

    /// Commands that read values and commands that set them.
    static let questions: [StageLine] =
        masks + [
            .subject(HCICommands.ReadLocalVersionInformation()), .subject(HCICommands.ReadLocalSupportedCommands()),
            .subject(HCICommands.ReadLocalSupportedFeatures()), .subject(HCICommands.ReadLocalExtendedFeatures(pageNumber: 0)),
            .subject(HCICommands.ReadLocalExtendedFeatures(pageNumber: 2)), .subject(HCICommands.ReadBufferSize()),
            .subject(HCICommands.LEReadBufferSize()), .subject(HCICommands.LEReadLocalSupportedFeatures()),
            .subject(HCICommands.LEReadSupportedStates()), .subject(HCICommands.ReadDefaultErroneousDataReporting()),
            .subject(HCICommands.HostNumberOfCompletedPackets()), .subject(HCICommands.LESetPHY(connectionHandle: 1)),
            .subject(HCICommands.LEPeriodicAdvertisingSyncTransfer(connectionHandle: 1)),
            .raw(0xFC53), .raw(0xFC01, [1, 2, 3, 4, 5, 6]), .raw(0xFC31, [1, 2, 3, 4, 5, 6]), .raw(0xFC1A, [1, 2, 3, 4, 5, 6]),
            .raw(0xFC0B, [1, 1, 0, 6, 1, 2, 3, 4, 5, 6]), .raw(0xFC0D, [1, 2, 3, 4, 5, 6]), .raw(0xFC00, storeAddress),
            .subject(HCICommands.ReadBDADDR()),
        ] + refusable.map { .raw($0) } + [
            .subject(HCICommands.SetEventFilter(filterType: 0)), .subject(HCICommands.ReadBDADDR()),
        ]

    /// Writes persistent store key 1 of a CSR chip.
    static let storeAddress: [UInt8] = [
        0xC2, 2, 0, 12, 0, 0, 0, 3, 0x70, 0, 0, 1, 0, 4, 0, 8, 0, 0x03, 0, 0x01, 0x02, 0x04, 0, 0x06, 0x05,
    ]

    private static let refusable = [
        HCICommands.ReadStoredLinkKey.opcode, HCICommands.ReadVoiceSetting.opcode, HCICommands.ReadPageScanType.opcode,
        HCICommands.GetMWSTransportLayerConfiguration.opcode, HCICommands.ReadAuthenticatedPayloadTimeout.opcode,
        HCICommands.EnhancedSetupSynchronousConnection.opcode, HCICommands.LEReadTransmitPower.opcode,
        HCICommands.LESetResolvablePrivateAddressTimeout.opcode, HCICommands.ReadEncryptionKeySize.opcode,
        HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode, HCICommands.LEReadMaximumAdvertisingDataLength.opcode,
        HCICommands.LEExtendedCreateConnection.opcode, HCICommands.LESetExtendedScanParameters.opcode,
        HCICommands.LEReadAdvertisingPhysicalChannelTxPower.opcode,
    ]

    private static let peerAddress = BDADDR(0xC0_0000_0000_02)
    private static let peerAdvertises: [StageLine] = [
        .peer(HCICommands.LESetAdvertisingParameters(advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingChannelMap: 7)),
        .peer(HCICommands.LESetAdvertisingData(advertisingDataLength: 3, advertisingData: [2, 1, 6] + zeros(28))),
        .peer(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)),
    ]
    private static let subjectScans: [StageLine] = [
        .subject(HCICommands.LESetScanParameters(leScanType: .init(rawValue: 1), leScanInterval: 0x10, leScanWindow: 0x10)),
        .subject(HCICommands.LESetScanEnable(leScanEnable: 1, filterDuplicates: 1)),
        .peer(HCICommands.LESetAdvertisingData(advertisingDataLength: 3, advertisingData: [2, 1, 5] + zeros(28))),
        .subject(HCICommands.Inquiry(lap: 0x9E8B33, inquiryLength: 1)), .subject(HCICommands.InquiryCancel()),
    ]
    private static let subjectAdvertises: [StageLine] = [
        .subject(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingType: .advNonconnInd, ownAddressType: 1,
                advertisingChannelMap: 7)),
        .subject(HCICommands.LESetRandomAddress(randomAddress: 0xC0_0102_0304_05)),
        .subject(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)),
    ]
    private static let connects: [StageLine] = [
        .subject(HCICommands.LEWriteSuggestedDefaultDataLength(suggestedMaxTXOctets: 100, suggestedMaxTXTime: 1_000)),
        .subject(HCICommands.SetEventMaskPage2(eventMaskPage2: .init(rawValue: 0))), create,
        .subject(HCICommands.LEReadChannelMap(connectionHandle: 1)),
    ]
    private static let create: StageLine = .subject(
        HCICommands.LECreateConnection(
            leScanInterval: 0x10, leScanWindow: 0x10, peerAddressType: .publicDevice, peerAddress: peerAddress,
            connectionIntervalMin: 8, connectionIntervalMax: 8, supervisionTimeout: 100))
    private static let encrypts: [StageLine] = [
        .subject(HCICommands.LEEnableEncryption(connectionHandle: 1, longTermKey: zeros(16))),
        .peer(HCICommands.LELongTermKeyRequestReply(connectionHandle: 1, longTermKey: zeros(16))),
    ]

    /// Legacy advertising and scanning, a connection with data, encryption, disconnection.
    static let legacy: [StageLine] =
        masks + subjectAdvertises + peerAdvertises + subjectScans + [
            .subject(HCICommands.LESetScanEnable(leScanEnable: 0)), .subject(HCICommands.LESetAdvertisingEnable(advertisingEnable: 0)),
        ] + connects + [
            .peer(HCICommands.ReadBDADDR()), .peer(HCICommands.ReadBDADDR()), .peer(HCICommands.ReadBDADDR()),
            .data(.subject, 64), .data(.subject, 255), .data(.peer, 40), .data(.subject, 30),
            .subject(HCICommands.WriteAuthenticatedPayloadTimeout(connectionHandle: 1, authenticatedPayloadTimeout: 3_000)),
            .data(.subject, 50),
            create, .subject(HCICommands.LECreateConnectionCancel()), .subject(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)),
            .peer(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)), .subject(HCICommands.LESetScanEnable(leScanEnable: 1)),
        ] + encrypts + [
            .data(.subject, 30), .subject(HCICommands.Disconnect(connectionHandle: 1, reason: .remoteUserTerminatedConnection)),
            .subject(HCICommands.ReadRSSI(handle: 1)),
        ]

    private static let longData: [UInt8] = [227, 0xFF] + zeros(226)

    /// The same with extended commands and long data.
    static let extended: [StageLine] =
        masks + peerAdvertises + [
            .subject(
                HCICommands.LESetExtendedAdvertisingParameters(
                    advertisingEventProperties: .init(rawValue: 0), primaryAdvertisingIntervalMin: 0x20,
                    primaryAdvertisingIntervalMax: 0x20,
                    primaryAdvertisingChannelMap: 7, primaryAdvertisingPHY: 1, secondaryAdvertisingPHY: 1)),
            .subject(
                HCICommands.LESetExtendedAdvertisingData(
                    operation: .init(rawValue: 3), fragmentPreference: 1, advertisingData: longData)),
            .subject(HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init()])),
            .subject(HCICommands.LESetExtendedAdvertisingEnable(enable: 0, sets: [.init()])),
        ] + scansExtended(phys: 1) + [.subject(HCICommands.LESetExtendedScanEnable())] + scansExtended(phys: 5) + peersLongData

    /// The peer switches to an extended set of the same length as ours.
    private static let peersLongData: [StageLine] =
        [
            .peer(HCICommands.Reset()),
            .peer(
                HCICommands.LESetExtendedAdvertisingParameters(
                    advertisingEventProperties: .init(rawValue: 0), primaryAdvertisingIntervalMin: 0x20,
                    primaryAdvertisingIntervalMax: 0x20,
                    primaryAdvertisingChannelMap: 7, primaryAdvertisingPHY: 1, secondaryAdvertisingPHY: 1)),
            .peer(
                HCICommands.LESetExtendedAdvertisingData(operation: .init(rawValue: 3), fragmentPreference: 1, advertisingData: longData)),
            .subject(HCICommands.LESetExtendedScanEnable()),
            .peer(HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init()])),
        ] + scansExtended(phys: 1)

    private static func scansExtended(phys: UInt8) -> [StageLine] {
        let window = HCICommands.LESetExtendedScanParameters.PHYParameter(
            scanType: .init(rawValue: 0), scanInterval: 0x10, scanWindow: 0x10)
        let second = HCICommands.LESetExtendedScanParameters.PHYParameter(
            scanType: .init(rawValue: 0), scanInterval: 0x20, scanWindow: 0x10)
        return [
            .subject(
                HCICommands.LESetExtendedScanParameters(
                    scanningPHYs: .init(rawValue: phys), phyParameters: phys == 1 ? [window] : [second, second])),
            .subject(HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1)),
            .peer(HCICommands.LESetAdvertisingData(advertisingDataLength: 3, advertisingData: [2, 1, 4] + zeros(28))),
            .peer(HCICommands.ReadBDADDR()), .peer(HCICommands.ReadBDADDR()), .peer(HCICommands.ReadBDADDR()),
        ]
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}
