import BBPackets

/// Link manager commands other than security. Core Vol 4, Part E, 7.1.19 to 7.1.23.
extension BREDRController {
    static func linkManagerCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.start(HCICommands.RemoteNameRequest.self) { try $0.execute($1) }
        rows.complete(HCICommands.RemoteNameRequestCancel.self) { try $0.execute($1) }
        rows.start(HCICommands.ReadRemoteSupportedFeatures.self) { try $0.execute($1) }
        rows.start(HCICommands.ReadRemoteExtendedFeatures.self) { try $0.execute($1) }
        rows.start(HCICommands.ReadClockOffset.self) { try $0.execute($1) }
    }
}

extension BREDRController {
    func execute(_ command: HCICommands.ReadRemoteSupportedFeatures) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.readRemoteFeatures()
    }

    func execute(_ command: HCICommands.ReadRemoteExtendedFeatures) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.readRemoteExtendedFeatures(page: command.pageNumber)
    }

    func execute(_ command: HCICommands.ReadClockOffset) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.readClockOffset()
    }

    /// Uses the link to the device, if it exists or is being established; otherwise creates a link for the request.
    func execute(_ command: HCICommands.RemoteNameRequest) throws(CommandRefusal) {
        let device = command.bdADDR
        try Check.that(!namesWanted.contains(device), else: .disallowed)
        let end = links.first { $0.peer == device && $0.link.state.isEstablished }
        if let end, end.connection.isOpen {
            end.connection.requestName()
        } else if paging?.pager.settings.address != device {
            try Check.that(paging == nil && device != configuration.address.bdADDR && end?.isForName ?? true, else: .disallowed)
            // A link of an earlier name request that is about to end is closed at once.
            if let end { linkEnds.stop(end) }
            try startPage(device, repetitionMode: command.pageScanRepetitionMode, clockOffset: command.clockOffset, for: .name)
        }
        namesWanted.insert(device)
    }

    func execute(_ command: HCICommands.RemoteNameRequestCancel) throws(CommandRefusal) -> HCICommands.RemoteNameRequestCancel.Return {
        guard namesWanted.contains(command.bdADDR) else {
            return .init(status: .invalidHCICommandParameters, bdADDR: command.bdADDR)
        }
        cancelName(of: command.bdADDR)
        return .init(status: .success, bdADDR: command.bdADDR)
    }
}
