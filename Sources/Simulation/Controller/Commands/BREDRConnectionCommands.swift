import BBPackets

/// BR/EDR connection commands. Core Vol 4, Part E, 7.1.5 to 7.1.9, 7.1.14, 7.3.19, 7.3.41 and 7.3.42.
extension BREDRController {
    static func connectionCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.start(HCICommands.CreateConnection.self) { try $0.execute($1) }
        rows.complete(HCICommands.CreateConnectionCancel.self) { try $0.execute($1) }
        rows.start(HCICommands.AcceptConnectionRequest.self) { try $0.execute($1) }
        rows.start(HCICommands.RejectConnectionRequest.self) { try $0.execute($1) }
        rows.start(HCICommands.ChangeConnectionPacketType.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLinkSupervisionTimeout.self) { try $0.execute($1) }
        rows.complete(HCICommands.WriteLinkSupervisionTimeout.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadPageScanType.self) { try $0.execute($1) }
        rows.perform(HCICommands.WritePageScanType.self) { try $0.execute($1) }
    }
}

extension BREDRController {
    /// A connection that has been reported to the host.
    func link(_ handle: ConnectionHandle) throws(CommandRefusal) -> ACLLinkEnd {
        for link in links where link.handle == handle && link.isKnownToHost { return link }
        throw .unknownConnection
    }

    /// Starts a page; only one at a time. A page or link for a name request to the same device is reused.
    func execute(_ command: HCICommands.CreateConnection) throws(CommandRefusal) {
        let device = command.bdADDR
        let purpose = PagePurpose.connection(
            packetTypes: ACLPacketTypes(rawValue: command.packetType).types, allowsRoleSwitch: command.allowRoleSwitch == 1)
        if paging == nil, let end = links.first(where: { $0.peer == device }) {
            guard end.isForName else { throw CommandRefusal(status: .connectionAlreadyExists) }
            guard end.connection.isOpen else { throw .disallowed }
            end.use(for: purpose)
            return end.connection.establishAfterName()
        }
        guard !links.contains(where: { $0.peer == device && !$0.isForName }) else { throw CommandRefusal(status: .connectionAlreadyExists) }
        if case .name = paging?.purpose, paging?.pager.settings.address == device {
            paging?.purpose = purpose
            paging?.end?.use(for: purpose)
            return
        }
        try Check.that(paging == nil && device != configuration.address.bdADDR, else: .disallowed)
        try startPage(device, repetitionMode: command.pageScanRepetitionMode, clockOffset: command.clockOffset, for: purpose)
    }

    func execute(_ command: HCICommands.CreateConnectionCancel) throws(CommandRefusal) -> HCICommands.CreateConnectionCancel.Return {
        let answer = HCICommands.CreateConnectionCancel.Return(status: .success, bdADDR: command.bdADDR)
        if case .connection = paging?.purpose, paging?.pager.settings.address == command.bdADDR {
            if let end = paging?.end { linkEnds.stop(end) }
            stopPage()
        } else {
            guard let end = links.first(where: { $0.peer == command.bdADDR && !$0.isIncoming && !$0.isForName }) else {
                throw .unknownConnection
            }
            guard end.stage == .begun else { throw CommandRefusal(status: .connectionAlreadyExists) }
            linkEnds.stop(end)
        }
        tellConnected(.unknownConnectionIdentifier, 0, command.bdADDR)
        failName(of: command.bdADDR, .unknownConnectionIdentifier)
        return answer
    }

    private func requested(by peer: BDADDR) throws(CommandRefusal) -> ACLLinkEnd {
        for end in links where end.peer == peer && end.stage == .requested && end.acceptTimer?.isSet == true { return end }
        throw .unknownConnection
    }

    func execute(_ command: HCICommands.AcceptConnectionRequest) throws(CommandRefusal) {
        let end = try requested(by: command.bdADDR)
        end.acceptTimer?.cancel()
        try end.connection.accept(asCentral: command.role == .central).check()
    }

    func execute(_ command: HCICommands.RejectConnectionRequest) throws(CommandRefusal) {
        let reasons: [ErrorCode] = [
            .connectionRejectedDueToLimitedResources, .connectionRejectedDueToSecurityReasons, .connectionRejectedDueToUnacceptableBDADDR,
        ]
        let end = try requested(by: command.bdADDR)
        try Check.that(reasons.contains(command.reason))
        end.acceptTimer?.cancel()
        try end.connection.refuse(command.reason).check()
    }

    func execute(_ command: HCICommands.ChangeConnectionPacketType) throws(CommandRefusal) {
        let end = try link(command.connectionHandle)
        let wanted = command.packetType & ACLPacketTypes.basicRate
        let missing = ACLPacketTypes.missing(from: LMPFeatures(rawValue: controller.lmpFeatures(page: 0) ?? 0))
        try Check.that(wanted == 0 || wanted & ~missing != 0, else: .unsupportedValue)
        end.link.apply(.packetTypes(ACLPacketTypes(rawValue: command.packetType).types))
        let table: PacketTypeTable = end.link.wantsEnhancedRates ? .enhanced : .basic
        if table != end.connection.state.packetTypeTable { end.connection.request(LocalPacketTypeTable(table)) }
        emit(
            HCIEvents.ConnectionPacketTypeChanged(
                status: .success, connectionHandle: end.handle, packetType: command.packetType))
    }

    func execute(_ command: HCICommands.ReadLinkSupervisionTimeout) throws(CommandRefusal) -> HCICommands.ReadLinkSupervisionTimeout.Return
    {
        let end = try link(command.handle)
        return .init(
            status: .success, handle: end.handle,
            linkSupervisionTimeout: UInt16(truncatingIfNeeded: end.link.state.supervisionTimeout / NativeClock.slot))
    }

    /// Sets the supervision timeout; allowed on a central only.
    func execute(_ command: HCICommands.WriteLinkSupervisionTimeout) throws(CommandRefusal)
        -> HCICommands.WriteLinkSupervisionTimeout.Return
    {
        let end = try link(command.handle)
        try Check.that(end.link.role == .central, else: .disallowed)
        end.connection.setSupervisionTimeout(command.linkSupervisionTimeout)
        return .init(status: .success, handle: end.handle)
    }

    func execute(_ command: HCICommands.ReadPageScanType) throws(CommandRefusal) -> HCICommands.ReadPageScanType.Return {
        .init(status: .success, pageScanType: settings.pageScan.isInterlaced ? 1 : 0)
    }

    func execute(_ command: HCICommands.WritePageScanType) throws(CommandRefusal) {
        settings.pageScan.isInterlaced = command.pageScanType == 1
        updatePageScan()
    }
}

/// Packet_Type of an ACL connection: bits that allow basic rate types and bits that disallow EDR types. Core Vol 4, Part E, 7.1.5.
struct ACLPacketTypes {
    let rawValue: UInt16

    private static let allowing: [(bit: UInt16, type: BREDRPacketType)] = [
        (0x0008, .dm1), (0x0010, .dh1), (0x0400, .dm3), (0x0800, .dh3), (0x4000, .dm5), (0x8000, .dh5),
    ]
    private static let forbidding: [(bit: UInt16, type: BREDRPacketType)] = [
        (0x0002, .twoDH1), (0x0004, .threeDH1), (0x0100, .twoDH3), (0x0200, .threeDH3), (0x1000, .twoDH5), (0x2000, .threeDH5),
    ]

    /// The bits of packets at the basic rate.
    static let basicRate = allowing.reduce(0) { $0 | $1.bit }

    /// The bits of basic rate packets of three and five slots that a controller lacks.
    static func missing(from features: LMPFeatures) -> UInt16 {
        (features.contains(.threeSlotPackets) ? 0 : 0x0C00) | (features.contains(.fiveSlotPackets) ? 0 : 0xC000)
    }

    var types: Set<BREDRPacketType> {
        Set(Self.allowing.filter { rawValue & $0.bit != 0 }.map(\.type) + Self.forbidding.filter { rawValue & $0.bit == 0 }.map(\.type))
    }
}
