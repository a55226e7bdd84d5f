import HCI
import Packets

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

    mutating func decode(_ packet: HCIPacket, _ direction: CaptureDirection) -> DecodedPacket {
        switch packet.kind {
        case .command: return DecodedPacket(layers: [DecodedLayer(hci: packet, vendor: .company(company))])
        case .event:
            var event = DecodedLayer(hci: packet, vendor: .company(company))
            note(event)
            nameEncryption(&event)
            let isEnd = packet.eventCode == HCIEvents.DisconnectionComplete.code
            if isEnd { namePeer(&event) }
            if let change = try? tracker.received(packet) { follow(change) }
            if !isEnd { namePeer(&event) }
            return DecodedPacket(layers: [event])
        case .iso: return DecodedPacket(layers: [DecodedLayer(hci: packet)])
        case .sco:
            var layer = DecodedLayer(hci: packet)
            if let handle = layer.fields.named("Connection_Handle") {
                layer.summary = "SCO \(handle.text) \(layer.fields.named("Data")?.range.count ?? 0) octets"
            }
            return DecodedPacket(layers: [layer])
        case .acl: return data(packet, direction)
        }
    }

    /// Writes the text line of a packet; uses a cache if only the packet's octets determine the text.
    mutating func write(_ packet: HCIPacket, _ direction: CaptureDirection, to text: inout TextBuffer) {
        guard isKnownByOctets(packet, direction) else { return decode(packet, direction).write(to: &text) }
        if let line = lines[packet] {
            text.write(utf8: line)
            if packet.kind == .event, let change = try? tracker.received(packet) { follow(change) }
        } else {
            let start = text.utf8.count
            decode(packet, direction).write(to: &text)
            lines[packet] = Array(text.utf8[start...])
        }
    }

    private func isKnownByOctets(_ packet: HCIPacket, _ direction: CaptureDirection) -> Bool {
        switch packet.kind {
        case .command: return true
        case .event: return !Self.encryptionChanges.contains(packet.eventCode ?? 0)
        case .sco, .iso: return false
        case .acl:
            guard let header = packet.aclHeader, header.boundary == .first || header.boundary == .firstNonFlushable else { return false }
            let payload = packet.bytes.span.bytes.extracting(ACLHeader.octets...)
            guard payload.byteCount == header.length, let connection = connections[header.handle.rawValue] else { return false }
            return connection.isWholePDU(ofFixedChannel: payload)
                && connection.isBetweenPDUs(direction == .hostToController ? .forth : .back)
        }
    }

    private mutating func note(_ event: DecodedLayer) {
        // Lines with names depend on more than the octets of their packets.
        if peers?.note(event) == true { lines = KnownLines() }
        guard event.name == "Command_Complete", let company = event.returns.named("Company_Identifier")?.int else { return }
        self.company = UInt16(truncatingIfNeeded: company)
    }

    private static let encryptionChanges: Set<UInt8> = [HCIEvents.EncryptionChange.code, HCIEvents.EncryptionChangeV2.code]

    /// Names the algorithm of Encryption_Enabled 0x01: E0 on BR/EDR, AES-CCM on LE. Core Vol 4, Part E, 7.7.8.
    private func nameEncryption(_ event: inout DecodedLayer) {
        guard event.name.hasPrefix("Encryption_Change"), let handle = event.fields.named("Connection_Handle")?.int,
            let kind = tracker[ConnectionHandle(UInt16(truncatingIfNeeded: handle))]?.kind, kind == .classic || kind == .le,
            event.fields.named("Encryption_Enabled")?.int == 1
        else { return }
        event.label("Encryption_Enabled", as: kind == .classic ? "On_E0" : "On_AES_CCM")
    }

    private mutating func follow(_ change: ConnectionChange) {
        switch change {
        case .opened(let connection): open(connection.handle.rawValue, peer: connection.peer)
        case .closed(let handle, _):
            connections[handle.rawValue] = nil
            if peers != nil { lines = KnownLines() }
        case .reset: connections.removeAll()
        case .failed, .parametersChanged, .physChanged, .dataLengthChanged, .encryptionRequested, .encryptionChanged, .keyRefreshed: break
        }
    }

    private mutating func open(_ handle: UInt16, peer: DeviceAddress? = nil) {
        if connections[handle] == nil, connections.count >= Self.mostConnections { connections.removeAll() }
        guard peers != nil else {
            connections[handle] = ConnectionTraffic()
            return
        }
        connections[handle] = ConnectionTraffic(names: peer.flatMap { known[$0.value] } ?? AttributeNames())
        lines = KnownLines()
    }

    // MARK: Names

    private mutating func namePeer(_ event: inout DecodedLayer) {
        guard peers != nil, let handle = event.fields.named("Connection_Handle")?.int, let name = peerName(UInt16(handle & 0x0FFF)) else {
            return
        }
        event.label("Connection_Handle", as: "\(Hex.number(UInt16(truncatingIfNeeded: handle), bits: 16)) (\(name))")
    }

    private func peerName(_ handle: UInt16) -> String? {
        tracker[ConnectionHandle(handle)]?.peer.flatMap { peers?[$0.value] }
    }

    /// Keeps what an ATT PDU has shown of the peer.
    private mutating func keepNames(_ handle: UInt16, _ bytes: [UInt8], _ layers: [DecodedLayer]) {
        guard let pdu = layers.last, pdu.layer == .att, AttributeNames.isDiscovery(UInt8(truncatingIfNeeded: pdu.code)),
            let peer = tracker[ConnectionHandle(handle)]?.peer, let names = connections[handle]?.names
        else { return }
        if known[peer.value] == nil, known.count >= Self.mostKnown { known.removeAll() }
        known[peer.value] = names.ofPeer
        if let name = names.deviceName { _ = peers?.set(name, of: peer.value) }
        lines = KnownLines()
    }

    private mutating func data(_ packet: HCIPacket, _ direction: CaptureDirection) -> DecodedPacket {
        guard let header = packet.aclHeader else { return .summary("ACL data, too short: \(Hex.octets(packet.bytes))", packet.bytes) }
        let data = ACLHeader.octets..<packet.bytes.count
        let handle = header.handle.rawValue
        if connections[handle] == nil { open(handle) }
        let upper = connections[handle]?.receive(header.boundary, packet.bytes, data, direction == .hostToController ? .forth : .back) ?? []
        var layer = DecodedLayer(hci: packet)
        layer.problem = nil
        layer.summary = "ACL \(Hex.number(handle, bits: 16))"
        if peers != nil {
            keepNames(handle, packet.bytes, upper)
            if let name = peerName(handle) { layer.summary? += " (\(name))" }
        }
        if upper.isEmpty || upper.contains(where: { $0.layer == .l2capFragment }) {
            layer.summary? += " \(header.boundary == .continuing ? "continued" : "first") \(data.count) octets"
        }
        if Int(header.length) != data.count { layer.summary? += " (header says \(header.length))" }
        return DecodedPacket(layers: [layer] + upper)
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
        layers += traffic.receive(.first, whole, 0..<whole.count, .back)
    }

    /// Describes a decoded layer of a connection's channel.
    public init(connection: UInt16, channel: UInt16, _ layer: DecodedLayer) {
        let text = "ACL \(Hex.number(connection, bits: 16)) L2CAP channel \(Hex.number(channel, bits: 16))"
        layers = [DecodedLayer(named: text, of: .hciData, layer.bytes, 0..<0, summary: text), layer]
    }
}
