import BBBluetoothCrypto
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// One end of a link without a baseband: every message arrives after two slots.
final class LMPWire: LinkTransport {
    var role: LinkRole
    private let loop: RunLoop
    unowned var bench: LMPBench!
    unowned var other: LMPWire!
    weak var delegate: (any LinkTransportDelegate)?
    let name: String
    private(set) var isDetached = false
    private(set) var changes: [BasebandChange] = []
    var protection: (transmit: PayloadEncryption, receive: PayloadEncryption) = (.off, .off)
    var switchesRoles = true

    init(_ name: String, _ role: LinkRole, on loop: RunLoop) {
        self.name = name
        self.role = role
        self.loop = loop
    }

    var slot: UInt32 { UInt32(truncatingIfNeeded: loop.now.rawValue / 625) & 0x7FF_FFFF }

    let clockOffset: UInt16 = 0x1234
    let slotOffset: UInt16 = 777
    /// True if there are free slots for voice.
    var hasRoom = true
    let freeLTAddr: UInt8? = 3
    func freeOffset(every interval: UInt8, slots: Int) -> UInt8? { hasRoom ? 2 : nil }

    func send(lmp pdu: [UInt8]) {
        guard !isDetached else { return }
        let protection = protection.transmit
        bench.note(pdu, from: self)
        guard let arriving = bench.onTheWay(pdu, name) else { return }
        loop.schedule(after: 1_250) { [weak self] in self?.deliver(pdu, arriving, protection) }
    }

    private func deliver(_ sent: [UInt8], _ arriving: [UInt8], _ protection: PayloadEncryption) {
        guard !isDetached, !other.isDetached else { return }
        #expect(protection == other.protection.receive, "\(name) sent what the other side cannot read")
        other.delegate?.transport(other, received: arriving)
        delegate?.transportAcknowledged(self, lmp: sent)
    }

    func apply(_ change: BasebandChange) {
        changes.append(change)
        switch change {
        case .encryption(let new, .transmit): protection.transmit = new
        case .encryption(let new, .receive): protection.receive = new
        case .roleSwitch(let instant, _):
            loop.schedule(at: Microseconds(Int(instant) * 625)) { [weak self] in
                guard let self, !isDetached else { return }
                if switchesRoles { role = role == .central ? .peripheral : .central }
                delegate?.transport(self, made: change, isDone: switchesRoles)
            }
        default: break
        }
    }

    func detach() { isDetached = true }
}

/// The controller of one end: records reports and replies as configured.
final class LMPEnd: ACLConnectionDelegate {
    var linkManagerSettings: LinkManagerSettings
    var connection: ACLConnection!
    let wire: LMPWire
    private(set) var log: [String] = []
    private(set) var failedProofs = 0

    func linkManagerSettings(for peer: BDADDR) -> LinkManagerSettings { linkManagerSettings }

    /// Immediate reply of the host to a report.
    var answers: (ACLReport) -> ACLReply? = { $0 == .connectionRequested ? .acceptsConnection(asCentral: false) : nil }

    init(_ wire: LMPWire, _ settings: LinkManagerSettings) {
        self.wire = wire
        linkManagerSettings = settings
    }

    func connection(_ connection: ACLConnection, reports report: ACLReport) {
        if report == .proofFailed { failedProofs += 1 } else { log.append(LMPBench.text(report)) }
        if let answer = answers(report) { connection.reply(answer) }
    }

    func connection(_ connection: ACLConnection, disconnected reason: ErrorCode) {
        log.append("disconnected \(LMPBench.code(reason))")
    }

    func forget() { log.removeAll() }

    /// The number that this device's user has read on the other device.
    private(set) var entered: UInt32?

    func enter(_ number: UInt32) {
        entered = number
        connection.reply(.passkey(number))
    }
}

/// Two connected link managers in virtual time. A has paged B and is the central at first.
final class LMPBench {
    static let addresses: (a: BDADDR, b: BDADDR) = (0x1122_3344_5566, 0xAABB_CCDD_EEFF)
    static let page0 = LMPFeatures.synchronous.union([
        .threeSlotPackets, .fiveSlotPackets, .encryption, .slotOffset, .timingAccuracy, .roleSwitch, .enhancedRate2M, .enhancedRate3M,
        .pauseEncryption, .simplePairing, .encapsulatedPDU, .extendedPages, .sniff, .adaptiveHoppingPeripheral, .adaptiveHoppingCentral,
    ])

    let loop = RunLoop()
    let a: LMPEnd
    let b: LMPEnd
    /// Sent PDUs: device, transaction, name.
    private(set) var sent: [String] = []
    /// Replacement for a sent PDU; nil to drop it.
    var onTheWay: (_ pdu: [UInt8], _ sender: String) -> [UInt8]? = { pdu, _ in pdu }

    static func settings(_ name: String, page0: LMPFeatures = page0, host: LMPHostFeatures = [.simplePairing, .secureConnections])
        -> LinkManagerSettings
    {
        let padded = Array(name.utf8) + [UInt8](repeating: 0, count: BREDRSettings.nameLength - name.utf8.count)
        let page2: LMPFeaturesPage2 = [.secureConnections, .ping]
        return LinkManagerSettings(
            pages: [page0.rawValue, host.rawValue, page2.rawValue],
            version: RemoteVersion(version: 13, companyIdentifier: 0xFFFF, subversion: 1), name: padded)
    }

    init(a settingsOfA: LinkManagerSettings = settings("A"), b settingsOfB: LinkManagerSettings = settings("B")) {
        a = LMPEnd(LMPWire("A", .central, on: loop), settingsOfA)
        b = LMPEnd(LMPWire("B", .peripheral, on: loop), settingsOfB)
        for (end, other) in [(a, b), (b, a)] {
            end.wire.bench = self
            end.wire.other = other.wire
            let own = end === a ? Self.addresses.a : Self.addresses.b
            let peer = end === a ? Self.addresses.b : Self.addresses.a
            end.connection = ACLConnection(
                ConnectionHandle(1), own: own, peer: peer, transport: end.wire, on: loop,
                secrets: SecretSource(seed: 1, label: own.description, on: loop), delegate: end)
            end.wire.delegate = end.connection
        }
    }

    deinit {
        // Both ends must become idle in any case.
        try? run(70_000_000)
        #expect(a.connection.isAtRest || a.connection.isClosed, "A has something left over")
        #expect(b.connection.isAtRest || b.connection.isClosed, "B has something left over")
        a.connection.abandon()
        b.connection.abandon()
    }

    func run(_ time: Microseconds = 1_000_000) throws {
        let loop = loop
        try loop.run { try await loop.sleep(for: time) }
    }

    /// Establishes the connection and clears the records.
    func connect() throws {
        a.connection.establish()
        try run()
        forget()
    }

    func forget() {
        sent.removeAll()
        a.forget()
        b.forget()
    }

    /// Sends a PDU that the device's link manager does not know of.
    func inject(_ pdu: [UInt8], from end: LMPEnd) { end.wire.send(lmp: pdu) }

    // MARK: Texts

    fileprivate func note(_ pdu: [UInt8], from wire: LMPWire) {
        guard let message = LMPMessage(pdu) else { return sent.append("\(wire.name) \(pdu)") }
        sent.append("\(wire.name)\(message.transaction.rawValue) \(Self.text(message))")
    }

    static func code(_ status: ErrorCode) -> String {
        let digits = String(status.rawValue, radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
    }

    /// Name of a PDU, with the PDU that it responds to.
    static func text(_ message: LMPMessage) -> String {
        if let accepted = message.accepted { return "+\(name(accepted))" }
        if let refusal = LinkManagement.refusal(in: message) { return "-\(name(refusal.opcode?.opcode ?? 0)) \(code(refusal.reason))" }
        return name(of: message.pdu)
    }

    private static func name(of pdu: LMP.Message) -> String { Mirror(reflecting: pdu).children.first?.label ?? "\(pdu)" }

    static func name(_ opcode: UInt16) -> String {
        var reader = ByteReader([UInt8](repeating: 0, count: 17).span.bytes)
        return (try? LMP.Message(opcode: opcode, from: &reader)).map(name) ?? String(opcode)
    }

    static func text(_ report: ACLReport) -> String {
        switch report {
        case .connectionRequested: "connection requested"
        case .connected(let status): "connected \(code(status))"
        case .features(let bits, let status): "features \(String(bits, radix: 16)) \(code(status))"
        case .extendedFeatures(let page, let highest, let bits, let status):
            "features \(page)/\(highest) \(String(bits, radix: 16)) \(code(status))"
        case .version(let version, let status):
            "version \(version.version) \(version.companyIdentifier) \(version.subversion) \(code(status))"
        case .name(let name, let status): "name \(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)) \(code(status))"
        case .clockOffset(let offset, let status): "clock offset \(offset) \(code(status))"
        case .maxSlots(let slots): "slots \(slots)"
        case .switchWanted: "switch wanted"
        case .roleChanged(let role, let status): "\(role) \(code(status))"
        case .qualityOfService(let interval, let status): "polled every \(interval) \(code(status))"
        case .synchronousRequested(let isExtended): isExtended ? "eSCO?" : "SCO?"
        case .synchronousMade(let id, let made):
            "\(made.isExtended ? "eSCO" : "SCO") \(id) \(made.transmitType?.rawValue ?? "-") \(made.interval)+\(made.window) "
                + "\(made.transmitLength)/\(made.receiveLength)"
        case .synchronousFailed(_, let status): "no voice \(code(status))"
        case .synchronousEnded(let id, let reason): "voice \(id) ended \(code(reason))"
        case .modeChanged(let interval, let status): "sniff \(interval.map(String.init) ?? "-") \(code(status))"
        case .linkKeyRequested: "key?"
        case .pinRequested: "PIN?"
        case .ioCapabilityRequested: "IO?"
        case .ioCapabilityResponse(let offer): "IO \(offer.capability.rawValue) \(offer.requirements)"
        case .userConfirmationRequested: "number?"
        case .passkeyRequested: "passkey?"
        case .passkeyShown: "passkey shown"
        case .keypress(let type): "keypress \(type)"
        case .outOfBandDataRequested: "OOB?"
        case .simplePairingComplete(let status): "paired \(code(status))"
        case .linkKey(_, let type): "key \(type.rawValue)"
        case .proofFailed: "proof failed"
        case .authenticated(let status): "authenticated \(code(status))"
        case .encryptionChanged(let mode, let status): "encryption \(mode.rawValue) \(code(status))"
        case .keyChanged(let status): "changed \(code(status))"
        case .keyRefreshed(let status): "refreshed \(code(status))"
        }
    }
}
