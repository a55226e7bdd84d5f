import BBHCI
import BBPackets

/// Finds an event that comes again at once, although it asks the host something or reports a change. Core Vol 4, Part E, 7.7.
///
/// Two equal events count only if no other event came and no command was sent between them.
struct Repetitions: Sendable {
    private var last: [UInt8] = []

    mutating func reset() { last = [] }

    /// A command, after which the same event may come again.
    mutating func sent() { last = [] }

    /// Returns true for a repetition.
    mutating func isRepeated(_ event: HCIPacket) -> Bool {
        guard let id = event.id, Self.events.contains(id), !Self.isFailure(event) else {
            if event.eventCode != HCIEvents.NumberOfCompletedPackets.code { last = [] }
            return false
        }
        defer { last = event.bytes }
        return event.bytes == last
    }

    /// A procedure may fail more than once.
    private static func isFailure(_ event: HCIPacket) -> Bool { DynamicPDU(hci: event)["Status"]?.int ?? 0 != 0 }

    private static let events: Set<PDUID> = [
        // Questions, which the host has not answered yet.
        HCIEvents.ConnectionRequest.id, HCIEvents.PINCodeRequest.id, HCIEvents.LinkKeyRequest.id, HCIEvents.IOCapabilityRequest.id,
        HCIEvents.UserConfirmationRequest.id, HCIEvents.UserPasskeyRequest.id, HCIEvents.RemoteOOBDataRequest.id,
        HCIEvents.LELongTermKeyRequest.id, HCIEvents.LERemoteConnectionParameterRequest.id,
        // Changes, and steps of a procedure.
        HCIEvents.RoleChange.id, HCIEvents.ModeChange.id, HCIEvents.ConnectionPacketTypeChanged.id,
        HCIEvents.ChangeConnectionLinkKeyComplete.id, HCIEvents.LinkKeyNotification.id,
        HCIEvents.IOCapabilityResponse.id, HCIEvents.UserPasskeyNotification.id, HCIEvents.SimplePairingComplete.id,
        HCIEvents.RemoteHostSupportedFeaturesNotification.id, HCIEvents.QoSSetupComplete.id, HCIEvents.LoopbackCommand.id,
        HCIEvents.LEConnectionUpdateComplete.id, HCIEvents.LEScanTimeout.id, HCIEvents.LEAdvertisingSetTerminated.id,
        HCIEvents.LEReadRemoteFeaturesComplete.id, HCIEvents.LEChannelSelectionAlgorithm.id,
    ]
}
