import BBCases
import BBPackets
import BBTraffic

/// Events that a host has to answer with a command. Core Vol 4, Part E, 7.7.
struct HostDuties {
    private struct Duty: Hashable {
        var event: PDUID
        /// The handle or the address in the event.
        var subject: ArraySlice<UInt8>
    }

    private var open: [Duty: Moment] = [:]

    private static let most = 256
    /// The longest time for which a controller waits for its host: LMP response timeout and that of the link layer. Core Vol 6, Part B, 5.2.
    private static let limit: Int64 = 30_000_000
    /// A host that lets a link end so soon after an event may not have had the time.
    static let soon: Int64 = 2_000_000

    private static let answers: [PDUID: [PDUID]] = [
        HCIEvents.LELongTermKeyRequest.id: [
            HCICommands.LELongTermKeyRequestReply.id, HCICommands.LELongTermKeyRequestNegativeReply.id,
        ],
        HCIEvents.LERemoteConnectionParameterRequest.id: [
            HCICommands.LERemoteConnectionParameterRequestReply.id, HCICommands.LERemoteConnectionParameterRequestNegativeReply.id,
        ],
        HCIEvents.LinkKeyRequest.id: [HCICommands.LinkKeyRequestReply.id, HCICommands.LinkKeyRequestNegativeReply.id],
        HCIEvents.PINCodeRequest.id: [HCICommands.PINCodeRequestReply.id, HCICommands.PINCodeRequestNegativeReply.id],
        HCIEvents.IOCapabilityRequest.id: [
            HCICommands.IOCapabilityRequestReply.id, HCICommands.IOCapabilityRequestNegativeReply.id,
        ],
        HCIEvents.UserConfirmationRequest.id: [
            HCICommands.UserConfirmationRequestReply.id, HCICommands.UserConfirmationRequestNegativeReply.id,
        ],
        HCIEvents.UserPasskeyRequest.id: [
            HCICommands.UserPasskeyRequestReply.id, HCICommands.UserPasskeyRequestNegativeReply.id,
        ],
        HCIEvents.ConnectionRequest.id: [
            HCICommands.AcceptConnectionRequest.id, HCICommands.RejectConnectionRequest.id,
            HCICommands.AcceptSynchronousConnectionRequest.id, HCICommands.RejectSynchronousConnectionRequest.id,
            HCICommands.EnhancedAcceptSynchronousConnectionRequest.id,
        ],
    ]
    private static let events: [PDUID: PDUID] = answers.reduce(into: [:]) { events, row in
        for command in row.value { events[command] = row.key }
    }
    private static let addressed: Set<PDUID> = [
        HCIEvents.LinkKeyRequest.id, HCIEvents.PINCodeRequest.id, HCIEvents.IOCapabilityRequest.id, HCIEvents.UserConfirmationRequest.id,
        HCIEvents.UserPasskeyRequest.id, HCIEvents.ConnectionRequest.id,
    ]

    /// Events that a user answers, who needs time.
    private static let byUser: Set<PDUID> = [
        HCIEvents.UserConfirmationRequest.id, HCIEvents.UserPasskeyRequest.id, HCIEvents.PINCodeRequest.id,
    ]

    private static func subject(_ packet: HCIPacket, _ event: PDUID) -> ArraySlice<UInt8>? {
        let start = packet.kind.headerLength + (packet.leSubevent == nil ? 0 : 1)
        let count = addressed.contains(event) ? 6 : 2
        return packet.bytes.count >= start + count ? packet.bytes[start..<start + count] : nil
    }

    mutating func sent(_ command: HCIPacket) {
        if command.id == HCICommands.Reset.id { open = [:] }
        guard !open.isEmpty, let event = command.id.flatMap({ Self.events[$0] }), let subject = Self.subject(command, event) else { return }
        open[Duty(event: event, subject: subject)] = nil
    }

    /// The codes of the events, for a first look.
    private static let codes = Set(answers.keys.map(\.code) + [HCIEvents.SimplePairingComplete.id.code])

    mutating func received(_ event: HCIPacket, at now: Moment) {
        guard let code = event.eventCode, Self.codes.contains(Int(code)) else { return }
        if event.id == HCIEvents.SimplePairingComplete.id { pairingEnded(event) }
        guard let id = event.id, Self.answers[id] != nil, let subject = Self.subject(event, id) else { return }
        if open.count >= Self.most { open.removeAll() }
        open[Duty(event: id, subject: subject)] = now
    }

    /// The peer may cancel a pairing: then nobody waits for the host's user any more. Core Vol 4, Part E, 7.7.45.
    private mutating func pairingEnded(_ event: HCIPacket) {
        let start = event.kind.headerLength + 1
        guard !open.isEmpty, event.bytes.count >= start + 6 else { return }
        let address = event.bytes[start..<start + 6]
        open = open.filter { $0.key.event == HCIEvents.ConnectionRequest.id || !$0.key.subject.elementsEqual(address) }
    }

    /// The events of a link that its host left unanswered until it ended.
    mutating func ended(_ handle: UInt16, _ peer: DeviceAddress?, at now: Moment) -> [Observation] {
        guard !open.isEmpty else { return [] }
        let handleOctets: [UInt8] = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        let concerned = open.filter { $0.key.subject.elementsEqual(handleOctets) || $0.key.subject.elementsEqual(peer?.octets ?? []) }
        for duty in concerned.keys { open[duty] = nil }
        func limit(_ event: PDUID) -> Int64 { Self.byUser.contains(event) ? Self.limit : Self.soon }
        return concerned.filter { now.time - $0.value.time >= limit($0.key.event) }.map { Self.observation($0.key, $0.value, now) }
    }

    /// The events that have waited for too long. Each is returned once.
    mutating func overdue(at now: Moment) -> [Observation] {
        guard !open.isEmpty else { return [] }
        let overdue = open.filter { now.time - $0.value.time > Self.limit }
        for duty in overdue.keys { open[duty] = nil }
        return overdue.map { Self.observation($0.key, $0.value, now) }
    }

    private static func observation(_ duty: Duty, _ sent: Moment, _ now: Moment) -> Observation {
        Observation(
            .hostUnanswered, [("Event", .text(duty.event.name)), ("Waited", .milliseconds(now.time - sent.time))], packet: sent.packet)
    }
}
