import BBHCI
import BBPackets

/// Follows the links of one controller, and the commands to it, from the packets between it and its host.
///
/// Its memory is bounded. Links that were open before the first packet are followed from their first data on.
public struct HCIFollower {
    private struct Sent {
        var request: LinkRequest
        var link: Link?
    }

    private var tracker = ConnectionTracker()
    private var links: [ConnectionHandle: Link] = [:]
    private var commands: [UInt16: Sent] = [:]
    /// Commands that events without a link complete, since their status.
    private var procedures: [UInt16: LinkRequest] = [:]
    /// When the last connection of a handle ended.
    private var ended: [ConnectionHandle: Moment] = [:]
    /// True if the packets contain answers to commands at all.
    private var hasAnswers = false
    /// Buffers of the controller for ACL data; those of BR/EDR serve LE, too, if there are no others.
    private var buffers: (classic: Int?, le: Int?)
    private var hasCompletions = false
    /// The open link whose handle the last answer calls unknown.
    private var missed: Link?

    private static let commandTimeout: Int64 = 5_000_000
    private static let mostCommands = 256
    private static let mostLinks = 1_024
    /// A controller may pass on data before the event that opens their connection.
    private static let earlyData: Int64 = 100_000
    /// A controller may not complete what the peer has not acknowledged, which may take as long as the supervision timeout.
    private static let shortTimeout: Int64 = 5_000_000
    /// Some answers to vendor commands are vendor events.
    private static let firstVendorOpcode: UInt16 = 0xFC00
    /// Only an error in it has an answer. Core Vol 4, Part E, 7.3.40.
    private static let withoutAnswer = HCICommands.HostNumberOfCompletedPackets.opcode
    /// Handles on which controllers send their own log: 0x0EDC those of Qualcomm, the others those of MediaTek.
    private static let logHandles: Set<ConnectionHandle> = [0x0EDC, 0x05FE, 0x05FF]

    public init() {}

    // MARK: Commands

    /// Follows a command to the controller.
    public mutating func sent(_ command: HCIPacket, at moment: Moment) -> Followed {
        var followed = Followed()
        followed.sender = .host
        guard let opcode = command.commandOpcode else { return followed }
        followed.link = command.connectionHandle.flatMap { links[$0] }
        _ = tracker.sent(command)
        if commands.count < Self.mostCommands, opcode < Self.firstVendorOpcode, opcode != Self.withoutAnswer,
            PDUCatalog.command(opcode: opcode) != nil
        {
            let request = LinkRequest(kind: .command, layer: .hciCommands, code: Int(opcode), sent: moment)
            commands[opcode] = Sent(request: request, link: followed.link)
        }
        if let link = followed.link, command.id?.isCompletedOnItsLink == true {
            link.requests.procedures[opcode] = LinkRequest(kind: .procedure, layer: .hciCommands, code: Int(opcode), sent: moment)
        }
        return followed
    }

    /// The commands that had no answer for too long. Each is returned once.
    public mutating func unanswered(at time: Int64) -> [LinkRequest] {
        var unanswered: [LinkRequest] = []
        for (opcode, command) in commands where time - command.request.sent.time > Self.commandTimeout {
            commands[opcode] = nil
            if hasAnswers { unanswered.append(command.request) }
        }
        return unanswered
    }

    /// The commands whose procedures had no end for too long. Each is returned once.
    public mutating func incomplete(at time: Int64) -> [LinkRequest] {
        guard !procedures.isEmpty else { return [] }
        let overdue = procedures.filter { time - $0.value.sent.time > $0.value.limit ?? .max }
        for opcode in overdue.keys { procedures[opcode] = nil }
        return overdue.values.sorted { $0.sent.packet < $1.sent.packet }
    }

    /// The links whose controller completes no packets. Each is returned once.
    public func stalled(at time: Int64) -> [LinkEvent] {
        links.values.compactMap { stalls($0, at: time) ? LinkEvent(link: $0, kind: .stalled) : nil }
    }

    private func stalls(_ link: Link, at time: Int64) -> Bool {
        link.buffers.stalls(at: time - max(0, link.timeout - Self.shortTimeout), hasCompletions: hasCompletions)
    }

    // MARK: Events

    /// Follows an event of the controller.
    public mutating func received(_ event: HCIPacket, at moment: Moment) -> Followed {
        var followed = Followed()
        followed.sender = .controller
        var answered: Link?
        missed = nil
        if let answer = (try? CommandAnswer(event: event)) ?? nil { answered = take(answer) }
        noteLoopback(event)
        if let missed { followed.after.append(LinkEvent(link: missed, kind: .endMissed)) }
        if !procedures.isEmpty { for command in event.id?.completes ?? [] { procedures[UInt16(truncatingIfNeeded: command.code)] = nil } }
        let change = (try? tracker.received(event)) ?? nil
        open(change, at: moment, &followed)
        followed.link = event.connectionHandle.flatMap { links[$0] } ?? answered
        completed(event, at: moment.time)
        noteAdvertising(event, at: moment.time)
        guard let link = followed.link else { return followed }
        settle(event, link)
        if case .closed(let handle, let reason) = change {
            links[handle] = nil
            if ended.count >= Self.mostLinks { ended.removeAll() }
            ended[handle] = moment
            // What the peer does not acknowledge is not completed either.
            if reason != .connectionTimeout, stalls(link, at: moment.time) { followed.after.append(LinkEvent(link: link, kind: .stalled)) }
            followed.after += link.end(.disconnected(reason), at: moment.time)
        } else {
            apply(change, to: link, &followed)
            if event.isSignOfPeer { link.signs.heard(at: moment) }
        }
        return followed
    }

    /// Follows an answer. Returns the link whose values it contains.
    private mutating func take(_ answer: CommandAnswer) -> Link? {
        hasAnswers = true
        let command = commands.removeValue(forKey: answer.opcode)
        // A refused command starts no procedure.
        if answer.status != .success, let link = command?.link, link.requests.procedures[answer.opcode]?.sent == command?.request.sent {
            link.requests.procedures[answer.opcode] = nil
        }
        if answer.status == .unknownConnectionIdentifier, let link = command?.link, links.values.contains(where: { $0 === link }) {
            missed = link
        }
        if answer.kind == .status, answer.status == .success, let request = command?.request, request.limit != nil {
            procedures[answer.opcode] = LinkRequest(kind: .procedure, layer: .hciCommands, code: request.code, sent: request.sent)
        }
        answer.note(totalBuffers: &buffers)
        return answer.kind == .complete ? command?.link : nil
    }

    /// In local loopback a command comes back as an event, without an answer. Core Vol 4, Part E, 7.6.2 and 7.7.25.
    private mutating func noteLoopback(_ event: HCIPacket) {
        guard event.eventCode == HCIEvents.LoopbackCommand.code else { return }
        if let opcode = HCIPacket(.command, Array(event.parameters)).commandOpcode { commands[opcode] = nil }
    }

    /// Links that the event opens, and those that it ends without an event of their own.
    private mutating func open(_ change: ConnectionChange?, at moment: Moment, _ followed: inout Followed) {
        switch change {
        case .failed(.le, _), .failed(.classic, _): followed.opens = true
        case .opened(let state) where state.kind == .le || state.kind == .classic:
            followed.opens = true
            let before = links[state.handle]
            if let before {
                let isEarly = !before.isComplete && moment.time - before.opened.time < Self.earlyData
                followed.before += isEarly ? [LinkEvent(link: before, kind: .ended(.early))] : before.end(.replaced, at: moment.time)
            }
            ended[state.handle] = nil
            let link = Link(state.kind == .le ? .le : .classic, peer: state.peer, isComplete: true, at: moment)
            link.localRole = state.role
            link.isMerged = state.role != nil && before?.localRole.map { $0 != state.role } ?? false
            link.parameters = state.parameters
            add(link, state.handle)
            followed.before.append(LinkEvent(link: link, kind: .opened))
            if state.parameters != nil { followed.before.append(LinkEvent(link: link, kind: .parameters)) }
        case .reset:
            for link in links.values.sorted(by: { $0.number < $1.number }) { followed.before += link.end(.reset, at: moment.time) }
            (links, ended, procedures) = ([:], [:], [:])
        default: break
        }
    }

    private mutating func add(_ link: Link, _ handle: ConnectionHandle) {
        if links[handle] == nil, links.count >= Self.mostLinks { links.removeAll() }
        link.handle = handle
        links[handle] = link
    }

    /// Ends the procedures that an event completes.
    private func settle(_ event: HCIPacket, _ link: Link) {
        guard !link.requests.procedures.isEmpty else { return }
        for command in event.id?.completes ?? [] { link.requests.procedures[UInt16(truncatingIfNeeded: command.code)] = nil }
    }

    private func apply(_ change: ConnectionChange?, to link: Link, _ followed: inout Followed) {
        switch change {
        case .parametersChanged(_, let parameters):
            link.parameters = parameters
            followed.after.append(LinkEvent(link: link, kind: .parameters))
        case .physChanged(_, let phys):
            link.phys = ByEnd(link.localRole, own: phys.tx, others: phys.rx)
            followed.after.append(LinkEvent(link: link, kind: .phys))
        case .dataLengthChanged(_, let length):
            link.octets = ByEnd(link.localRole, own: Int(length.txOctets), others: Int(length.rxOctets))
            followed.after.append(LinkEvent(link: link, kind: .length))
        case .encryptionChanged(_, let isOn, let status): link.setEncryption(isOn, status, &followed.after)
        case .keyRefreshed(_, let status): link.setEncryption(true, status, &followed.after)
        case .opened, .failed, .closed, .reset, .encryptionRequested, nil: break
        }
    }

    private mutating func completed(_ event: HCIPacket, at time: Int64) {
        guard event.eventCode == HCIEvents.NumberOfCompletedPackets.code else { return }
        hasCompletions = true
        let links = links
        _ = HCIEvents.NumberOfCompletedPackets.forEach(in: event) { handle, count in
            guard let link = links[handle] else { return }
            link.buffers.completed(count, at: time)
            link.signs.completed(at: time)
        }
    }

    /// A device that advertises again has left its link. Core Vol 6, Part B, 4.5.
    private func noteAdvertising(_ event: HCIPacket, at time: Int64) {
        guard !links.isEmpty, let subevent = event.leSubevent else { return }
        let addresses: [BDADDR]
        switch subevent {
        case HCIEvents.LEAdvertisingReport.subevent:
            addresses = (try? event.event(as: HCIEvents.LEAdvertisingReport.self))?.reports.map(\.address) ?? []
        case HCIEvents.LEExtendedAdvertisingReport.subevent:
            addresses = (try? event.event(as: HCIEvents.LEExtendedAdvertisingReport.self))?.reports.map(\.address) ?? []
        default: return
        }
        for link in links.values {
            guard let peer = link.peer?.value, addresses.contains(where: { $0.rawValue == peer }) else { continue }
            link.signs.advertised = time
        }
    }

    // MARK: Data

    /// Follows an ACL packet.
    ///
    /// - Parameters:
    ///   - isOut: nil if the capture has no directions.
    ///   - layers: the packet as it was decoded, with the PDUs that it completes.
    ///   - channel: the L2CAP channel of these PDUs.
    public mutating func data(
        _ packet: HCIPacket, isOut: Bool?, _ layers: [DecodedLayer], on channel: UInt16?, at moment: Moment
    ) -> Followed {
        var followed = Followed()
        guard let handle = packet.aclHeader?.handle else { return followed }
        if links[handle] == nil {
            guard isOut == true || !Self.logHandles.contains(handle) else { return followed }
            if let ended = ended[handle] {
                followed.ended = ended
                followed.sender = isOut.map { $0 ? .local : .peer }
                return followed
            }
            let link = Link(.le, isComplete: false, at: moment)
            add(link, handle)
            tracker.adopt(handle)
            followed.before.append(LinkEvent(link: link, kind: .opened))
        }
        guard let link = links[handle] else { return followed }
        if isOut == true {
            link.buffers.sent(at: moment.time, of: link.kind == .le ? buffers.le ?? buffers.classic : buffers.classic)
        } else {
            link.signs.heard(at: moment)
        }
        followed.link = link
        let sender: PacketSender? = isOut.map { isOut in
            link.localRole.map { isOut == ($0 == .central) ? .central : .peripheral } ?? (isOut ? .local : .peer)
        }
        followed.sender = sender
        followed.after = link.follow(layers, on: channel, from: sender, at: moment)
        return followed
    }
}

extension PDUID {
    /// True for a command that an event of the same connection completes: an event that opens a link has the handle of that.
    fileprivate var isCompletedOnItsLink: Bool {
        let events = completedBy
        return !events.isEmpty && !events.contains { if case .opens = $0.effect { true } else { false } }
    }
}

extension CommandAnswer {
    /// Notes the buffers for ACL data that the controller has, of an answer that contains their number.
    fileprivate func note(totalBuffers buffers: inout (classic: Int?, le: Int?)) {
        guard kind == .complete, status == .success else { return }
        func positive(_ number: Int?) -> Int? { number.flatMap { $0 > 0 ? $0 : nil } }
        switch opcode {
        case HCICommands.ReadBufferSize.opcode:
            buffers.classic = positive((try? HCICommands.ReadBufferSize.Return(prefixOf: returns)).map { Int($0.totalNumACLDataPackets) })
        case HCICommands.LEReadBufferSize.opcode:
            buffers.le = positive((try? HCICommands.LEReadBufferSize.Return(prefixOf: returns)).map { Int($0.totalNumLEACLDataPackets) })
        case HCICommands.LEReadBufferSizeV2.opcode:
            buffers.le = positive((try? HCICommands.LEReadBufferSizeV2.Return(prefixOf: returns)).map { Int($0.totalNumLEACLDataPackets) })
        default: break
        }
    }
}

extension HCIPacket {
    /// False for an answer of the controller, for an event that reports an error, and for those that report silence.
    fileprivate var isSignOfPeer: Bool {
        guard let id else { return false }
        let own = [
            HCIEvents.DisconnectionComplete.id, HCIEvents.CommandComplete.id, HCIEvents.CommandStatus.id,
            HCIEvents.AuthenticatedPayloadTimeoutExpired.id, HCIEvents.NumberOfCompletedPackets.id,
        ]
        guard !own.contains(id) else { return false }
        guard PDUCatalog.declaration(id)?.fields.first?.name == "Status" else { return true }
        let position = kind.headerLength + (leSubevent == nil ? 0 : 1)
        return bytes.count > position && bytes[position] == 0
    }
}

extension LinkRequest {
    /// The longest time in microseconds that a controller takes to complete the command's procedure: three page timeouts, or the longest
    /// inquiry (Core Vol 4, Part E, 6.6 and 7.1.1). Nil for one that may wait without end, and for one of a single link.
    fileprivate var limit: Int64? {
        let command = PDUID(.hciCommands, code: code)
        guard let event = command.completedBy.first, command.handleOffset == nil || !command.isCompletedOnItsLink else { return nil }
        if [.opens(.le), .opens(.sync), .opens(.group)].contains(event.effect) { return nil }
        switch command {
        case HCICommands.Inquiry.id, HCICommands.CreateConnection.id, HCICommands.RemoteNameRequest.id: return 125_000_000
        default: return 10_000_000
        }
    }
}
