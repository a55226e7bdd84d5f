import BBHCI
import BBL2CAP
import BBPackets
import BBTraffic

/// Decodes the HCI traffic of one controller: version, connections, and the PDUs on them.
struct ControllerTraffic {
    /// Company identifier from Read_Local_Version_Information, for names of vendor commands.
    private var company: UInt16? { didSet { if company != oldValue { lines = KnownLines() } } }
    private var lines = KnownLines()
    private var tracker = ConnectionTracker()
    private var connections: [UInt16: ConnectionTraffic] = [:]

    /// Names of devices and attributes; nil if they are not shown.
    private var peers: PeerNames?
    /// Attributes of devices that were connected before.
    private var known: [UInt64: AttributeNames] = [:]

    private static let mostConnections = 1_024
    private static let mostKnown = 64

    init(names: Bool = false) { peers = names ? PeerNames() : nil }

    mutating func decode(_ packet: HCIPacket, _ direction: CaptureDirection?) -> DecodedPacket {
        follow(packet, isShown: false)
        defer { follow(packet, isShown: true) }
        return describe(packet, direction)
    }

    private mutating func describe(_ packet: HCIPacket, _ direction: CaptureDirection?) -> DecodedPacket {
        switch packet.kind {
        case .command: return DecodedPacket(layers: [DecodedLayer(hci: packet, vendor: .company(company))])
        case .event:
            var event = DecodedLayer(hci: packet, vendor: .company(company))
            note(event)
            nameEncryption(&event)
            namePeer(&event)
            return DecodedPacket(layers: [event])
        case .iso: return Self.isochronousData(packet)
        case .sco:
            var layer = DecodedLayer(hci: packet)
            if let handle = layer.fields.named("Connection_Handle") {
                layer.summary = "SCO \(handle.text) \(layer.fields.named("Data")?.range.count ?? 0) octets"
            }
            return DecodedPacket(layers: [layer])
        case .acl: return data(packet, direction)
        }
    }

    /// Writes the text line of a packet; uses a cache if its octets and names determine the text.
    mutating func write(_ packet: HCIPacket, _ direction: CaptureDirection?, to text: inout TextBuffer) {
        follow(packet, isShown: false)
        defer { follow(packet, isShown: true) }
        guard let names = names(in: packet, direction) else { return describe(packet, direction).write(to: &text) }
        if let line = lines[packet, names] { return text.write(utf8: line) }
        let start = text.utf8.count
        describe(packet, direction).write(to: &text)
        lines[packet, names] = Array(text.utf8[start...])
    }

    /// The names in the line of a packet; nil if the line also depends on other packets.
    private mutating func names(in packet: HCIPacket, _ direction: CaptureDirection?) -> LineNames? {
        switch packet.kind {
        case .command: return LineNames()
        case .event:
            guard packet.id?.effect != .changes(.encryption) else { return nil }
            guard let peers else { return LineNames() }
            return LineNames(
                peer: (packet.connectionHandle?.rawValue).flatMap(peerName), learned: PeerNames.areShown(by: packet) ? peers.learned : 0)
        case .sco, .iso: return nil
        case .acl:
            guard let header = packet.aclHeader, header.boundary == .first || header.boundary == .firstNonFlushable else { return nil }
            let payload = packet.bytes.span.bytes.extracting(ACLHeader.octets...)
            guard payload.byteCount == header.length else { return nil }
            return connections[header.handle.rawValue]?.names(inPacket: payload, LinkDirection(direction), peers)
        }
    }

    private mutating func note(_ event: DecodedLayer) {
        peers?.note(event)
        guard event.id == HCIEvents.CommandComplete.id, let company = event.returns.named("Company_Identifier")?.int else { return }
        self.company = UInt16(truncatingIfNeeded: company)
    }

    /// Names the algorithm of Encryption_Enabled 0x01: E0 on BR/EDR, AES-CCM on LE. Core Vol 4, Part E, 7.7.8.
    private func nameEncryption(_ event: inout DecodedLayer) {
        guard event.id?.effect == .changes(.encryption), let handle = event.fields.named("Connection_Handle")?.int,
            let kind = tracker[ConnectionHandle(UInt16(truncatingIfNeeded: handle))]?.kind, kind == .classic || kind == .le,
            event.fields.named("Encryption_Enabled")?.int == 1
        else { return }
        event.label("Encryption_Enabled", as: kind == .classic ? "On_E0" : "On_AES_CCM")
    }

    /// Follows the connections. An end counts after its event is shown: with the name of the peer.
    private mutating func follow(_ packet: HCIPacket, isShown: Bool) {
        guard packet.kind == .event, (packet.eventCode == HCIEvents.DisconnectionComplete.code) == isShown,
            let change = try? tracker.received(packet)
        else { return }
        switch change {
        case .opened(let connection): open(connection.handle.rawValue)
        case .closed(let handle, _): end(handle.rawValue)
        case .reset: for handle in connections.keys { end(handle) }
        case .failed, .parametersChanged, .physChanged, .dataLengthChanged, .encryptionRequested, .encryptionChanged, .keyRefreshed: break
        }
    }

    private mutating func open(_ handle: UInt16) {
        end(handle)
        let peer = tracker[ConnectionHandle(handle)]?.peer
        if connections.count >= Self.mostConnections { connections.removeAll() }
        let names = peer.flatMap { known[$0.value] } ?? AttributeNames()
        connections[handle] = ConnectionTraffic(peer: peer, names: peers == nil ? nil : names)
    }

    // MARK: Names

    private mutating func namePeer(_ event: inout DecodedLayer) {
        guard peers != nil, let handle = event.fields.named("Connection_Handle")?.int, let name = peerName(UInt16(handle & 0x0FFF)) else {
            return
        }
        event.label("Connection_Handle", as: "\(Hex.number(UInt16(truncatingIfNeeded: handle), bits: 16)) (\(name))")
    }

    private func peerName(_ handle: UInt16) -> String? { connections[handle]?.peerName(peers) }

    /// Keeps the attributes of a peer for its next connection.
    private mutating func end(_ handle: UInt16) {
        guard let ended = connections.removeValue(forKey: handle), let peer = ended.peer, let names = ended.names else { return }
        if let name = names.deviceName { peers?.set(name, of: peer.value) }
        if known[peer.value] == nil, known.count >= Self.mostKnown { known.removeAll() }
        known[peer.value] = names.ofPeer
    }

    /// The start of an SDU has fields before its octets. Core Vol 4, Part E, 5.4.5.
    private static func isochronousData(_ packet: HCIPacket) -> DecodedPacket {
        var header = DecodedLayer(hci: packet)
        guard let load = header.fields.named("ISO_Data_Load")?.range, let flag = header.fields.named("PB_Flag"),
            flag.int.map({ $0 & 1 == 0 }) == true,
            let handle = header.fields.named("Connection_Handle"),
            let declaration = PDUCatalog.declaration(layer: .isoLoads, code: header.fields.named("TS_Flag")?.int ?? 0)
        else { return DecodedPacket(layers: [header]) }
        header.summary = "ISO \(handle.text) \(flag.text.lowercased())"
        return DecodedPacket(layers: [header, DecodedLayer(declaration, packet.bytes, load)])
    }

    private mutating func data(_ packet: HCIPacket, _ direction: CaptureDirection?) -> DecodedPacket {
        guard let header = packet.aclHeader else { return .summary("ACL data, too short: \(Hex.octets(packet.bytes))", packet.bytes) }
        let data = ACLHeader.octets..<packet.bytes.count
        let handle = header.handle.rawValue
        if connections[handle] == nil { open(handle) }
        var decoded = DecodedPacket(layers: [DecodedLayer(hci: packet)])
        let way = LinkDirection(direction)
        let isCut = Int(header.length) > data.count
        if isCut {
            connections[handle]?.receiveCut(header.boundary, packet.bytes, data, way, to: &decoded)
        } else {
            connections[handle]?.receive(header.boundary, packet.bytes, data, way, to: &decoded)
        }
        let summary = TextBuffer.text { text in
            text.write("ACL ")
            text.write(hex: UInt64(handle), bits: 16)
            if let name = peerName(handle) { text.write(" (\(name))") }
            if decoded.layers.count == 1 || decoded.layers.contains(where: { $0.layer == .l2capFragment }) {
                text.write(" \(header.boundary == .continuing ? "continued" : "first") \(data.count) octets")
            }
            if isCut { text.write(" (cut: \(data.count) of \(header.length) octets)") }
            if Int(header.length) < data.count { text.write(" (header says \(header.length))") }
        }
        decoded.layers[0].problem = nil
        decoded.layers[0].summary = summary
        return decoded
    }
}

extension LinkDirection {
    fileprivate init(_ direction: CaptureDirection?) {
        self = direction.map { $0 == .hostToController ? .forth : .back } ?? .unknown
    }
}

extension DecodedPacket {
    /// Describes a PDU taken from a connection's channel in the same form as the packet that contained it.
    public init(connection: UInt16, channel: UInt16, pdu: [UInt8]) {
        let text = "ACL \(Hex.number(connection, bits: 16))"
        let length = UInt16(truncatingIfNeeded: pdu.count)
        let whole = [UInt8(truncatingIfNeeded: length), UInt8(length >> 8), UInt8(truncatingIfNeeded: channel), UInt8(channel >> 8)] + pdu
        var traffic = ConnectionTraffic()
        layers = [DecodedLayer(named: text, of: .hciData, whole, 0..<0, summary: text)]
        traffic.receive(.first, whole, 0..<whole.count, .back, to: &self)
    }

    /// Describes a decoded layer of a connection's channel.
    public init(connection: UInt16, channel: UInt16, _ layer: DecodedLayer) {
        let text = "ACL \(Hex.number(connection, bits: 16)) L2CAP channel \(Hex.number(channel, bits: 16))"
        layers = [DecodedLayer(named: text, of: .hciData, layer.bytes, 0..<0, summary: text), layer]
    }
}
