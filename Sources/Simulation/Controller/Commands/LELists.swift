import Packets

/// The filter accept list and the resolving list. Core Vol 4, Part E, 7.8.14 to 7.8.17 and 7.8.38 to 7.8.41.
extension CommandTable {
    mutating func addLELists() {
        addAcceptList()
        addResolvingList()
    }

    private mutating func addAcceptList() {
        complete(HCICommands.LEReadFilterAcceptListSize.self, 26, 6, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, filterAcceptListSize: UInt8(clamping: controller.settings.acceptList.capacity))
        }
        perform(HCICommands.LEClearFilterAcceptList.self, 26, 7) { (controller, _) throws(CommandFailure) in
            try controller.checkAcceptListIsFree()
            controller.settings.acceptList.clear()
        }
        perform(HCICommands.LEAddDeviceToFilterAcceptList.self, 27, 0) { (controller, command) throws(CommandFailure) in
            let address = try Self.listed(command.addressType, command.address)
            try controller.checkAcceptListIsFree()
            try Check.that(controller.settings.acceptList.add(address), else: .memoryExceeded)
        }
        perform(HCICommands.LERemoveDeviceFromFilterAcceptList.self, 27, 1) { (controller, command) throws(CommandFailure) in
            let address = try Self.listed(command.addressType, command.address)
            try controller.checkAcceptListIsFree()
            controller.settings.acceptList.remove(address)
        }
    }

    /// Nil for anonymous advertisers, whose address is ignored.
    private static func listed(_ type: AddressType, _ address: BDADDR) throws(CommandFailure) -> DeviceAddress? {
        type.rawValue == 0xFF ? nil : try Check.peerAddress(type, address)
    }

    private mutating func addResolvingList() {
        complete(HCICommands.LEReadResolvingListSize.self, 34, 6, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, resolvingListSize: UInt8(clamping: controller.settings.resolvingList.capacity))
        }
        perform(HCICommands.LEAddDeviceToResolvingList.self, 34, 3) { (controller, command) throws(CommandFailure) in
            let identity = try Check.peerAddress(command.peerIdentityAddressType, command.peerIdentityAddress)
            let entry = ResolvingList.Entry(identity: identity, peerIRK: command.peerIRK, localIRK: command.localIRK)
            switch controller.settings.resolvingList.add(entry) {
            case .added: break
            case .duplicate: throw .invalidParameters
            case .full: throw .memoryExceeded
            }
        }
        perform(HCICommands.LERemoveDeviceFromResolvingList.self, 34, 4) { (controller, command) throws(CommandFailure) in
            let identity = try Check.peerAddress(command.peerIdentityAddressType, command.peerIdentityAddress)
            try Check.that(controller.settings.resolvingList.remove(identity), else: .unknownConnection)
        }
        perform(HCICommands.LEClearResolvingList.self, 34, 5) { (controller, _) throws(CommandFailure) in
            controller.settings.resolvingList.removeAll()
        }
    }
}

extension Controller {
    /// The accept list must not change while something uses it. Core Vol 4, Part E, 7.8.15.
    func checkAcceptListIsFree() throws(CommandFailure) {
        let isUsed =
            advertisers.contains { $0.set.parameters.filtersScanRequests || $0.set.parameters.filtersConnectRequests }
            || scanner?.settings.filtersByList == true || (initiator.map { $0.settings.peer == nil } ?? false)
        try Check.that(!isUsed, else: .disallowed)
    }

    /// Legacy and extended advertising and scanning commands do not mix before a reset. Core Vol 4, Part E, 3.1.1.
    func use(_ family: HostSettings.CommandFamily) throws(CommandFailure) {
        try Check.that(settings.family == family || settings.family == .undecided, else: .disallowed)
        settings.family = family
    }

    /// As `use(_:)`, for commands that only read.
    func check(_ family: HostSettings.CommandFamily) throws(CommandFailure) {
        try Check.that(settings.family == family || settings.family == .undecided, else: .disallowed)
    }
}
