import BBCases
import BBPackets
import BBTraffic

/// The voice connections that a host leaves open, and the refusals of further ones. Core Vol 4, Part E, 7.1.26 and 7.1.45.
struct VoiceWatch {
    private struct Voice {
        var handle: Int
        var device: Int128
        var since: Moment
    }

    private var open: [Voice] = []
    /// The devices of the BR/EDR connections.
    private var devices: [Int: Int128] = [:]
    private var asked: Int128?

    private static let most = 64
    private static let setups: Set<PDUID> = [
        HCICommands.SetupSynchronousConnection.id, HCICommands.EnhancedSetupSynchronousConnection.id,
    ]
    /// Connection_Limit_Exceeded, Synchronous_Connection_Limit_To_A_Device_Exceeded and Connection_Rejected_Due_To_Limited_Resources.
    private static let limits: Set<Int> = [0x09, 0x0A, 0x0D]

    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> [Observation] {
        guard let id = pdu.id else { return [] }
        if pdu.layer == .hciCommands {
            if id == HCICommands.Reset.id { self = VoiceWatch() }
            if Self.setups.contains(id) { asked = pdu.fields.named("Connection_Handle")?.int.flatMap { devices[$0] } }
            return []
        }
        guard let status = pdu.fields.named("Status")?.int else { return [] }
        if let command = pdu.command {
            return Self.setups.contains(command.id) ? refused(status, by: asked) : []
        }
        let handle = pdu.fields.named("Connection_Handle")?.int
        let device = pdu.fields.named("BD_ADDR")?.integer
        switch id {
        case HCIEvents.ConnectionComplete.id:
            if status == 0, let handle, let device, devices.count < Self.most { devices[handle] = device }
        case HCIEvents.DisconnectionComplete.id:
            guard status == 0, let handle else { return [] }
            open.removeAll { $0.handle == handle || $0.device == devices[handle] }
            devices[handle] = nil
        case HCIEvents.SynchronousConnectionComplete.id:
            guard let device else { return [] }
            if status != 0 { return refused(status, by: device) }
            if let handle, open.count < Self.most { open.append(Voice(handle: handle, device: device, since: now)) }
        default: break
        }
        return []
    }

    private func refused(_ status: Int, by device: Int128?) -> [Observation] {
        guard Self.limits.contains(status), let device, let voice = open.last(where: { $0.device == device }) else { return [] }
        return [
            Observation(
                .voiceNotClosed, [("Handle", .text(Hex.number(voice.handle, bits: 16))), ("Since", .number(voice.since.packet))],
                device: DeviceAddress(value: UInt64(truncatingIfNeeded: device), kind: .public))
        ]
    }
}
