import BBBluetoothCrypto
import BBPackets
import BBTiming

@testable import BBSimulation

/// One end of a link without a baseband: sent messages are in transit until they are delivered.
private final class FuzzWire: LinkTransport, ACLConnectionDelegate {
    let role: LinkRole
    private let settings: LinkManagerSettings
    private let loop: RunLoop
    private(set) var connection: ACLConnection!
    var mail: [[UInt8]] = []
    private(set) var sent = 0
    private(set) var isDetached = false
    private(set) var ends = 0

    init(_ role: LinkRole, settings: UInt8, on loop: RunLoop) {
        self.role = role
        self.loop = loop
        let features: LMPFeatures = [
            .threeSlotPackets, .fiveSlotPackets, .encryption, .slotOffset, .timingAccuracy, .roleSwitch, .enhancedRate2M,
            .pauseEncryption, .simplePairing, .encapsulatedPDU, .extendedPages, .sniff, .adaptiveHoppingPeripheral,
            .adaptiveHoppingCentral, .sco, .hv3, .cvsd, .transparentSynchronous, .extendedSCO, .enhancedRateSCO2M,
        ]
        let host: LMPHostFeatures = settings & 1 == 0 ? [.simplePairing, .secureConnections] : settings & 2 == 0 ? .simplePairing : []
        self.settings = LinkManagerSettings(
            pages: [features.rawValue, host.rawValue, 0x300],
            version: RemoteVersion(version: 13, companyIdentifier: 1, subversion: 1), name: Array("fuzz".utf8))
        let (own, peer): (BDADDR, BDADDR) = role == .central ? (1, 2) : (2, 1)
        connection = ACLConnection(
            ConnectionHandle(1), own: own, peer: peer, transport: self, on: loop,
            secrets: SecretSource(seed: 1, label: own.description, on: loop), delegate: self)
    }

    var slot: UInt32 { UInt32(truncatingIfNeeded: loop.now.rawValue / 625) & 0x7FF_FFFF }

    let clockOffset: UInt16 = 0
    let slotOffset: UInt16 = 0
    func linkManagerSettings(for peer: BDADDR) -> LinkManagerSettings { settings }

    func send(lmp pdu: [UInt8]) {
        sent += 1
        if !isDetached { mail.append(pdu) }
    }

    func apply(_ change: BasebandChange) {}
    func detach() { isDetached = true }

    /// A host that accepts every request.
    func connection(_ connection: ACLConnection, reports report: ACLReport) {
        switch report {
        case .connectionRequested: connection.reply(.acceptsConnection(asCentral: false))
        case .linkKeyRequested: connection.reply(.linkKey([UInt8](repeating: 7, count: 16)))
        case .pinRequested: connection.reply(.pin([0x30]))
        case .ioCapabilityRequested:
            connection.reply(.ioCapability(IOOffer(capability: .displayYesNo, hasOutOfBandData: false, requirements: 1)))
        case .userConfirmationRequested: connection.reply(.confirmsNumber(true))
        case .passkeyRequested: connection.reply(.passkey(0))
        case .synchronousRequested:
            connection.reply(
                .acceptsSynchronous(
                    SynchronousRequest(
                        transmitBandwidth: 8_000, receiveBandwidth: 8_000, maxLatency: 13, airMode: 3, effort: .some,
                        types: [.twoEV3, .hv3])))
        default: break
        }
    }

    func connection(_ connection: ACLConnection, disconnected reason: ErrorCode) { ends += 1 }

    /// Checks at the end that nothing is left over.
    func close() throws {
        try promise(ends <= 1, "a link ended twice")
        try promise(connection.isClosed == (ends == 1), "a link ended without a word")
        connection.abandon()
        try promise(connection.isAtRest, "something is left over")
        connection = nil
    }
}

extension FuzzTarget {
    private static let linkManagerLayer: LayerOfAction = { $0.kind < 3 ? .lmp : nil }

    /// Any PDU between two link managers, among those that they exchange: each gets at most one response, and both become idle.
    static let linkManager = FuzzTarget(
        name: "lmp", layer: linkManagerLayer,
        seeds: {
            Seeds.declared(linkManagerLayer)
                + Seeds.written(
                    [
                        "4E0000000000000000", "66", "62", "160102030405060708090A0B0C0D0E0F10", "FE19010001", "1E01", "2010", "7A010240",
                        "FE17", "0E13", "FF", "",
                    ],
                    Frames.Action(end: 1))
        },
        run: { input in
            let frames = Frames(input)
            let loop = RunLoop()
            let wires = [
                FuzzWire(.central, settings: frames.settings, on: loop), FuzzWire(.peripheral, settings: frames.settings >> 2, on: loop),
            ]
            try loop.run {
                if frames.settings & 0x80 == 0 {
                    wires[0].connection.establish()
                    try settle(wires)
                }
                if frames.settings & 0x40 == 0 { _ = wires[0].connection.authenticate() }
                for frame in frames.list {
                    let end = frame.action.end
                    switch frame.action.kind {
                    case 0, 1: wires[end].connection.transport(wires[end], received: Array(frame.packet.prefix(17)))
                    case 2: if !wires[end].mail.isEmpty { wires[end].mail[0] = Array(frame.packet.prefix(17)) }
                    default: deliver(from: wires[end], to: wires[1 - end])
                    }
                    if frame.action.pause > .zero { try await loop.sleep(for: frame.action.pause) }
                }
                try settle(wires)
                // Pending procedures time out.
                try await loop.sleep(for: .seconds(200))
                try settle(wires)
                for wire in wires { try wire.close() }
            }
        })

    private static func deliver(from wire: FuzzWire, to other: FuzzWire) {
        guard !wire.mail.isEmpty else { return }
        let pdu = wire.mail.removeFirst()
        if !other.isDetached { other.connection.transport(other, received: pdu) }
        if !wire.isDetached { wire.connection.transportAcknowledged(wire, lmp: pdu) }
    }

    private static func settle(_ wires: [FuzzWire]) throws {
        var left = 5_000
        while wires.contains(where: { !$0.mail.isEmpty }) {
            for index in 0...1 { deliver(from: wires[index], to: wires[1 - index]) }
            left -= 1
            try promise(left > 0, "there is no end of PDUs")
        }
    }
}
