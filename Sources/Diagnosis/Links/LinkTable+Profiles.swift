import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// Conclusions from PDUs of profiles, from fragments and from malformed PDUs, and from the last refusal on a link.
extension LinkTable {
    static let controlHeader = 6
    /// Layers whose PDUs every end of a link makes whole.
    private static let judged: Set<Layer> = [.att, .smp, .l2capSignaling]

    /// Watches a PDU of a profile, or one that does not fit its declaration.
    mutating func watchProfile(_ layer: DecodedLayer, from sender: PacketSender?, _ entry: Entry) {
        guard let sender, !isCut, !entry.link.isMerged, !entry.link.isOnAir else { return }
        let link = entry.report.number
        if let problem = layer.problem, Self.judged.contains(layer.layer), layer.declaration != nil {
            conclude(.pduMalformed, [("PDU", .text(layer.name)), ("Problem", .text(problem.description))], link: link)
        }
        if layer.layer == .avdtp { observe(entry.streams.note(layer, from: sender), link: link) }
        guard layer.layer == .sdp else { return }
        for name in ["Attribute_Lists", "Attribute_List"] {
            guard let field = layer.fields.named(name), field.range.upperBound <= layer.bytes.count else { continue }
            offers.note(records: layer.bytes[field.range], of: owner(sender, entry))
        }
    }

    /// The device at one end of a link.
    func owner(_ sender: PacketSender, _ entry: Entry) -> OfferBook.Owner {
        isOwn(sender, entry.link)
            ? .init(device: nil, interface: entry.interface)
            : .init(device: entry.report.device ?? -entry.report.number, interface: entry.interface)
    }

    /// Watches a packet before it is followed. Core Vol 4, Part E, 5.4.2.
    mutating func watch(fragment packet: HCIPacket, isOut: Bool, _ followed: Followed) {
        guard let link = followed.link, let entry = open[link.number], link.isComplete, !link.isMerged else { return }
        if isCut { return entry.fragments.forget(isOut: isOut) }
        if isOut { observe(controllers[entry.interface]?.lengths.sent(packet, isLE: link.kind == .le) ?? nil, link: link.number) }
        observe(entry.fragments.note(packet, isOut: isOut, isLE: link.kind == .le, at: now), link: link.number)
    }

    /// Watches the control channel of a human interface device.
    mutating func watch(device header: DecodedLayer, on channel: UInt16, from sender: PacketSender, _ entry: Entry) {
        guard entry.link.kind == .classic, entry.channels.port(of: channel, to: sender.other) == HumanInterfaceWatch.control,
            header.range.upperBound < header.bytes.count,
            let refusal = entry.human.note(header.bytes[header.range.upperBound], from: sender, at: now)
        else { return }
        conclude(refusal, from: sender, link: entry.report.number, device: nil)
    }

    // MARK: Refusals

    /// Concludes that an answer does not fit the request.
    mutating func concludeAnswer(_ conclusion: Conclusion, _ answer: Int, to request: LinkRequest, _ link: Link) {
        guard link.isComplete, !link.isMerged, let response = PDUCatalog.declaration(layer: .att, code: answer) else { return }
        conclude(
            conclusion, [("Layer", .text("ATT")), ("Answer", .text(response.name)), ("Request", .text(request.name))], link: link.number)
    }

    /// The time in which an end follows from what was refused before it.
    private static let atOnce: Int64 = 1_000_000
    /// Results that say that the other end lacks something, which is harmless.
    private static let harmless: Set<String> = [
        "Request_Not_Supported", "Unsupported_Group_Type", "Unsupported_Remote_Feature", "Unsupported_Feature_Or_Parameter_Value",
        "Unknown_LMP_PDU", "Command_Not_Understood", "Not_Supported", "Refused_PSM_Not_Supported", "Refused_SPSM_Not_Supported",
    ]
    /// The layers whose refusals may end a link.
    static let endable: Set<String> = ["ATT", "HCIEvents", "L2CAPSignaling"]

    /// A host that commands something else, or whose controller reports something else of the link, goes on after a refusal.
    func noteProgress(_ pdu: DecodedLayer, _ entry: Entry) {
        let own = [
            HCICommands.Disconnect.id, HCIEvents.DisconnectionComplete.id, HCIEvents.CommandStatus.id, HCIEvents.CommandComplete.id,
            HCIEvents.NumberOfCompletedPackets.id,
        ]
        guard entry.refusal?.sender == .controller, let id = pdu.id, !own.contains(id) else { return }
        entry.refusal = nil
    }

    /// True for a PDU of the end that was refused something.
    func goesOn(_ sender: PacketSender, after refuser: PacketSender?, _ link: Link) -> Bool {
        refuser == .controller ? isOwn(sender, link) : refuser == sender.other
    }

    /// Concludes that the end which was refused something ends the link at once.
    mutating func concludeRefusal(at ending: LinkEvent.Ending, _ entry: Entry) {
        guard let (refusal, sender, sent) = entry.refusal, now.time - sent.time < Self.atOnce, entry.link.isComplete, !entry.link.isMerged,
            Self.harmless.contains(refusal.result)
        else { return }
        let isByUs: Bool
        switch ending {
        case .disconnected(.connectionTerminatedByLocalHost): isByUs = true
        case .disconnected(.remoteUserTerminatedConnection): isByUs = false
        default: return
        }
        // A controller reports what its peer lacks.
        guard let sender, sender == .controller ? isByUs : isOwn(sender, entry.link) != isByUs else { return }
        conclude(
            .endedAfterRefusal,
            [
                ("Request", .text(refusal.request)), ("Result", .text(refusal.result)), ("Waited", .milliseconds(now.time - sent.time)),
                ("From", .text(isByUs ? "host" : "peer")),
            ], packet: sent.packet, link: entry.report.number)
    }
}

extension LinkTable.Entry {
    /// The owner of the keys of the link's peer.
    var keyOwner: Int { report.device ?? -report.number }

    /// Requests and senders that wait on the link's channels at its end, or at the end of the capture.
    func waiting(at now: Moment) -> [Observation] {
        channels.ended(at: now) + serial.ended(at: now) + control.ended(at: now) + human.ended(at: now)
    }
}
