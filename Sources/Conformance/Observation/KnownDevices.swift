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
        guard let code = event.eventCode, !hasStrangers else { return false }
        let introduces = Self.introductions.contains(code)
        guard introduces || Self.events.contains(code), let address = DynamicPDU(hci: event)[Self.address]?.integer else { return false }
        if introduces { known.insert(address) }
        return !known.contains(address)
    }

    static let address = "BD_ADDR"

    private static let introductions: Set<UInt8> = [HCIEvents.ConnectionRequest.code, HCIEvents.ConnectionComplete.code]
    private static let events: Set<UInt8> = [
        HCIEvents.PINCodeRequest.code, HCIEvents.LinkKeyRequest.code, HCIEvents.LinkKeyNotification.code,
        HCIEvents.IOCapabilityRequest.code, HCIEvents.IOCapabilityResponse.code, HCIEvents.UserConfirmationRequest.code,
        HCIEvents.UserPasskeyRequest.code, HCIEvents.RemoteOOBDataRequest.code, HCIEvents.SimplePairingComplete.code,
        HCIEvents.UserPasskeyNotification.code, HCIEvents.KeypressNotification.code, HCIEvents.RoleChange.code,
        HCIEvents.RemoteHostSupportedFeaturesNotification.code,
    ]
}
