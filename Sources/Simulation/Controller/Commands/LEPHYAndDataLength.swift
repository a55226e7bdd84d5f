import BBPackets

/// PHY and data length commands. Core Vol 4, Part E, 7.8.33 to 7.8.35 and 7.8.46 to 7.8.49.
extension LEController {
    static func phyAndDataLengthCommands(_ rows: inout CommandRows<LEController>) {
        rows.complete(HCICommands.LEReadPHY.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetDefaultPHY.self) { try $0.execute($1) }
        rows.start(HCICommands.LESetPHY.self) { try $0.execute($1) }
        rows.complete(HCICommands.LESetDataLength.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadSuggestedDefaultDataLength.self) { try $0.execute($1) }
        rows.perform(HCICommands.LEWriteSuggestedDefaultDataLength.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadMaximumDataLength.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.LEReadPHY) throws(CommandRefusal) -> HCICommands.LEReadPHY.Return {
        let link = try link(command.connectionHandle)
        return .init(
            status: .success, connectionHandle: link.handle, txPHY: link.connection.transmitPHY.rawValue,
            rxPHY: link.connection.receivePHY.rawValue)
    }

    func execute(_ command: HCICommands.LESetDefaultPHY) throws(CommandRefusal) {
        let (tx, rx) = try preferredPHYs(command.allPHYs, command.txPHYs, command.rxPHYs)
        settings.links.txPHYs = tx
        settings.links.rxPHYs = rx
    }

    func execute(_ command: HCICommands.LESetPHY) throws(CommandRefusal) {
        let link = try link(command.connectionHandle)
        let (tx, rx) = try preferredPHYs(command.allPHYs, command.txPHYs, command.rxPHYs)
        let prefersS2 = command.phyOptions == 0 ? nil : command.phyOptions == 1
        try link.connection.updatePHY(tx: tx, rx: rx, prefersS2: prefersS2).check()
    }

    func execute(_ command: HCICommands.LESetDataLength) throws(CommandRefusal) -> HCICommands.LESetDataLength.Return {
        let link = try link(command.connectionHandle)
        let most = max(27, configuration.choices.usedOctets ?? .max)
        try link.connection.setDataLength(txOctets: min(command.txOctets, most), txTime: command.txTime).check()
        return .init(status: .success, connectionHandle: link.handle)
    }

    func execute(_ command: HCICommands.LEReadSuggestedDefaultDataLength) throws(CommandRefusal)
        -> HCICommands.LEReadSuggestedDefaultDataLength.Return
    {
        let links = settings.links
        return .init(status: .success, suggestedMaxTXOctets: links.suggestedTxOctets, suggestedMaxTXTime: links.suggestedTxTime)
    }

    func execute(_ command: HCICommands.LEWriteSuggestedDefaultDataLength) throws(CommandRefusal) {
        settings.links.suggestedTxOctets = command.suggestedMaxTXOctets
        settings.links.suggestedTxTime = command.suggestedMaxTXTime
    }

    func execute(_ command: HCICommands.LEReadMaximumDataLength) throws(CommandRefusal) -> HCICommands.LEReadMaximumDataLength.Return {
        let octets = configuration.maxOctets
        let time = DataLengths.longestTime(configuration)
        return .init(
            status: .success, supportedMaxTXOctets: octets, supportedMaxTXTime: time, supportedMaxRXOctets: octets,
            supportedMaxRXTime: time)
    }
}

extension LEController {
    /// Checks the masks of LE_Set_PHY and LE_Set_Default_PHY; an empty mask means no preference.
    private func preferredPHYs(_ all: UInt8, _ tx: PHYs, _ rx: PHYs) throws(CommandRefusal) -> (tx: PHYs, rx: PHYs) {
        return (try preferred(tx, none: all & 1 != 0), try preferred(rx, none: all & 2 != 0))
    }

    private func preferred(_ phys: PHYs, none: Bool) throws(CommandRefusal) -> PHYs {
        if none { return [] }
        try Check.that(phys.rawValue != 0)
        try Check.that(phys.rawValue & ~configuration.allPHYs == 0, else: .unsupportedValue)
        return phys
    }
}
