import Packets

/// PHYs and data lengths. Core Vol 4, Part E, 7.8.33 to 7.8.35 and 7.8.46 to 7.8.49.
extension CommandTable {
    mutating func addLEPHYAndDataLength() {
        addPHY()
        addDataLength()
    }

    private mutating func addPHY() {
        complete(HCICommands.LEReadPHY.self, 35, 4, failing: .init(), echo: 2) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            return .init(
                status: .success, connectionHandle: link.handle, txPHY: link.connection.transmitPHY.rawValue,
                rxPHY: link.connection.receivePHY.rawValue)
        }
        perform(HCICommands.LESetDefaultPHY.self, 35, 5) { (controller, command) throws(CommandFailure) in
            let (tx, rx) = try controller.preferredPHYs(command.allPHYs, command.txPHYs, command.rxPHYs)
            controller.settings.links.txPHYs = tx
            controller.settings.links.rxPHYs = rx
        }
        start(HCICommands.LESetPHY.self, 35, 6) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            let (tx, rx) = try controller.preferredPHYs(command.allPHYs, command.txPHYs, command.rxPHYs)
            try Check.that(command.phyOptions <= 2)
            let prefersS2 = command.phyOptions == 0 ? nil : command.phyOptions == 1
            try link.connection.updatePHY(tx: tx, rx: rx, prefersS2: prefersS2).check()
        }
    }

    private mutating func addDataLength() {
        complete(HCICommands.LESetDataLength.self, 33, 6, failing: .init(), echo: 2) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            try Check.dataLength(octets: command.txOctets, time: command.txTime)
            try link.connection.setDataLength(txOctets: command.txOctets, txTime: command.txTime).check()
            return .init(status: .success, connectionHandle: link.handle)
        }
        complete(HCICommands.LEReadSuggestedDefaultDataLength.self, 33, 7, failing: .init()) { (controller, _) throws(CommandFailure) in
            let links = controller.settings.links
            return .init(status: .success, suggestedMaxTXOctets: links.suggestedTxOctets, suggestedMaxTXTime: links.suggestedTxTime)
        }
        perform(HCICommands.LEWriteSuggestedDefaultDataLength.self, 34, 0) { (controller, command) throws(CommandFailure) in
            try Check.dataLength(octets: command.suggestedMaxTXOctets, time: command.suggestedMaxTXTime)
            controller.settings.links.suggestedTxOctets = command.suggestedMaxTXOctets
            controller.settings.links.suggestedTxTime = command.suggestedMaxTXTime
        }
        complete(HCICommands.LEReadMaximumDataLength.self, 35, 3, failing: .init()) { (controller, _) throws(CommandFailure) in
            let octets = controller.configuration.maxOctets
            let slowest: AirPHY = controller.configuration.features.contains(.leCodedPHY) ? .codedS8 : .le1M
            let time = UInt16(clamping: slowest.airTime(payload: Int(octets) + 4).rawValue)
            return .init(
                status: .success, supportedMaxTXOctets: octets, supportedMaxTXTime: time, supportedMaxRXOctets: octets,
                supportedMaxRXTime: time)
        }
    }
}

extension Controller {
    /// The masks of LE_Set_PHY and LE_Set_Default_PHY; empty where the host has no preference.
    fileprivate func preferredPHYs(_ all: UInt8, _ tx: PHYs, _ rx: PHYs) throws(CommandFailure) -> (tx: PHYs, rx: PHYs) {
        try Check.that(all <= 3)
        return (try preferred(tx, none: all & 1 != 0), try preferred(rx, none: all & 2 != 0))
    }

    private func preferred(_ phys: PHYs, none: Bool) throws(CommandFailure) -> PHYs {
        if none { return [] }
        try Check.that(phys.rawValue != 0)
        try Check.that(phys.rawValue & ~configuration.allPHYs == 0, else: .unsupportedValue)
        return phys
    }
}
