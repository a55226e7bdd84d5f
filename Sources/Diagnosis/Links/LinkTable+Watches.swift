import BBCapture
import BBCases
import BBL2CAP
import BBPackets
import BBTraffic

/// Conclusions from several packets of a link, of a host, or of several links.
extension LinkTable {
    mutating func observe(_ observations: [Observation], link: Int? = nil) {
        for observation in observations {
            let device = observation.device.map { number(of: $0) }
            conclude(observation.conclusion, observation.fields, packet: observation.packet, link: link, device: device)
        }
    }

    mutating func observe(_ observation: Observation?, link: Int? = nil) {
        if let observation { observe([observation], link: link) }
    }

    // MARK: Host and controller

    /// Watches a command of a host.
    mutating func watch(command: HCIPacket, interface: Int, link: Int?) {
        duties[interface]?.sent(command)
        controllerRules[interface, default: ControllerRules(isOfBench: isOfBench)].sent(command)
        identities.note(command)
        scans[interface, default: ScanWatch()].sent(command, at: now)
        observe(commands[interface, default: CommandWatch()].sent(command, at: now))
        controllers[interface, default: ControllerWatch()].sent(command, at: now)
        if command.commandOpcode == HCICommands.SetControllerToHostFlowControl.opcode { hasHostBuffers = true }
        let dialled = dials[interface, default: Dials()].sent(command, identities, at: now)
        let owner = link.flatMap { open[$0]?.keyOwner }
        observe(dialled, link: link)
        observe(keys[interface, default: KeyBook()].sent(command, owner: owner), link: link)
    }

    /// Watches an event before the links follow it.
    mutating func watch(event: HCIPacket, interface: Int) {
        if event.eventCode == HCIEvents.DisconnectionComplete.code, duties[interface] != nil, let handle = event.connectionHandle {
            let entry = open.values.first { $0.link.handle == handle && $0.interface == interface }
            observe(duties[interface]?.ended(handle.rawValue, entry?.link.peer, at: now) ?? [], link: entry?.report.number)
        }
        duties[interface, default: HostDuties()].received(event, at: now)
        if var scan = scans[interface] {
            observe(scan.received(event, at: now) { isBusy(interface) })
            scans[interface] = scan
        }
        watch(controllerOf: event, interface: interface)
        observe(dials[interface, default: Dials()].received(event, at: now))
        observe(controllerRules[interface]?.received(event, at: now))
        observe(commands[interface]?.received(event) ?? nil)
        if event.id == HCIEvents.LELongTermKeyRequest.id {
            let entry = open.values.first { $0.link.handle == event.connectionHandle && $0.interface == interface }
            keys[interface, default: KeyBook()].received(event, owner: entry?.keyOwner)
        }
    }

    /// Watches what a controller holds, allows and ends.
    private mutating func watch(controllerOf event: HCIPacket, interface: Int) {
        let dial = dials[interface]?.openDial
        let found = controllers[interface, default: ControllerWatch()].received(event, dial: dial, at: now)
        observe(found.observations)
        guard let (stream, owner) = found.stream else { return }
        let entry = open.values.first { $0.link.handle?.rawValue == owner && $0.interface == interface }
        observe(stream, link: entry?.report.number)
    }

    /// Watches a packet of voice.
    mutating func watch(voice packet: HCIPacket, isOut: Bool) {
        observe(controllers[interface]?.streams.count(packet, isOut: isOut) ?? nil)
    }

    /// Counts data from a controller to its host.
    mutating func watch(dataIn packet: HCIPacket) {
        guard hasHostBuffers, let handle = packet.aclHeader?.handle else { return }
        controllers[interface]?.buffers.received(handle.rawValue, at: now)
    }

    /// Nil if a controller has no connection of LE; true if it makes one.
    private func isBusy(_ interface: Int) -> Bool? {
        guard open.values.contains(where: { $0.interface == interface && $0.link.kind == .le }) else { return nil }
        return dials[interface]?.isDialling ?? false
    }

    /// Watches the status of an SDU, which stands in its first fragment from the controller. Core Vol 4, Part E, 5.4.5.
    mutating func watch(iso packet: HCIPacket) {
        let start = packet.kind.headerLength
        guard packet.bytes.count >= start + 4 else { return }
        let flags = packet.bytes[start - 3] >> 4
        let (isFirst, hasTime) = (flags & 1 == 0, flags & 4 != 0)
        let position = start + (hasTime ? 4 : 0)
        guard isFirst, packet.bytes.count >= position + 4 else { return }
        let status = packet.bytes[position + 3] >> 6
        guard status == 1 || status == 2 else { return }
        let sequence = Int(packet.bytes[position]) | Int(packet.bytes[position + 1]) << 8
        conclude(
            .isoLost, [("Packet_Status", .text(status == 1 ? "possibly with errors" : "lost")), ("Sequence", .number(sequence))])
    }

    mutating func checkDuties() {
        for interface in duties.keys.sorted() { observe(duties[interface]?.overdue(at: now) ?? []) }
        for interface in controllers.keys.sorted() { observe(controllers[interface]?.overdue(at: now) ?? []) }
    }

    // MARK: Links

    /// Watches a PDU on a link.
    mutating func watch(_ layer: DecodedLayer, on channel: UInt16?, from sender: PacketSender?, _ entry: Entry) {
        let link = entry.report.number
        switch layer.layer {
        case .smp:
            identities.note(layer, link: link)
            keys[entry.interface, default: KeyBook()].note(layer, link: link, owner: entry.keyOwner)
            guard let sender, !entry.link.isMerged, entry.link.isComplete else { return }
            observe(entry.pairing.note(layer, from: sender, at: now), link: link)
        case .att:
            guard channel == CID.att else { return }
            if sender != nil { watch(value: layer, entry) }
            guard !entry.link.isMerged else { return }
            observe(entry.values.note(layer, from: sender), link: link)
            observe(entry.declared.note(layer), link: link)
            guard let sender, !entry.link.isOnAir, !isCut else { return }
            observe(entry.answers.note(layer, from: sender, isAlone: open.count == 1, at: now), link: link)
            observe(entry.mtus.note(layer, from: sender), link: link)
        case .l2capSignaling:
            guard let sender else { return }
            observe(entry.channels.note(layer, from: sender, to: sender.other, at: now), link: entry.link.isComplete ? link : nil)
            let refused = offers.note(layer, link: link, from: sender, owner: owner(sender, entry))
            observe(refused, link: link)
        case .l2cap:
            guard let sender, let channel, CID.dynamic.contains(channel), layer.summary == "", !entry.link.isMerged else { return }
            observe(entry.channels.data(layer, on: channel, to: sender.other, at: now), link: link)
            watch(device: layer, on: channel, from: sender, entry)
        case .rfcommFrames:
            guard let sender, !entry.link.isMerged else { return }
            if entry.link.isComplete {
                observe(entry.serial.count(layer, from: sender, to: sender.other, at: now), link: link)
            }
            guard let refusal = entry.serial.note(layer, from: sender, to: sender.other, at: now) else { return }
            if refusal.layer == "RFCOMM", let frame = RFCOMMFrameView(layer.bytes[layer.range]) {
                observe(offers.refused(dlci: frame.dlci, by: owner(sender, entry)), link: link)
            }
            conclude(refusal, from: sender, link: link, device: nil)
        case .rfcomm: if let sender { entry.serial.note(negotiation: layer, from: sender) }
        case .avctp, .avrcpCommands, .avrcpResponses:
            guard let sender, !entry.link.isMerged else { return }
            // The frame of AVRCP stands behind the headers of AVCTP and AV/C.
            let start = layer.range.lowerBound - (layer.layer == .avctp ? 0 : Self.controlHeader)
            guard start >= 0 else { return }
            observe(entry.control.note(layer.bytes[start..<layer.range.upperBound], layer.name, from: sender, at: now), link: link)
        default: break
        }
    }

    mutating func observeSubscriptions(_ entry: Entry) {
        guard let device = entry.report.device else { return }
        let found = subscriptions.ended(
            entry.link, device: device, entry.values, isEncrypted: entry.report.security.contains { $0.text == "encrypted" }, at: now)
        observe(found, link: entry.report.number)
    }

    /// A PDU of ATT has at most ATT_MTU octets, 23 before an exchange. Core Vol 3, Part F, 3.2.8 and 3.2.9.
    private mutating func watch(value layer: DecodedLayer, _ entry: Entry) {
        let (octets, mtu) = (layer.range.count, entry.link.mtu ?? 23)
        guard octets >= mtu, entry.link.kind == .le, entry.link.isComplete, !entry.link.isMerged, !entry.link.isOnAir else { return }
        let isValue = [ATT.HandleValueNtf.id, ATT.HandleValueInd.id].contains(layer.id)
        if octets == mtu, entry.link.mtu == nil, isValue {
            conclude(.valueFillsMTU, [("PDU", .text(layer.name))], link: entry.report.number)
        }
        guard octets > mtu else { return }
        conclude(
            .valueTooLong, [("PDU", .text(layer.name)), ("Octets", .number(octets)), ("MTU", .number(mtu))], link: entry.report.number)
    }

    mutating func conclude(_ refusal: Refusal, from sender: PacketSender?, link: Int?, device: Int?) {
        var event = DiagnosisEvent(name: "", sender: sender, packet: now.packet, time: now.time, record: CaseRecord())
        event.role = link.flatMap { open[$0]?.report.localRole }
        conclude(.refused, refusal.fields + [("From", .text(event.side))], link: link, device: device)
    }

    /// Compares the supervision timeout with the longest time between two packets of a peripheral. Core Vol 6, Part B, 4.5.2.
    mutating func watch(parametersOf link: Link) {
        guard let parameters = link.parameters, parameters.supervisionTimeout > 0 else { return }
        let effective = parameters.intervalTime.rawValue * (Int64(parameters.latency) + 1)
        guard link.timeout <= 2 * effective else { return }
        conclude(
            .timeoutTooShort, [("Timeout", .milliseconds(link.timeout)), ("Effective", .milliseconds(effective))], link: link.number)
    }

    // MARK: Ends

    /// Events in which an answer is not late.
    private static let events: Int64 = 10

    /// Concludes that a request had no answer until the link ended, or for too long.
    mutating func concludeLeftOpen(_ request: LinkRequest, _ link: Link, _ ending: LinkEvent.Ending?) {
        // A peripheral with latency listens seldom, and an instant lies six events ahead. Core Vol 6, Part B, 4.5.1 and 5.5.
        let event = (link.parameters?.intervalTime.rawValue ?? 0) * (Int64(link.parameters?.latency ?? 0) + 1)
        let time = now.time - request.sent.time
        guard ending == nil || time < HostDuties.soon || time >= Self.events * event else { return }
        let waited = ("Waited", CaseValue.milliseconds(now.time - request.sent.time))
        let (name, packet, number) = (CaseValue.text(request.name), request.sent.packet, link.number)
        let ended = ("Ended", CaseValue.text(ending?.side ?? "no"))
        let from = ("From", CaseValue.text(request.sender.map { isOwn($0, link) ? "local" : "peer" } ?? "unknown"))
        switch request.kind {
        case .attribute:
            conclude(.attUnanswered, [("Request", name), waited, from, ended], packet: packet, link: number)
        case .control: conclude(.llUnanswered, [("Request", name), waited], packet: packet, link: number)
        case .procedure: conclude(.procedureUnanswered, [("Request", name), waited], packet: packet, link: number)
        case .pairing:
            // Cross-transport key derivation over BR/EDR ends with its last key. Core Vol 3, Part H, 2.3.5.7.
            guard link.kind == .le else { return }
            conclude(.pairingAbandoned, [("Last", name), waited], packet: packet, link: number)
        case .signal:
            guard link.isComplete, !link.isMerged else { return }
            conclude(.requestUnanswered, [("Request", name), waited, from, ended], packet: packet, link: number)
        case .command: break
        }
    }

    /// True for the local end of a link.
    func isOwn(_ sender: PacketSender, _ link: Link) -> Bool {
        guard let role = link.localRole else { return sender == .local }
        return sender == (role == .central ? .central : .peripheral)
    }

    mutating func concludeAfterEnd(_ ended: Moment, _ sender: PacketSender?) {
        conclude(
            .dataAfterEnd,
            [
                ("Waited", .milliseconds(now.time - ended.time)), ("From", .text(sender == .local ? "host" : "controller")),
            ])
    }
}

extension PacketSender {
    /// The other end of a link.
    var other: PacketSender {
        switch self {
        case .central: .peripheral
        case .peripheral: .central
        case .host: .controller
        case .controller: .host
        case .local: .peer
        case .peer: .local
        }
    }
}

extension LinkEvent.Ending {
    /// The side that ended the link, as a controller reports it.
    fileprivate var side: String {
        switch self {
        case .disconnected(.connectionTerminatedByLocalHost): "local"
        case .disconnected(.remoteUserTerminatedConnection), .disconnected(.remoteDeviceTerminatedConnectionDueToLowResources),
            .disconnected(.remoteDeviceTerminatedConnectionDueToPowerOff):
            "peer"
        case .disconnected, .terminated, .silent, .replaced, .early, .reset: "other"
        }
    }
}
