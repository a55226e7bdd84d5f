import BBPackets
import BBTransport

/// Bulk Serialization mode of a dongle: the setting of the HCI interface, and the host's packets. Core Vol 4, Part B, 7.
struct SerialisedEnd {
    /// Alternate setting of the HCI interface; 1 is Bulk Serialization mode.
    var alternate: UInt8 = 0
    /// Takes the packets of the host from its transfers.
    private(set) var framer: SerialisedFramer
    /// Number of changes of the mode.
    var switches = 0
    /// Voice that the host had not fetched when it left the mode; it waits for a setting of the voice interface.
    var waitingVoice: [HCIPacket] = []

    init(packetSize: Int) { framer = SerialisedFramer(from: .host, packetSize: packetSize) }

    /// The packets of a transfer.
    mutating func packets(of transfer: [UInt8]) -> [HCIPacket] {
        var packets: [HCIPacket] = []
        transfer.withUnsafeBytes { framer.append($0) { packets.append($0) } }
        return packets
    }

    mutating func restart() { framer.restart() }
}

extension USBDongle {
    /// True in Bulk Serialization mode.
    public var isSerialised: Bool { modes.alternate == 1 }
    /// Number of changes of the mode by the host.
    public var modeSwitches: Int { modes.switches }
    /// Number of transfers of the host that were not packets of Bulk Serialization mode.
    public var hostFaults: Int { modes.framer.faults }

    var hasEventEndpoint: Bool { !isSerialised || conduct.serialised.hasEventsOnInterrupt }

    func alternate(of interface: UInt8) -> UInt8 {
        switch interface {
        case descriptors.voiceInterface: voice.alternate
        case descriptors.firstInterface: modes.alternate
        default: 0
        }
    }

    func isOnInterrupt(_ packet: HCIPacket) -> Bool {
        guard packet.kind == .event else { return false }
        return isSerialised ? conduct.serialised.hasEventsOnInterrupt : !isBootLoaders(packet)
    }

    func serialised(_ packet: HCIPacket) -> [UInt8] {
        switch conduct.serialised.indicator {
        case nil: packet.serialised
        case .missing: packet.bytes
        case .wrong: [packet.kind.rawValue | 0x80] + packet.bytes
        case .doubled: [packet.kind.rawValue] + packet.serialised
        case .voiceAsData: packet.kind == .sco ? [HCIPacket.Kind.acl.rawValue] + packet.bytes : packet.serialised
        }
    }

    /// True if the voice interface takes an alternate setting. In Bulk Serialization mode it does not take another one.
    func takesVoice(_ alternate: UInt8) -> Bool {
        guard !conduct.refusesVoice || alternate == 0 else { return false }
        return !isSerialised || alternate == voice.alternate || conduct.serialised.missingRefusal == .voice
    }

    /// Handles the host's selection of a setting of the HCI interface; false for a stall.
    func selectMode(_ alternate: UInt8) -> Bool {
        guard alternate != modes.alternate else {
            wakeEvents()
            return true
        }
        if alternate == 1, conduct.serialised.isRefused { return false }
        guard voice.alternate == 0 || isSerialised || conduct.serialised.missingRefusal == .mode else { return false }
        select(mode: alternate)
        modes.switches += 1
        return true
    }

    /// The end of a control request; nil if it stays open.
    func ended(_ completion: USBCompletion, of request: USBRequest) -> USBCompletion? {
        let isRefused = completion.status == .stall && (isSerialised || voice.alternate != 0)
        let isSetting = request.setup.prefix(2) == [0x01, 11]
        guard isRefused, isSetting || USBSetup(request.setup)?.isClassRequest == true else { return completion }
        switch conduct.serialised.refusalEnd {
        case .stall: return completion
        case .error: return USBCompletion(id: request.id, status: .protocolError)
        case .silent: return control.leaveOpen(request.id) ? nil : completion
        }
    }

    /// Changes the mode. The requests of the former endpoints end. Packets that the host has not fetched go to the new endpoints, in the order
    /// in which they came; a packet fetched in part goes there whole. Core Vol 4, Part B, 1.1.
    func select(mode alternate: UInt8) {
        guard alternate != modes.alternate else { return }
        let waiting = modes.waitingVoice + (events.takePackets() + data.takePackets()).sorted { $0.number < $1.number }.map(\.packet)
        let requests = events.takePending() + data.takePending()
        control.clear(0x80 | descriptors.endpoints.events, 0x80 | descriptors.endpoints.data, descriptors.endpoints.data)
        modes.alternate = alternate
        modes.restart()
        modes.waitingVoice = []
        prepareEndpoints()
        if !isSerialised { events.isDead = false }
        for id in requests { finish(USBCompletion(id: id, status: .shutdown)) }
        for packet in handedOver(waiting) {
            if packet.kind == .sco, !isSerialised { modes.waitingVoice.append(packet) } else { queue(packet) }
        }
    }

    /// The program or driver that used an interface has left; the system selects its setting 0, as Linux does.
    func wasReleased(interface: UInt8) {
        guard alternate(of: interface) != 0 else { return }
        if interface == descriptors.firstInterface { _ = selectMode(0) } else { setVoice(0) }
    }

    func setVoice(_ alternate: UInt8) {
        voice.set(alternate: alternate)
        guard alternate != 0 else { return }
        for packet in modes.waitingVoice { _ = voice.put(packet) }
        modes.waitingVoice = []
    }

    private func handedOver(_ packets: [HCIPacket]) -> [HCIPacket] {
        switch conduct.serialised.pending {
        case nil: packets
        case .lost: []
        case .eventsLost: packets.filter { $0.kind != .event }
        case .doubled: packets.flatMap { [$0, $0] }
        case .reversed: packets.reversed()
        }
    }
}
