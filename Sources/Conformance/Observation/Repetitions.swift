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
        guard let code = event.eventCode, Self.events.contains(Self.key(Int(code), event.leSubevent.map(Int.init))),
            !Self.isFailure(event)
        else {
            if event.eventCode != HCIEvents.NumberOfCompletedPackets.code { last = [] }
            return false
        }
        defer { last = event.bytes }
        return event.bytes == last
    }

    /// A procedure may fail more than once.
    private static func isFailure(_ event: HCIPacket) -> Bool { DynamicPDU(hci: event)["Status"]?.int ?? 0 != 0 }

    private static func key(_ code: Int, _ subevent: Int?) -> Int { code << 8 | (subevent ?? 0) }

    private static let names: Set<String> = [
        // Questions, which the host has not answered yet.
        HCIEvents.ConnectionRequest.name, HCIEvents.PINCodeRequest.name, HCIEvents.LinkKeyRequest.name, HCIEvents.IOCapabilityRequest.name,
        HCIEvents.UserConfirmationRequest.name, HCIEvents.UserPasskeyRequest.name, HCIEvents.RemoteOOBDataRequest.name,
        HCIEvents.LELongTermKeyRequest.name, HCIEvents.LERemoteConnectionParameterRequest.name,
        // Changes, and steps of a procedure.
        HCIEvents.RoleChange.name, HCIEvents.ModeChange.name, HCIEvents.ConnectionPacketTypeChanged.name,
        HCIEvents.ChangeConnectionLinkKeyComplete.name, HCIEvents.LinkKeyNotification.name,
        HCIEvents.IOCapabilityResponse.name, HCIEvents.UserPasskeyNotification.name, HCIEvents.SimplePairingComplete.name,
        HCIEvents.RemoteHostSupportedFeaturesNotification.name, HCIEvents.QoSSetupComplete.name, HCIEvents.LoopbackCommand.name,
        HCIEvents.LEConnectionUpdateComplete.name, HCIEvents.LEScanTimeout.name, HCIEvents.LEAdvertisingSetTerminated.name,
        HCIEvents.LEReadRemoteFeaturesComplete.name, HCIEvents.LEChannelSelectionAlgorithm.name,
    ]
    private static let events: Set<Int> = Set(
        PDUCatalog.all.lazy.filter { $0.layer == .hciEvents && names.contains($0.name) }.map { key($0.code, $0.subevent) })
}
