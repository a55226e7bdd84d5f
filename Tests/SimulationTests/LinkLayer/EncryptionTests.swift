import BBBenchTesting
import BBBluetoothCrypto
import BBMisbehaviour
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Encryption start and pause as both hosts see them, and what is on the air. Core Vol 6, Part B, 5.1.3; Part E.
@Suite struct EncryptionTests {
    static let key = EncryptionKey(longTermKey: LinkEnd.key, random: 0x0102_0304_0506_0708, diversifier: 0x0A0B)

    /// Sample data of Core Vol 6, Part C, 1.1: counter, sender, first header octet, payload, payload and MIC as sent.
    static let samples: [(counter: Int, fromCentral: Bool, header: UInt8, clear: String, sealed: String)] = [
        (0, true, 0x0F, "06", "9FCDA7F448"), (0, false, 0x07, "06", "A34C13A415"),
        (
            1, true, 0x0E, "1700636465666768696A6B6C6D6E6F707131323334353637383930",
            "7A70D66415226DF26B17839A060405596BD6564F796B5B9CE6FF32F75A6D33"
        ),
        (
            1, false, 0x06, "17003736353433323130" + "4142434445464748494A4B4C4D4E4F5051",
            "F38881E7BD94C9C369B9A66846DD4786AA8C39CE540D0DAE3ADCDF89B96088"
        ),
    ]

    @Test func sampleData() throws {
        let session = LinkEncryption.Session(
            longTermKey: Self.key.longTermKey, central: .init(skd: octets("1302F1E0DFCEBDAC"), iv: octets("24ABDCBA")),
            peripheral: .init(skd: octets("7968574635241302"), iv: octets("BEBAAFDE")))
        let bench = LinkBench()
        var ends: [Bool: LinkEncryption] = [:]
        for end in bench.ends {
            var encryption = LinkEncryption(end.link.parameters, secrets: .system)
            encryption.apply(.session(session))
            encryption.apply(.directions(sent: true, received: true))
            ends[end.link.role == .central] = encryption
        }
        for sample in Self.samples {
            var pdu = OutgoingPDU(llid: sample.header & 3, payload: octets(sample.clear)[...], kind: .empty)
            ends[sample.fromCentral]?.seal(&pdu)
            #expect(Array(pdu.payload) == octets(sample.sealed))
            #expect(pdu.clear.map(Array.init) == octets(sample.clear))
            let opened = ends[!sample.fromCentral]?.open(AirPDU(header: sample.header, octets(sample.sealed)), at: .zero)
            #expect(opened.map(Array.init) == octets(sample.clear))
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var peripheralKey: UInt128? = LinkEnd.key
        var peripheralFeatures = LEFeatures.simulated
        var knowsFeatures = false
        var again = false
        /// Second reply of the peripheral's host.
        var secondKey: UInt128? = LinkEnd.key
        var isEncrypted = true
        var central: [String]
        var peripheral: [String]
    }

    static let wanted = "key wanted 72623859790382856 2571"

    static let rows: [Row] = [
        Row(testDescription: "started", central: ["encrypted 00"], peripheral: [wanted, "encrypted 00"]),
        Row(
            testDescription: "started, then with a fresh key", again: true, central: ["encrypted 00", "refreshed 00"],
            peripheral: [wanted, "encrypted 00", wanted, "refreshed 00"]),
        Row(
            testDescription: "no key", peripheralKey: nil, isEncrypted: false, central: ["encrypted 06"], peripheral: [wanted]),
        Row(
            testDescription: "another key", peripheralKey: 1, central: ["disconnected 08"], peripheral: [wanted, "disconnected 3D"]),
        Row(
            testDescription: "not supported", peripheralFeatures: LEFeatures.simulated.subtracting(.leEncryption), isEncrypted: false,
            central: ["encrypted 1A"], peripheral: []),
        Row(
            testDescription: "known as not supported", peripheralFeatures: LEFeatures.simulated.subtracting(.leEncryption),
            knowsFeatures: true, isEncrypted: false, central: ["features 00 493e", "encrypted 1A"], peripheral: []),
        Row(
            testDescription: "the key is gone when it is to be refreshed", again: true, secondKey: nil,
            central: ["encrypted 00", "disconnected 06"], peripheral: [wanted, "encrypted 00", wanted, "disconnected 16"]),
        Row(
            testDescription: "another key when it is to be refreshed", again: true, secondKey: 1,
            central: ["encrypted 00", "disconnected 08"], peripheral: [wanted, "encrypted 00", wanted, "disconnected 3D"]),
    ]

    private func bench(_ row: Row, seed: UInt64 = 1, phy: PHY = .le1M) -> LinkBench {
        let bench = LinkBench {
            $0.seed = seed
            $0.phy = phy
            $0.timeout = 4_000_000
            $0.peripheral.features = row.peripheralFeatures
        }
        bench.peripheral.longTermKey = row.peripheralKey
        return bench
    }

    @Test(arguments: rows) func bothHostsHearOfIt(_ row: Row) throws {
        let bench = bench(row)
        try bench.run(100_000)
        for end in bench.ends { end.log.removeAll() }
        if row.knowsFeatures { #expect(bench.central.link.readRemoteFeatures() == .success) }
        for end in bench.ends { for _ in 0..<5 { end.feed(100) } }
        #expect(bench.central.link.encrypt(Self.key) == .success)
        #expect(bench.central.link.encrypt(Self.key) == .commandDisallowed)
        #expect(bench.peripheral.link.encrypt(Self.key) == .commandDisallowed)
        try bench.run(1_000_000)
        bench.peripheral.longTermKey = row.secondKey
        if row.again { #expect(bench.central.link.encrypt(Self.key) == .success) }
        for end in bench.ends { for _ in 0..<5 { end.feed(100) } }
        try bench.run(6_000_000)
        #expect(bench.central.log == row.central)
        #expect(bench.peripheral.log == row.peripheral)
        try bench.rest()
        guard bench.ends.allSatisfy({ !$0.link.isClosed }) else { return }
        #expect(bench.ends.allSatisfy { $0.link.state.encryption.isOn == row.isEncrypted })
        #expect(bench.central.received == bench.peripheral.sentOctets && bench.peripheral.received == bench.central.sentOctets)
    }

    /// Only PDUs defined by the procedure are unencrypted, the length includes the MIC, and retransmissions are identical.
    @Test(arguments: [PHY.le1M, .le2M, .leCoded], [0.0, 0.25]) func whatIsOnTheAir(_ phy: PHY, _ loss: Double) throws {
        let bench = bench(Self.rows[0], phy: phy)
        bench.setDataLength(251)
        try bench.run(100_000)
        for end in bench.ends { end.log.removeAll() }
        bench.air.propagation.setLoss(.init(corrupted: loss * 0.7, unnoticed: loss * 0.3), on: .init())
        var clear: [UInt8] = []
        var sealed: [Bool: [(clear: [UInt8], sealed: [UInt8])]] = [:]
        bench.air.observer = { observation in
            let bytes = observation.frame.bytes.dropFirst(phy == .leCoded ? 5 : 4)
            let payload = Array(bytes.dropFirst(2).dropLast(3))
            #expect(Int(bytes[bytes.startIndex + 1]) == payload.count)
            guard let plain = observation.plain else {
                if bytes.first.map({ $0 & 3 == LLID.control }) ?? false, clear.last != payload[0] { clear.append(payload[0]) }
                return
            }
            #expect(payload.count == plain.count + 2)
            let isOfCentral = observation.frame.channel == .dataFromCentral
            let body = Array(plain.dropFirst(2))
            if sealed[isOfCentral]?.last?.clear != body { sealed[isOfCentral, default: []].append((body, payload)) }
            #expect(sealed[isOfCentral]?.last?.sealed == payload)
        }
        #expect(bench.central.link.encrypt(Self.key) == .success)
        for end in bench.ends { end.saturate(3, length: 251) }
        try bench.run(2_000_000)
        #expect(bench.central.log == ["encrypted 00"] && bench.peripheral.log == [Self.wanted, "encrypted 00"])
        #expect(clear == [LLControl.EncReq.opcode, LLControl.EncRsp.opcode, LLControl.StartEncReq.opcode])
        for isOfCentral in [true, false] {
            #expect(sealed[isOfCentral]?.first?.clear == [LLControl.StartEncRsp.opcode])
            #expect((sealed[isOfCentral]?.count ?? 0) > (phy == .leCoded ? 15 : 100))
        }
        for (end, other) in [(bench.central, bench.peripheral), (bench.peripheral, bench.central)] {
            #expect(end.received.count > 3_000 && end.received.elementsEqual(other.sentOctets.prefix(end.received.count)))
        }
    }

    /// A link without data sends pings in time; a device that receives nothing with a MIC reports each timeout to its host. Core Vol 6,
    /// Part B, 5.4.
    @Test(arguments: [true, false], [0, 4]) func authenticatedPayload(pings: Bool, latency: Int) throws {
        let bench = LinkBench {
            $0.latency = latency
            $0.timeout = 4_000_000
            if !pings { $0.central.features.remove(.lePing) }
            if !pings { $0.peripheral.features.remove(.lePing) }
        }
        for end in bench.ends { end.link.setAuthenticatedPayloadTimeout(1_000_000) }
        try bench.run(1_500_000)
        for end in bench.ends { end.log.removeAll() }
        var pingsSent = 0
        bench.air.observer = { if $0.plain?.last == LLControl.PingReq.opcode { pingsSent += 1 } }
        #expect(bench.central.link.encrypt(Self.key) == .success)
        try bench.run(4_000_000)
        #expect((pingsSent > 2) == pings)
        let expired = pings ? [] : ["payload timeout", "payload timeout", "payload timeout"]
        #expect(bench.central.log == ["encrypted 00"] + expired)
        #expect(bench.peripheral.log == [Self.wanted, "encrypted 00"] + expired)
    }

    /// Effects of injected faults.
    @Test(arguments: [
        (EncryptionQuirks.keepsPacketCounters, ["encrypted 00", "disconnected 08"]), (.needsNoKey, ["disconnected 08"]),
        (.sealsEmptyPDUs, ["encrypted 00", "refreshed 00"]), (.ignoresMIC, ["encrypted 00", "refreshed 00"]),
    ]) func faults(quirk: EncryptionQuirks, central: [String]) throws {
        let bench = LinkBench {
            $0.timeout = 1_000_000
            $0.peripheral.quirks.encryption = quirk
        }
        try bench.run(100_000)
        bench.central.log.removeAll()
        #expect(bench.central.link.encrypt(Self.key) == .success)
        try bench.run(300_000)
        for end in bench.ends { end.feed(20) }
        try bench.run(300_000)
        _ = bench.central.link.encrypt(Self.key)
        try bench.run(2_000_000)
        #expect(bench.central.log.filter { $0.hasPrefix("enc") || $0.hasPrefix("ref") || $0.hasPrefix("disc") } == central)
        // A device that encrypts empty PDUs always has something to send.
        if quirk == .sealsEmptyPDUs { bench.abandon() }
    }

    /// A PDU that is not allowed, sent by one device, encrypted or not, while the peripheral's host looks up the key or afterwards.
    struct Violation: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var llid = LLID.control
        var payload: [UInt8]
        var byCentral = true
        var isBefore = true
        var inClear = true
        /// The host replies with the key in the moment in which the PDU is queued.
        var isDuringReply = false
        /// Error code with which the receiver ends the link; nil if it continues.
        var reason: ErrorCode? = .connectionTerminatedDueToMICFailure
    }

    static let violations: [Violation] = [
        Violation(testDescription: "LL_ENC_REQ twice", payload: LLControl.EncReq.opcode.followed(by: 22)),
        Violation(testDescription: "LL_START_ENC_RSP unasked", payload: [LLControl.StartEncRsp.opcode]),
        Violation(testDescription: "LL_PING_REQ", payload: [LLControl.PingReq.opcode]),
        Violation(testDescription: "LL_PING_REQ of the peripheral", payload: [LLControl.PingReq.opcode], byCentral: false),
        Violation(testDescription: "data", llid: LLID.start, payload: [1, 2, 3]),
        Violation(testDescription: "an unknown PDU", payload: [0xF0]),
        Violation(testDescription: "a cut PDU", payload: [LLControl.EncRsp.opcode, 1], byCentral: false),
        Violation(testDescription: "LL_ENC_RSP twice", payload: LLControl.EncRsp.opcode.followed(by: 12), byCentral: false),
        Violation(
            testDescription: "LL_TERMINATE_IND", payload: [LLControl.TerminateInd.opcode, 0x13], reason: .remoteUserTerminatedConnection),
        Violation(
            testDescription: "LL_TERMINATE_IND in the event in which the host has replied", payload: [LLControl.TerminateInd.opcode, 0x13],
            isDuringReply: true, reason: .remoteUserTerminatedConnection),
        Violation(
            testDescription: "LL_REJECT_EXT_IND of something else", payload: [LLControl.RejectExtInd.opcode, 0x16, 0x1A], reason: nil),
        Violation(testDescription: "data in clear on an encrypted link", llid: LLID.start, payload: [1, 2, 3, 4, 5, 6], isBefore: false),
        Violation(
            testDescription: "LL_PING_REQ in clear on an encrypted link, by the peripheral", payload: [LLControl.PingReq.opcode],
            byCentral: false, isBefore: false),
        Violation(testDescription: "LL_PING_REQ in clear on an encrypted link", payload: [LLControl.PingReq.opcode], isBefore: false),
        Violation(
            testDescription: "LL_ENC_REQ on an encrypted link", payload: LLControl.EncReq.opcode.followed(by: 22), isBefore: false,
            inClear: false, reason: nil),
        Violation(
            testDescription: "LL_START_ENC_REQ on an encrypted link", payload: [LLControl.StartEncReq.opcode], byCentral: false,
            isBefore: false, inClear: false, reason: nil),
    ]

    /// A request or response that a link layer rejects.
    enum Rejected: CaseIterable, Sendable {
        case encryption
        case parametersOfCentral
        case parametersOfPeripheral
        case invalidParameters
        case invalidResponse

        var rejection: (byCentral: Bool, opcode: UInt8, reason: ErrorCode) {
            switch self {
            case .encryption: (false, LLControl.EncReq.opcode, .pinOrKeyMissing)
            case .parametersOfCentral: (false, LLControl.ConnectionParamReq.opcode, .unacceptableConnectionParameters)
            case .parametersOfPeripheral: (true, LLControl.ConnectionParamReq.opcode, .unacceptableConnectionParameters)
            case .invalidParameters: (false, LLControl.ConnectionParamReq.opcode, .invalidLMPParameters)
            case .invalidResponse: (true, LLControl.ConnectionParamRsp.opcode, .invalidLMPParameters)
            }
        }
    }

    /// LL_REJECT_EXT_IND is sent only to a peer that is known to support it, LL_REJECT_IND to any other. Core Vol 6, Part B, 2.4.2 and 4.6.
    @Test(arguments: Rejected.allCases, [nil, false, true] as [Bool?])
    func theRejectionFitsTheFeaturesOfThePeer(_ rejected: Rejected, supportsExtended: Bool?) throws {
        // Interval_Min is above Interval_Max.
        let invalid = octets("060005000000640000" + String(repeating: "00", count: 14))
        let rule = try PacketRewrite(.llControl, "LL_CONNECTION_PARAM_RSP", .replace([LLControl.ConnectionParamRsp.opcode] + invalid))
        let (byCentral, opcode, reason) = rejected.rejection
        let bench = LinkBench {
            $0.timeout = 4_000_000
            if rejected == .invalidResponse { $0.peripheral.quirks.rewrites = [rule] }
            guard supportsExtended == false else { return }
            if byCentral {
                $0.peripheral.features.remove(.extendedRejectIndication)
            } else {
                $0.central.features.remove(.extendedRejectIndication)
            }
        }
        let sniffer = ControlSniffer(bench)
        for end in bench.ends { end.answersRequests = { rejected == .invalidResponse ? ($0, .success) : (nil, reason) } }
        bench.peripheral.longTermKey = nil
        try bench.run(100_000)
        if supportsExtended != nil { for end in bench.ends { #expect(end.link.readRemoteFeatures() == .success) } }
        try bench.run(200_000)
        switch rejected {
        case .encryption: #expect(bench.central.link.encrypt(Self.key) == .success)
        case .parametersOfCentral, .invalidResponse: #expect(bench.central.link.updateParameters(ProcedureTests.faster) == .success)
        case .parametersOfPeripheral: #expect(bench.peripheral.link.updateParameters(ProcedureTests.faster) == .success)
        case .invalidParameters: bench.central.link.send(control: [LLControl.ConnectionParamReq.opcode] + invalid)
        }
        try bench.run(500_000)
        let (plain, extended) = (LLControl.RejectInd.opcode, LLControl.RejectExtInd.opcode)
        let rejections = sniffer.pdus.filter { [plain, extended].contains($0.pdu[0]) }
        #expect(rejections.allSatisfy { $0.fromCentral == byCentral })
        #expect(
            Set(rejections.map(\.pdu)) == [
                supportsExtended == true ? [extended, opcode, reason.rawValue] : [plain, reason.rawValue]
            ])
        // The device that started the procedure hears of the rejection.
        let starter = rejected == .parametersOfPeripheral ? bench.peripheral : bench.central
        guard rejected != .invalidParameters else { return }
        let word = rejected == .encryption ? "encrypted" : "updated"
        #expect(starter.log.last?.hasPrefix("\(word) \(starter.code(reason))") == true, "\(starter.log)")
    }

    @Test(arguments: violations) func whatMayNotCome(_ row: Violation) throws {
        let bench = bench(Self.rows[0])
        bench.peripheral.answersKeyRequests = !row.isBefore
        try bench.run(100_000)
        #expect(bench.central.link.encrypt(Self.key) == .success)
        try bench.run(200_000)
        let (sender, receiver) = row.byCentral ? (bench.central, bench.peripheral) : (bench.peripheral, bench.central)
        if row.isDuringReply { #expect(receiver.link.replyToKeyRequest(LinkEnd.key) == .success) }
        if row.llid == LLID.control {
            sender.link.send(control: row.payload, inClear: row.inClear)
        } else {
            let pdu = OutgoingPDU(llid: row.llid, payload: row.payload[...], kind: .empty, isForcedClear: row.inClear)
            // Right after the reply to the previous packet.
            for _ in 0..<20_000 where !sender.link.inject(pdu) { try bench.run(100) }
        }
        try bench.run(200_000)
        if let reason = row.reason {
            #expect(receiver.log.last == "disconnected \(receiver.code(reason))")
        } else {
            #expect(bench.ends.allSatisfy { !$0.link.isClosed })
            if row.isBefore { #expect(bench.peripheral.link.replyToKeyRequest(LinkEnd.key) == .success) }
            for end in bench.ends { end.feed(50) }
            try bench.run(500_000)
            #expect(bench.ends.allSatisfy { $0.link.state.encryption.isOn })
            #expect(bench.central.received == bench.peripheral.sentOctets && bench.peripheral.received == bench.central.sentOctets)
        }
    }
}

extension UInt8 {
    /// An opcode followed by octets of CtrData.
    fileprivate func followed(by count: Int) -> [UInt8] { [self] + [UInt8](repeating: 0, count: count) }
}
