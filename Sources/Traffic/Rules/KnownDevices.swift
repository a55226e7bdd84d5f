import BBHCI
import BBPackets

/// The BR/EDR devices that a controller's host knows: those that it has named in a command, and those that a connection was reported of.
///
/// Events about pairing, keys and roles concern no other device. Core Vol 4, Part E, 7.7.
struct KnownDevices: Sendable {
    private var known: Set<Int128> = []
    /// True if devices may connect without the host being told.
    private var hasStrangers = false

    mutating func reset() { self = KnownDevices() }

    mutating func sent(_ command: HCIPacket) {
        switch command.commandOpcode {
        case HCICommands.SetEventFilter.opcode: hasStrangers = true
        case HCICommands.SetEventMask.opcode:
            let mask = (try? command.command(as: HCICommands.SetEventMask.self))?.eventMask
            hasStrangers = mask?.isSuperset(of: [.connectionRequest, .connectionComplete]) != true
        default: if let address = DynamicPDU(hci: command)[Self.address]?.integer { known.insert(address) }
        }
    }

    /// Returns true for an event about a device that the host does not know.
    mutating func isAboutStranger(_ event: HCIPacket) -> Bool {
        guard let id = event.id, !hasStrangers else { return false }
        let introduces = Self.introductions.contains(id)
        guard introduces || Self.events.contains(id), let address = DynamicPDU(hci: event)[Self.address]?.integer else { return false }
        if introduces { known.insert(address) }
        return !known.contains(address)
    }

    static let address = "BD_ADDR"

    private static let introductions: Set<PDUID> = [HCIEvents.ConnectionRequest.id, HCIEvents.ConnectionComplete.id]
    private static let events: Set<PDUID> = [
        HCIEvents.PINCodeRequest.id, HCIEvents.LinkKeyRequest.id, HCIEvents.LinkKeyNotification.id,
        HCIEvents.IOCapabilityRequest.id, HCIEvents.IOCapabilityResponse.id, HCIEvents.UserConfirmationRequest.id,
        HCIEvents.UserPasskeyRequest.id, HCIEvents.RemoteOOBDataRequest.id, HCIEvents.SimplePairingComplete.id,
        HCIEvents.UserPasskeyNotification.id, HCIEvents.KeypressNotification.id, HCIEvents.RoleChange.id,
        HCIEvents.RemoteHostSupportedFeaturesNotification.id,
    ]
}
