import BBHCI
import BBPackets

/// Event masks. Some controllers reject a bit that is reserved in their version. Core Vol 4, Part E, 7.3.1 and 7.8.1.
extension ControllerSetup {
    /// Events of the first page that the host handles; LE's own mask selects the LE events.
    static let handledEvents: [any HCIEvent.Type] = [
        HCIEvents.DisconnectionComplete.self, HCIEvents.EncryptionChange.self, HCIEvents.EncryptionKeyRefreshComplete.self,
        HCIEvents.ReadRemoteVersionInformationComplete.self, HCIEvents.HardwareError.self, HCIEvents.DataBufferOverflow.self,
        HCIEvents.LEConnectionComplete.self,
    ]

    /// LE events of the first version with LE.
    private static let firstLEEvents: LEEventMask = [
        .leConnectionComplete, .leAdvertisingReport, .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete, .leLongTermKeyRequest,
    ]

    func setMasks() async throws {
        try await setEventMask(covering: Self.handledEvents)
        var mask = Self.firstLEEvents
        let features = information.leFeatures
        if features.contains(.connectionParametersRequest) { mask.insert(.leRemoteConnectionParameterRequest) }
        if features.contains(.leDataPacketLengthExtension) { mask.insert(.leDataLengthChange) }
        if features.contains(.llPrivacy) { mask.insert(.leEnhancedConnectionComplete) }
        if !features.isDisjoint(with: [.le2MPHY, .leCodedPHY]) { mask.insert(.lePHYUpdateComplete) }
        if features.contains(.leExtendedAdvertising) {
            mask.formUnion([.leExtendedAdvertisingReport, .leScanTimeout, .leAdvertisingSetTerminated, .leScanRequestReceived])
        }
        if features.contains(.lePeriodicAdvertising) {
            mask.formUnion([.lePeriodicAdvertisingSyncEstablished, .lePeriodicAdvertisingReport, .lePeriodicAdvertisingSyncLost])
        }
        if features.contains(.channelSelectionAlgorithm2) { mask.insert(.leChannelSelectionAlgorithm) }
        try await offer([mask, Self.firstLEEvents], HCICommands.LESetEventMask.name) { HCICommands.LESetEventMask(leEventMask: $0) }
    }

    /// Enables these events, as far as the controller accepts their bits.
    func setEventMask(covering events: [any HCIEvent.Type]) async throws {
        let mask = EventMask.covering(events)
        let first = information.isLEOnly ? mask.union(.numberOfCompletedPackets) : mask
        try await offer([first, mask, mask.subtracting(.leMeta)], HCICommands.SetEventMask.name) { HCICommands.SetEventMask(eventMask: $0) }
    }

    /// Sends masks until one is not rejected for its reserved bits. If all are rejected, the controller's default remains.
    private func offer<Mask: Equatable, Command: HCICommand>(_ masks: [Mask], _ name: String, _ command: (Mask) -> Command) async throws {
        var refused: Mask?
        for mask in masks where mask != refused {
            do {
                _ = try await commands.send(command(mask))
                if refused != nil {
                    commands.path.context.learned.note(.smallEventMask, "\(name) is refused with newer bits: sent with fewer")
                }
                return
            } catch HostError.peer(.rejected(_, .invalidHCICommandParameters)) {
                refused = mask
            } catch HostError.peer(.rejected(_, let status)) {
                commands.path.context.learned.note(.claimedAndRefused, "\(name) is refused: \(status)")
                return
            } catch HostError.environment(.commandTimeOut) {
                commands.path.context.learned.note(.unansweredCommand, "\(name) is not answered")
                return
            }
        }
        commands.path.context.learned.note(.smallEventMask, "\(name) is refused whatever its bits")
    }
}
