import BBHCI
import BBPackets

/// The advertising sets whose scan requests the host wants to know. Core Vol 4, Part E, 7.8.53 and 7.7.65.19.
struct ScanRequestNotifications: Sendable {
    private var wanted: Set<Int> = []
    /// The sets that have just changed: an event that the controller made before may leave it after the answer.
    private var changed: Set<Int> = []

    mutating func reset() { self = ScanRequestNotifications() }

    mutating func answered(_ answer: CommandAnswer, to command: HCIPacket) {
        changed = []
        guard answer.status == .success else { return }
        switch answer.opcode {
        case HCICommands.LESetExtendedAdvertisingParameters.opcode, HCICommands.LESetExtendedAdvertisingParametersV2.opcode:
            let parameters = DynamicPDU(hci: command)
            guard let set = parameters[Self.handle]?.int else { return }
            if parameters["Scan_Request_Notification_Enable"]?.int != 0 {
                wanted.insert(set)
            } else if wanted.remove(set) != nil {
                changed = [set]
            }
        case HCICommands.LERemoveAdvertisingSet.opcode:
            if let set = DynamicPDU(hci: command)[Self.handle]?.int, wanted.remove(set) != nil { changed = [set] }
        case HCICommands.LEClearAdvertisingSets.opcode:
            changed = wanted
            wanted = []
        default: break
        }
    }

    /// The set of a notification that the host does not want; nil for any other event.
    func unwanted(_ event: HCIPacket) -> Int? {
        guard event.id == HCIEvents.LEScanRequestReceived.id, let set = DynamicPDU(hci: event)[Self.handle]?.int, !changed.contains(set),
            !wanted.contains(set)
        else { return nil }
        return set
    }

    private static let handle = "Advertising_Handle"
}
