import BBPackets

/// Commands of every controller: event masks, versions, buffers, links and loopback. Core Vol 4, Part E, 7.1 and 7.3 to 7.6.
extension Controller {
    static func sharedCommands(_ rows: inout CommandRows<Controller>) {
        rows.start(HCICommands.Disconnect.self) { try $0.execute($1) }
        rows.start(HCICommands.ReadRemoteVersionInformation.self) { try $0.execute($1) }
        rows.perform(HCICommands.SetEventMask.self) { try $0.execute($1) }
        rows.perform(HCICommands.Reset.self) { try $0.execute($1) }
        rows.perform(HCICommands.SetEventMaskPage2.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadTransmitPowerLevel.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalVersionInformation.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalSupportedCommands.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalSupportedCommandsV2.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalSupportedFeatures.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalExtendedFeatures.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadBufferSize.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadBDADDR.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadCountryCode.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLocalSupportedCodecs.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadRSSI.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLoopbackMode.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteLoopbackMode.self) { try $0.execute($1) }
    }
}

// MARK: Link control

extension Controller {
    func execute(_ command: HCICommands.Disconnect) throws(CommandRefusal) {
        let voice = bredr.synchronous(command.connectionHandle)
        let link: (any HostLink)? = voice == nil ? try anyLink(command.connectionHandle) : nil
        let reasons: [ErrorCode] = [
            .authenticationFailure, .remoteUserTerminatedConnection, .remoteDeviceTerminatedConnectionDueToLowResources,
            .remoteDeviceTerminatedConnectionDueToPowerOff, .unsupportedRemoteFeature, .pairingWithUnitKeyNotSupported,
            .unacceptableConnectionParameters,
        ]
        try Check.that(reasons.contains(command.reason))
        voice?.acl.connection.endSynchronous(voice?.id ?? 0, command.reason)
        _ = link?.disconnect(command.reason)
    }

    func execute(_ command: HCICommands.ReadRemoteVersionInformation) throws(CommandRefusal) {
        try anyLink(command.connectionHandle).readRemoteVersion().check()
    }
}

extension ErrorCode {
    /// Throws the status of a procedure that could not be started.
    func check() throws(CommandRefusal) {
        if self != .success { throw CommandRefusal(status: self) }
    }
}

// MARK: Controller and baseband

extension Controller {
    func execute(_ command: HCICommands.SetEventMask) throws(CommandRefusal) { masks.page1 = command.eventMask }

    func execute(_ command: HCICommands.SetEventMaskPage2) throws(CommandRefusal) { masks.page2 = command.eventMaskPage2 }

    func execute(_ command: HCICommands.Reset) throws(CommandRefusal) { reset() }

    func execute(_ command: HCICommands.ReadTransmitPowerLevel) throws(CommandRefusal) -> HCICommands.ReadTransmitPowerLevel.Return {
        let link = try anyLink(command.connectionHandle)
        return .init(
            status: .success, connectionHandle: link.handle,
            txPowerLevel: command.type == 0 ? TransmitPower.preferred : TransmitPower.maximum)
    }
}

/// Transmit power range of the radio, in dBm.
enum TransmitPower {
    static let minimum: Int8 = -20
    static let maximum: Int8 = 10
    static let preferred: Int8 = 0

    /// The supported power nearest to the requested one; 127 means no preference.
    static func select(_ wanted: Int8) -> Int8 { wanted == 127 ? preferred : min(max(wanted, minimum), maximum) }
}

// MARK: Informational and status parameters

extension Controller {
    func execute(_ command: HCICommands.ReadLocalVersionInformation) throws(CommandRefusal)
        -> HCICommands.ReadLocalVersionInformation.Return
    {
        .init(
            status: .success, hciVersion: configuration.version, hciSubversion: configuration.subversion, lmpVersion: configuration.version,
            companyIdentifier: configuration.companyIdentifier, lmpSubversion: configuration.subversion)
    }

    func execute(_ command: HCICommands.ReadLocalSupportedCommands) throws(CommandRefusal) -> HCICommands.ReadLocalSupportedCommands.Return
    {
        .init(status: .success, supportedCommands: table.supportedCommands)
    }

    func execute(_ command: HCICommands.ReadLocalSupportedCommandsV2) throws(CommandRefusal)
        -> HCICommands.ReadLocalSupportedCommandsV2.Return
    {
        let first = table.supportedCommands
        return .init(status: .success, supportedCommands: first + [UInt8](repeating: 0, count: 251 - first.count))
    }

    func execute(_ command: HCICommands.ReadLocalSupportedFeatures) throws(CommandRefusal) -> HCICommands.ReadLocalSupportedFeatures.Return
    {
        .init(status: .success, lmpFeatures: lmpFeatures(page: 0) ?? 0)
    }

    func execute(_ command: HCICommands.ReadLocalExtendedFeatures) throws(CommandRefusal) -> HCICommands.ReadLocalExtendedFeatures.Return {
        guard let features = lmpFeatures(page: command.pageNumber) else { throw .invalidParameters }
        let last: UInt8 = configuration.profile == .dual ? 2 : 0
        return .init(status: .success, pageNumber: command.pageNumber, maxPageNumber: last, extendedLMPFeatures: features)
    }

    func execute(_ command: HCICommands.ReadBufferSize) throws(CommandRefusal) -> HCICommands.ReadBufferSize.Return {
        .init(
            status: .success, aclDataPacketLength: configuration.dataBuffers.length,
            synchronousDataPacketLength: configuration.voiceBuffers.length, totalNumACLDataPackets: UInt16(configuration.dataBuffers.count),
            totalNumSynchronousDataPackets: configuration.voiceBuffers.count)
    }

    func execute(_ command: HCICommands.ReadBDADDR) throws(CommandRefusal) -> HCICommands.ReadBDADDR.Return {
        .init(status: .success, bdADDR: configuration.address.bdADDR)
    }

    /// An obsolete command that hosts still send; always North America and Europe.
    func execute(_ command: HCICommands.ReadCountryCode) throws(CommandRefusal) -> HCICommands.ReadCountryCode.Return {
        .init(status: .success, countryCode: 0)
    }

    func execute(_ command: HCICommands.ReadLocalSupportedCodecs) throws(CommandRefusal) -> HCICommands.ReadLocalSupportedCodecs.Return {
        .init(status: .success, standardCodecID: [], vendorSpecificCodecID: [])
    }

    /// On BR/EDR, the RSSI is relative to the golden receive power range, and all links here are within it. Core Vol 4, Part E, 7.5.4.
    func execute(_ command: HCICommands.ReadRSSI) throws(CommandRefusal) -> HCICommands.ReadRSSI.Return {
        if try anyLink(command.handle).isBREDR { return .init(status: .success, handle: command.handle, rssi: 0) }
        let link = try link(command.handle)
        return .init(status: .success, handle: link.handle, rssi: le.settings.pathCompensation.atAntenna(link.connection.rssi))
    }
}

// MARK: Testing

extension Controller {
    func execute(_ command: HCICommands.ReadLoopbackMode) throws(CommandRefusal) -> HCICommands.ReadLoopbackMode.Return {
        .init(status: .success, loopbackMode: loopback == nil ? 0 : 1)
    }

    func execute(_ command: HCICommands.WriteLoopbackMode) throws(CommandRefusal) {
        switch command.loopbackMode {
        case 0: endLoopback()
        case 1: try beginLoopback()
        // Remote loopback of BR/EDR links is not supported.
        default: throw .unsupportedValue
        }
    }
}
