import Packets

/// The filter accept list and the resolving list. Core Vol 4, Part E, 7.8.14 to 7.8.17 and 7.8.38 to 7.8.41.
extension LEController {
    func execute(_ command: HCICommands.LEReadFilterAcceptListSize) throws(CommandFailure) -> HCICommands.LEReadFilterAcceptListSize.Return
    {
        .init(status: .success, filterAcceptListSize: UInt8(clamping: settings.acceptList.capacity))
    }

    func execute(_ command: HCICommands.LEClearFilterAcceptList) throws(CommandFailure) {
        try checkAcceptListIsFree()
        settings.acceptList.clear()
    }

    func execute(_ command: HCICommands.LEAddDeviceToFilterAcceptList) throws(CommandFailure) {
        let address = Self.listed(command.addressType, command.address)
        try checkAcceptListIsFree()
        try Check.that(settings.acceptList.add(address), else: .memoryExceeded)
    }

    func execute(_ command: HCICommands.LERemoveDeviceFromFilterAcceptList) throws(CommandFailure) {
        let address = Self.listed(command.addressType, command.address)
        try checkAcceptListIsFree()
        settings.acceptList.remove(address)
    }

    func execute(_ command: HCICommands.LEReadResolvingListSize) throws(CommandFailure) -> HCICommands.LEReadResolvingListSize.Return {
        .init(status: .success, resolvingListSize: UInt8(clamping: settings.resolvingList.capacity))
    }

    func execute(_ command: HCICommands.LEAddDeviceToResolvingList) throws(CommandFailure) {
        let identity = DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress)
        let entry = ResolvingList.Entry(identity: identity, peerIRK: command.peerIRK, localIRK: command.localIRK)
        switch settings.resolvingList.add(entry) {
        case .added: break
        case .duplicate: throw .invalidParameters
        case .full: throw .memoryExceeded
        }
    }

    func execute(_ command: HCICommands.LERemoveDeviceFromResolvingList) throws(CommandFailure) {
        let identity = DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress)
        try Check.that(settings.resolvingList.remove(identity), else: .unknownConnection)
    }

    func execute(_ command: HCICommands.LEClearResolvingList) throws(CommandFailure) {
        settings.resolvingList.removeAll()
    }

    /// Nil for anonymous advertisers, whose address is ignored.
    private static func listed(_ type: AddressType, _ address: BDADDR) -> DeviceAddress? {
        type == .anonymous ? nil : DeviceAddress(type, address)
    }
}

extension LEController {
    /// The accept list must not change while something uses it. Core Vol 4, Part E, 7.8.15.
    func checkAcceptListIsFree() throws(CommandFailure) {
        let isUsed =
            advertisers.contains { $0.set.parameters.filtersScanRequests || $0.set.parameters.filtersConnectRequests }
            || scanner?.settings.filtersByList == true || (initiator.map { $0.settings.peer == nil } ?? false)
        try Check.that(!isUsed, else: .disallowed)
    }

    /// Legacy and extended advertising and scanning commands do not mix before a reset. Core Vol 4, Part E, 3.1.1.
    func check(_ family: LESettings.CommandFamily) throws(CommandFailure) {
        try Check.that(settings.family == family || settings.family == .undecided, else: .disallowed)
    }
}
