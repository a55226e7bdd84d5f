import Packets

/// Synchronous connections. Core Vol 4, Part E, 7.1.26 to 7.1.28.
extension CommandTable {
    mutating func addSynchronous() {
        start(HCICommands.SetupSynchronousConnection.self, handle: { $0.connectionHandle }, BREDRController.execute)
        start(HCICommands.AcceptSynchronousConnectionRequest.self, BREDRController.execute)
        start(HCICommands.RejectSynchronousConnectionRequest.self, BREDRController.execute)
    }
}

extension BREDRController {
    func execute(_ command: HCICommands.SetupSynchronousConnection) throws(CommandFailure) {
        let end = try link(command.connectionHandle)
        try Check.that(end.voice.stage == .idle, else: .disallowed)
        let wish = try Self.wish(
            transmit: command.transmitBandwidth, receive: command.receiveBandwidth, latency: command.maxLatency,
            voiceSetting: command.voiceSetting, effort: command.retransmissionEffort, types: command.packetType)
        (end.voice.stage, end.voice.setting) = (.negotiating, command.voiceSetting)
        end.connection.setUpSynchronous(wish)
    }

    private func requestedSynchronous(by peer: BDADDR) throws(CommandFailure) -> ACLLinkEnd {
        for end in links where end.peer == peer && end.voice.stage == .requested { return end }
        throw .unknownConnection
    }

    func execute(_ command: HCICommands.AcceptSynchronousConnectionRequest) throws(CommandFailure) {
        let end = try requestedSynchronous(by: command.bdADDR)
        let wish = try Self.wish(
            transmit: command.transmitBandwidth, receive: command.receiveBandwidth, latency: command.maxLatency,
            voiceSetting: command.voiceSetting, effort: command.retransmissionEffort, types: command.packetType)
        end.voice.acceptTimer?.cancel()
        (end.voice.stage, end.voice.setting) = (.negotiating, command.voiceSetting)
        end.connection.reply(.acceptsSynchronous(wish))
    }

    func execute(_ command: HCICommands.RejectSynchronousConnectionRequest) throws(CommandFailure) {
        let reasons: [ErrorCode] = [
            .connectionRejectedDueToLimitedResources, .connectionRejectedDueToSecurityReasons, .connectionRejectedDueToUnacceptableBDADDR,
        ]
        let end = try requestedSynchronous(by: command.bdADDR)
        try Check.that(reasons.contains(command.reason))
        refuseSynchronous(end, command.reason)
    }

    /// Air_Coding_Format of Voice_Setting, as LMP counts them: CVSD, u-law, A-law, transparent data.
    private static let airModes: [UInt8] = [2, 0, 1, 3]

    private static func wish(
        transmit: UInt32, receive: UInt32, latency: UInt16, voiceSetting: UInt16, effort: UInt8, types: UInt16
    ) throws(CommandFailure) -> SynchronousWish {
        let types = SynchronousPacketTypes(rawValue: types).types
        try Check.that(!types.isEmpty, else: .unsupportedValue)
        return SynchronousWish(
            transmitBandwidth: transmit, receiveBandwidth: receive, maxLatency: latency, airMode: airModes[Int(voiceSetting & 3)],
            effort: effort == 0 ? .none : effort == 0xFF ? .any : .some, types: types)
    }
}

/// Packet_Type of a synchronous connection: bits that allow types of the basic rate, and bits that forbid those of the enhanced ones. Core Vol 4, Part E, 7.1.26.
struct SynchronousPacketTypes {
    let rawValue: UInt16

    private static let allowing: [(bit: UInt16, type: BREDRPacketType)] = [
        (0x0001, .hv1), (0x0002, .hv2), (0x0004, .hv3), (0x0008, .ev3), (0x0010, .ev4), (0x0020, .ev5),
    ]
    private static let forbidding: [(bit: UInt16, type: BREDRPacketType)] = [
        (0x0040, .twoEV3), (0x0080, .threeEV3), (0x0100, .twoEV5), (0x0200, .threeEV5),
    ]

    var types: Set<BREDRPacketType> {
        Set(Self.allowing.filter { rawValue & $0.bit != 0 }.map(\.type) + Self.forbidding.filter { rawValue & $0.bit == 0 }.map(\.type))
    }
}
