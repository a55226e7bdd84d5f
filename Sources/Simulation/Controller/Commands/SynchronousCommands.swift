import BBPackets

/// Synchronous connection commands. Core Vol 4, Part E, 7.1.26 to 7.1.28, 7.1.45 and 7.1.46.
extension BREDRController {
    static func synchronousCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.start(HCICommands.SetupSynchronousConnection.self) { try $0.execute($1) }
        rows.start(HCICommands.EnhancedSetupSynchronousConnection.self) { try $0.execute($1) }
        rows.start(HCICommands.AcceptSynchronousConnectionRequest.self) { try $0.execute($1) }
        rows.start(HCICommands.EnhancedAcceptSynchronousConnectionRequest.self) { try $0.execute($1) }
        rows.start(HCICommands.RejectSynchronousConnectionRequest.self) { try $0.execute($1) }
    }
}

/// Parameters of commands that request or accept a synchronous connection.
private protocol SynchronousTerms {
    var transmitBandwidth: UInt32 { get }
    var receiveBandwidth: UInt32 { get }
    var maxLatency: UInt16 { get }
    var retransmissionEffort: UInt8 { get }
    var packetType: UInt16 { get }
    /// - Throws: if the voice coding is not supported.
    func setting() throws(CommandRefusal) -> VoiceSetting
}

extension SynchronousTerms {
    func wanted() throws(CommandRefusal) -> SynchronousRequest {
        let types = SynchronousPacketTypes(rawValue: packetType).types
        try Check.that(!types.isEmpty, else: .unsupportedValue)
        return SynchronousRequest(
            transmitBandwidth: transmitBandwidth, receiveBandwidth: receiveBandwidth, maxLatency: maxLatency,
            airMode: try setting().airMode,
            effort: retransmissionEffort == 0 ? .none : retransmissionEffort == 0xFF ? .any : .some, types: types)
    }
}

extension HCICommands.SetupSynchronousConnection: SynchronousTerms {
    fileprivate func setting() -> VoiceSetting { VoiceSetting(rawValue: voiceSetting) }
}

extension HCICommands.AcceptSynchronousConnectionRequest: SynchronousTerms {
    fileprivate func setting() -> VoiceSetting { VoiceSetting(rawValue: voiceSetting) }
}

/// Parameters of the enhanced commands, which also specify air and host codecs and the data path.
private protocol EnhancedTerms: SynchronousTerms {
    var transmitCodingFormat: Structures.CodecID { get }
    var receiveCodingFormat: Structures.CodecID { get }
    var inputCodingFormat: Structures.CodecID { get }
    var outputCodingFormat: Structures.CodecID { get }
    var inputCodedDataSize: UInt16 { get }
    var outputCodedDataSize: UInt16 { get }
    var inputPCMDataFormat: UInt8 { get }
    var outputPCMDataFormat: UInt8 { get }
    var inputDataPath: UInt8 { get }
    var outputDataPath: UInt8 { get }
}

extension EnhancedTerms {
    /// The voice setting that the parameters stand for. Only data path 0 (HCI) is supported.
    func setting() throws(CommandRefusal) -> VoiceSetting {
        try Check.that(inputDataPath == 0 && outputDataPath == 0, else: .unsupportedValue)
        guard
            let setting = VoiceSetting(
                air: [transmitCodingFormat, receiveCodingFormat], host: [inputCodingFormat, outputCodingFormat],
                sizes: [inputCodedDataSize, outputCodedDataSize], formats: [inputPCMDataFormat, outputPCMDataFormat])
        else { throw .unsupportedValue }
        return setting
    }
}

extension HCICommands.EnhancedSetupSynchronousConnection: EnhancedTerms {}
extension HCICommands.EnhancedAcceptSynchronousConnectionRequest: EnhancedTerms {}

extension BREDRController {
    func execute(_ command: HCICommands.SetupSynchronousConnection) throws(CommandRefusal) {
        try setUp(command, on: command.connectionHandle)
    }

    func execute(_ command: HCICommands.EnhancedSetupSynchronousConnection) throws(CommandRefusal) {
        try setUp(command, on: command.connectionHandle)
    }

    private func setUp(_ terms: some SynchronousTerms, on handle: ConnectionHandle) throws(CommandRefusal) {
        let end = try link(handle)
        try Check.that(end.voice.stage == .idle, else: .disallowed)
        let (wanted, setting) = (try terms.wanted(), try terms.setting())
        (end.voice.stage, end.voice.setting) = (.negotiating, setting)
        end.connection.setUpSynchronous(wanted)
    }

    private func requestedSynchronous(by peer: BDADDR) throws(CommandRefusal) -> ACLLinkEnd {
        for end in links where end.peer == peer && end.voice.stage == .requested { return end }
        throw .unknownConnection
    }

    func execute(_ command: HCICommands.AcceptSynchronousConnectionRequest) throws(CommandRefusal) {
        try accept(command, of: command.bdADDR)
    }

    func execute(_ command: HCICommands.EnhancedAcceptSynchronousConnectionRequest) throws(CommandRefusal) {
        try accept(command, of: command.bdADDR)
    }

    private func accept(_ terms: some SynchronousTerms, of peer: BDADDR) throws(CommandRefusal) {
        let end = try requestedSynchronous(by: peer)
        let setting = try terms.setting()
        var wanted = try terms.wanted()
        wanted.isAcceptance = true
        end.voice.acceptTimer?.cancel()
        (end.voice.stage, end.voice.setting) = (.negotiating, setting)
        end.connection.reply(.acceptsSynchronous(wanted))
    }

    func execute(_ command: HCICommands.RejectSynchronousConnectionRequest) throws(CommandRefusal) {
        let reasons: [ErrorCode] = [
            .connectionRejectedDueToLimitedResources, .connectionRejectedDueToSecurityReasons, .connectionRejectedDueToUnacceptableBDADDR,
        ]
        let end = try requestedSynchronous(by: command.bdADDR)
        try Check.that(reasons.contains(command.reason))
        refuseSynchronous(end, command.reason)
    }
}

/// Packet_Type of a synchronous connection: bits that allow basic rate types and bits that disallow EDR types. Core Vol 4, Part E, 7.1.26.
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
