import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// The watches of one controller and its host that compare two packets.
///
/// A class, because its copies for every packet would cost time.
final class AdapterComparisons {
    var activity = ActivityWatch()
    var buffers = BufferWatch()
    var periodic = PeriodicWatch()
    var reports = ReportWatch()
    var voice = VoiceWatch()
    var directed = DirectedWatch()
}

/// The watches of one link that compare two packets.
struct LinkComparisons {
    var claims = ClaimWatch()
    var collisions = CollisionWatch()
    var repetitions = RepetitionWatch()
    var order = StreamOrderWatch()
    var configurations = ConfigurationWatch()
    var resolution = ResolutionReads()
    /// The packet that refuses what the peer claims to support.
    var untrue: Int?
}

extension LinkTable {
    /// Compares a command or an event with those before it.
    mutating func compare(_ pdu: DecodedLayer, link: Int?) {
        guard pdu.layer == .hciCommands || pdu.layer == .hciEvents else { return }
        let adapter = comparisons[interface] ?? AdapterComparisons()
        comparisons[interface] = adapter
        let found =
            adapter.activity.note(pdu, at: now) + adapter.periodic.note(pdu, at: now) + adapter.reports.note(pdu, at: now)
            + adapter.voice.note(pdu, at: now) + adapter.directed.note(pdu, at: now)
        observe(found + adapter.buffers.note(pdu, at: now))
        guard let entry = link.flatMap({ open[$0] }), !entry.link.isMerged, entry.link.kind == .le else { return }
        let untrue = entry.comparisons.claims.note(event: pdu, isPeripheral: entry.link.localRole == .peripheral, at: now)
        if untrue != nil { entry.comparisons.untrue = now.packet }
        observe([untrue, entry.comparisons.collisions.note(pdu, at: now)].compactMap(\.self), link: link)
    }

    /// Compares a packet of the host with the buffers of its controller.
    mutating func compare(sent packet: HCIPacket, _ link: Link?) {
        let isKnown = link.map { $0.isComplete && !$0.isMerged } ?? false
        let found = comparisons[interface]?.buffers.sent(packet, isLE: isKnown ? link?.kind == .le : nil, at: now)
        // What a controller does then is no fault of its own.
        if found?.conclusion == .aclTooLong { controllerRules[interface]?.excuse() }
        observe([found].compactMap(\.self), link: link?.number)
    }

    /// Compares a PDU on a link with those before it.
    mutating func compare(_ layer: DecodedLayer, from sender: PacketSender, _ entry: Entry) {
        guard layer.declaration != nil, !entry.link.isMerged else { return }
        let link = entry.report.number
        switch layer.layer {
        case .att:
            entry.comparisons.repetitions.note(layer, from: sender, at: now)
            guard let (server, resolves) = entry.comparisons.resolution.note(layer, from: sender), !isOwn(server, entry.link),
                let peer = entry.link.peer
            else { return }
            comparisons[entry.interface]?.directed.note(identities.identity(of: peer) ?? peer, resolves: resolves)
        case .l2capSignaling:
            entry.comparisons.order.note(signal: layer, from: sender, at: now)
            observe([entry.comparisons.configurations.note(layer, from: sender, at: now)].compactMap(\.self), link: link)
        case .avdtp: observe([entry.comparisons.order.note(stream: layer, from: sender, at: now)].compactMap(\.self), link: link)
        case .llControl:
            observe(
                [
                    entry.comparisons.claims.note(control: layer, from: sender, at: now),
                    entry.comparisons.collisions.note(control: layer, from: sender, at: now),
                ].compactMap(\.self), link: link)
        default: break
        }
    }

    /// Concludes from a request of the peer that had no answer that the host lacks buffers.
    mutating func compare(leftOpen request: LinkRequest, _ link: Link) {
        guard request.kind == .attribute || request.kind == .signal, let sender = request.sender, !isOwn(sender, link),
            now.time - request.sent.time >= HostDuties.soon, let entry = open[link.number]
        else { return }
        let found = comparisons[entry.interface]?.buffers.lost(since: request.sent.time, isLE: link.kind == .le)
        observe([found].compactMap(\.self), link: link.number)
    }

    mutating func compare(endOf entry: Entry) {
        guard entry.link.isComplete, !entry.link.isOnAir, !entry.link.isMerged else { return }
        observe(entry.comparisons.repetitions.ended(at: now), link: entry.report.number)
    }

    /// Concludes at the end of the capture.
    mutating func finishComparisons() {
        for number in open.keys.sorted() { if let entry = open[number] { compare(endOf: entry) } }
        for interface in comparisons.keys.sorted() {
            var found = comparisons[interface]?.activity.finish() ?? []
            found += comparisons[interface]?.reports.end(now) ?? []
            observe(found)
        }
    }
}
