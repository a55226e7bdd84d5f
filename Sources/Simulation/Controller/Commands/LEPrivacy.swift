import BBBluetoothCrypto
import BBPackets

/// Resolving list commands. Core Vol 4, Part E, 7.8.38 to 7.8.45 and 7.8.77.
extension LEController {
    static func privacyCommands(_ rows: inout CommandRows<LEController>) {
        rows.perform(HCICommands.LEAddDeviceToResolvingList.self) { try $0.execute($1) }
        rows.perform(HCICommands.LERemoveDeviceFromResolvingList.self) { try $0.execute($1) }
        rows.perform(HCICommands.LEClearResolvingList.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadResolvingListSize.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadPeerResolvableAddress.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadLocalResolvableAddress.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetAddressResolutionEnable.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetResolvablePrivateAddressTimeout.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetResolvablePrivateAddressTimeoutV2.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetPrivacyMode.self) { try $0.execute($1) }
    }

    func execute(_ command: HCICommands.LEAddDeviceToResolvingList) throws(CommandRefusal) {
        if configuration.choices.looksForRoomFirst { try Check.that(!settings.resolving.isFull, else: .memoryExceeded) }
        try checkResolvingListIsFree()
        try settings.resolving.add(
            DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress),
            peerIRK: UInt128(littleEndianOctets: command.peerIRK), localIRK: UInt128(littleEndianOctets: command.localIRK))
    }

    func execute(_ command: HCICommands.LERemoveDeviceFromResolvingList) throws(CommandRefusal) {
        try checkResolvingListIsFree()
        try settings.resolving.remove(DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress))
    }

    func execute(_ command: HCICommands.LEClearResolvingList) throws(CommandRefusal) {
        try checkResolvingListIsFree()
        settings.resolving.clear()
    }

    func execute(_ command: HCICommands.LEReadResolvingListSize) throws(CommandRefusal) -> HCICommands.LEReadResolvingListSize.Return {
        .init(status: .success, resolvingListSize: UInt8(clamping: settings.resolving.capacity))
    }

    func execute(_ command: HCICommands.LEReadPeerResolvableAddress) throws(CommandRefusal)
        -> HCICommands.LEReadPeerResolvableAddress.Return
    {
        let peer = DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress)
        return .init(status: .success, peerResolvableAddress: try settings.resolving.peerAddress(of: peer).bdADDR)
    }

    func execute(_ command: HCICommands.LEReadLocalResolvableAddress) throws(CommandRefusal)
        -> HCICommands.LEReadLocalResolvableAddress.Return
    {
        let peer = DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress)
        return .init(status: .success, localResolvableAddress: try settings.resolving.localAddress(of: peer).bdADDR)
    }

    func execute(_ command: HCICommands.LESetAddressResolutionEnable) throws(CommandRefusal) {
        try Check.that(advertisers.isEmpty && scanner == nil && initiator == nil && settings.syncRequest == nil, else: .disallowed)
        settings.resolving.isEnabled = command.addressResolutionEnable == 1
    }

    func execute(_ command: HCICommands.LESetResolvablePrivateAddressTimeout) throws(CommandRefusal) {
        settings.resolving.lifetime = command.rpaTimeoutMicroseconds...command.rpaTimeoutMicroseconds
    }

    func execute(_ command: HCICommands.LESetResolvablePrivateAddressTimeoutV2) throws(CommandRefusal) {
        let (shortest, longest) = (command.rpaTimeoutMinMicroseconds, command.rpaTimeoutMaxMicroseconds)
        try Check.that(shortest <= longest)
        settings.resolving.lifetime = shortest...longest
    }

    func execute(_ command: HCICommands.LESetPrivacyMode) throws(CommandRefusal) {
        try checkResolvingListIsFree()
        try settings.resolving.set(command.privacyMode, of: DeviceAddress(command.peerIdentityAddressType, command.peerIdentityAddress))
    }

    /// Fails while the resolving list is in use, when it must not be changed. Core Vol 4, Part E, 7.8.38.
    private func checkResolvingListIsFree() throws(CommandRefusal) {
        let isUsed =
            settings.resolving.isEnabled && !(advertisers.isEmpty && scanner == nil && initiator == nil && settings.syncRequest == nil)
        try Check.that(!isUsed, else: .disallowed)
    }
}

/// Own_Address_Type. Core Vol 4, Part E, 7.8.5.
struct OwnAddress: Equatable {
    var kind = DeviceAddress.Kind.public
    /// Uses a resolvable private address towards peers with a local IRK in the resolving list.
    var isResolvable = false
}

/// Own and peer addresses with privacy.
extension LEController {
    func ownAddress(_ type: OwnAddressType) throws(CommandRefusal) -> OwnAddress {
        let isResolvable = type.rawValue & 2 != 0
        guard !isResolvable || configuration.features.contains(.llPrivacy) else { throw .unsupportedValue }
        return OwnAddress(kind: type.rawValue & 1 == 0 ? .public : .random, isResolvable: isResolvable)
    }

    /// The local private address towards a peer; nil if none is used.
    func privateAddress(_ own: OwnAddress, towards peer: DeviceAddress) -> DeviceAddress? {
        own.isResolvable ? settings.resolving.local(for: peer, at: controller.loop.now, &secrets) : nil
    }

    /// The own address of an activity that starts.
    ///
    /// - Parameters:
    ///   - peer: the peer, if known.
    ///   - random: the random address configured for the activity.
    func address(_ own: OwnAddress, towards peer: DeviceAddress?, random: DeviceAddress?) throws(CommandRefusal) -> DeviceAddress {
        if let peer, let address = privateAddress(own, towards: peer) { return address }
        switch own.kind {
        case .public:
            // BD_ADDR is 0 if there is no public address. Core Vol 4, Part E, 7.4.6.
            guard configuration.address.bdADDR != 0 else { throw .invalidParameters }
            return configuration.address
        case .random:
            guard let random else { throw .invalidParameters }
            return random
        }
    }

    /// Identity of an address received over the air; nil if the packet must be ignored.
    func identify(_ address: DeviceAddress) -> KnownDevice? { settings.resolving.identify(address) }

    /// True if `address` refers to an activity with the own address `own`.
    ///
    /// - Parameter advertiser: the device that used `address`; its resolving list entry is used for resolution. Nil for an anonymous
    ///   advertiser.
    func isOwn(_ address: DeviceAddress, _ own: DeviceAddress, calledBy advertiser: DeviceAddress?) -> Bool {
        let peer = advertiser.flatMap { identify($0)?.address }
        return address == own || settings.resolving.isEnabled && settings.resolving.isLocal(address, towards: peer)
    }
}
