import BBPackets

/// Filter accept list commands. Core Vol 4, Part E, 7.8.14 to 7.8.17.
extension LEController {
    static func listsCommands(_ rows: inout CommandRows<LEController>) {
        rows.complete(HCICommands.LEReadFilterAcceptListSize.self) { try $0.execute($1) }
        rows.perform(HCICommands.LEClearFilterAcceptList.self) { try $0.execute($1) }
        rows.perform(HCICommands.LEAddDeviceToFilterAcceptList.self) { try $0.execute($1) }
        rows.perform(HCICommands.LERemoveDeviceFromFilterAcceptList.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.LEReadFilterAcceptListSize) throws(CommandRefusal) -> HCICommands.LEReadFilterAcceptListSize.Return
    {
        .init(status: .success, filterAcceptListSize: UInt8(clamping: settings.acceptList.capacity))
    }

    func execute(_ command: HCICommands.LEClearFilterAcceptList) throws(CommandRefusal) {
        try checkAcceptListIsFree()
        settings.acceptList.clear()
    }

    func execute(_ command: HCICommands.LEAddDeviceToFilterAcceptList) throws(CommandRefusal) {
        let address = Self.listed(command.addressType, command.address)
        try checkAcceptListIsFree()
        try Check.that(settings.acceptList.add(address), else: .memoryExceeded)
    }

    func execute(_ command: HCICommands.LERemoveDeviceFromFilterAcceptList) throws(CommandRefusal) {
        let address = Self.listed(command.addressType, command.address)
        try checkAcceptListIsFree()
        settings.acceptList.remove(address)
    }

    /// Address of a list entry; nil for anonymous advertisers, whose address is ignored.
    private static func listed(_ type: AddressType, _ address: BDADDR) -> DeviceAddress? {
        type == .anonymous ? nil : DeviceAddress(type, address)
    }
}

extension LEController {
    /// Fails while the filter accept list is in use, when it must not be changed. Core Vol 4, Part E, 7.8.15.
    func checkAcceptListIsFree() throws(CommandRefusal) {
        let isUsed =
            advertisers.contains { $0.set.parameters.filtersScanRequests || $0.set.parameters.filtersConnectRequests }
            || scanner?.settings.filtersByList == true || (initiator.map { $0.settings.peer == nil } ?? false)
        try Check.that(!isUsed, else: .disallowed)
    }

    /// Fails for a mix of legacy and extended advertising and scanning commands without a reset between them. Core Vol 4, Part E, 3.1.1.
    func check(_ family: LESettings.CommandFamily) throws(CommandRefusal) {
        try Check.that(settings.family == family || settings.family == .undecided, else: .disallowed)
    }
}
