import BBCases
import BBHCI
import BBL2CAP
import BBPackets
import BBTraffic

/// The description of a link from its events and PDUs.
extension LinkReport {
    init(_ link: Link, device: Int?) {
        self.init(number: link.number, device: device, opened: link.opened, lastPacket: link.opened)
        kind = link.kind
        (isComplete, isOnAir, isMerged) = (link.isComplete, link.isOnAir, link.isMerged)
        localRole = link.localRole.map { $0 == .peripheral ? .peripheral : .central }
    }

    /// Notes a change.
    mutating func note(_ event: LinkEvent, at now: Moment) {
        let link = event.link
        switch event.kind {
        case .parameters:
            guard let parameters = link.parameters else { return }
            set(
                .init(
                    packet: now.packet, time: now.time, interval: Int(parameters.interval), latency: Int(parameters.latency),
                    timeout: Int(parameters.supervisionTimeout)))
        case .phys:
            phys.note(text(link.phys.central.words, link.phys.peripheral.words), at: now)
            phy = link.phys
        case .length:
            let (central, peripheral) = ("\(link.octets.central)", "\(link.octets.peripheral) octets")
            dataLengths.note(
                isOnAir ? text(central, peripheral) : text(central + " octets", peripheral), at: now)
            octets = link.octets
        case .mtu: mtu = link.mtu.map { (now.packet, $0) }
        case .encryption(let isOn, let status):
            isEncrypted = link.isEncrypted
            let state = isOn ? "encrypted" : "encryption off"
            security.note(status == .success ? state : "encryption failed: \(status.words)", at: now)
        case .opened, .unasked, .repeated, .misfit, .overlapping, .endMissed, .leftOpen, .stalled, .gap, .ended: break
        }
    }

    /// The values of both ends; on an HCI those of the local device first.
    private func text(_ central: String, _ peripheral: String) -> String {
        if isOnAir { return "central \(central), peripheral \(peripheral)" }
        return localRole == .peripheral ? "out \(peripheral), in \(central)" : "out \(central), in \(peripheral)"
    }

    /// Notes what a PDU says of pairing and services.
    mutating func note(_ pdu: DecodedLayer, on channel: UInt16?, from sender: PacketSender?, at now: Moment) {
        switch (pdu.layer, UInt8(truncatingIfNeeded: pdu.code)) {
        case (.smp, SMP.PairingResponse.opcode):
            guard let response = pdu.content(as: SMP.PairingResponse.self) else { return }
            security.note(response.authReq.contains(.sc) ? "pairing, Secure Connections offered" : "legacy pairing", at: now)
        case (.smp, SMP.PairingFailed.opcode):
            security.note("pairing failed: \(pdu.content(as: SMP.PairingFailed.self)?.reason.words ?? "")", at: now)
        case (.att, ATT.ReadByGroupTypeRsp.opcode) where channel == CID.att && sender != nil: noteServices(pdu)
        default: break
        }
    }

    private mutating func noteServices(_ pdu: DecodedLayer) {
        for row in pdu.content(as: ATT.ReadByGroupTypeRsp.self)?.attributeDataList ?? [] {
            guard services.count < Self.most.services, let uuid = BluetoothUUID(octets: row.attributeValue) else { continue }
            if !services.contains(uuid.words) { services.append(uuid.words) }
        }
    }

    /// Counts application data.
    mutating func add(_ data: ApplicationData, from sender: PacketSender?, isStarved: Bool, at time: Int64) {
        if isMerged, sender != localRole { return }
        // A client is the central in nearly all captures of both ends.
        let isForth = isMerged ? data.isOfClient : sender == .central || sender == .local
        add(
            data.octets, data.kind, isForth: isForth, at: time, isAcknowledged: data.isAcknowledged,
            isStarved: isForth == (localRole == .central) && isStarved)
    }
}

extension [LinkReport.Change] {
    fileprivate mutating func note(_ text: String, at now: Moment) {
        if last?.text != text, count < LinkReport.most.changes { append(.init(packet: now.packet, text: text)) }
    }
}

/// Application data in a PDU: the values of notifications, indications, reads and writes, and the data of channels.
struct ApplicationData {
    let kind: DataKind
    let octets: Int
    /// True for data that the receiver has to answer before the next one.
    let isAcknowledged: Bool

    /// True for data that a client sends.
    var isOfClient: Bool { [.command, .request, .channel].contains(kind) }

    /// - Parameter isLast: true for the innermost layer of a packet. Plain octets of L2CAP there are data of a channel.
    init?(_ layer: DecodedLayer, isLast: Bool) {
        if layer.layer == .l2cap, layer.declaration == nil, isLast {
            (kind, octets, isAcknowledged) = (.channel, layer.range.count, false)
            return
        }
        guard layer.layer == .att else { return nil }
        let header: Int
        switch UInt8(truncatingIfNeeded: layer.code) {
        case ATT.HandleValueNtf.opcode, ATT.HandleValueInd.opcode: (kind, header) = (.notification, 3)
        case ATT.WriteCmd.opcode: (kind, header) = (.command, 3)
        case ATT.WriteReq.opcode: (kind, header) = (.request, 3)
        case ATT.ReadRsp.opcode, ATT.ReadBlobRsp.opcode: (kind, header) = (.read, 1)
        default: return nil
        }
        octets = Swift.max(0, layer.range.count - header)
        isAcknowledged = [.read, .request].contains(kind) || layer.code == Int(ATT.HandleValueInd.opcode)
    }
}

/// Connection parameters that a PDU asks for.
struct ParameterRequest {
    private let interval: (low: Int, high: Int)
    private let latency: Int
    /// Milliseconds.
    private let timeout: Int

    /// Nil for any other PDU.
    init?(_ pdu: DecodedLayer) {
        switch pdu.layer {
        case .llControl:
            guard let request = pdu.content(as: LLControl.ConnectionParamReq.self) else { return nil }
            self.init(request.intervalMin, request.intervalMax, request.latency, request.timeout)
        case .l2capSignaling:
            guard let request = pdu.content(as: L2CAPSignaling.ConnectionParameterUpdateReq.self) else { return nil }
            self.init(request.intervalMin, request.intervalMax, request.latency, request.timeout)
        default: return nil
        }
    }

    private init(_ low: UInt16, _ high: UInt16, _ latency: UInt16, _ timeout: UInt16) {
        func microseconds(_ interval: UInt16) -> Int { Int(ConnectionParameters(interval: interval).intervalTime.rawValue) }
        interval = (microseconds(low), microseconds(high))
        (self.latency, self.timeout) = (Int(latency), Int(timeout) * 10)
    }

    /// The fields of the conclusion `Parameter_Request`.
    var fields: [(String, CaseValue)] {
        let effective = interval.high * (latency + 1)
        return [
            ("Interval_Min", interval.low / 1_000), ("Interval_Max", interval.high / 1_000), ("Latency", latency), ("Timeout", timeout),
            ("Effective", effective / 1_000), ("Remainder", interval.low % 15_000), ("Span", (interval.high - interval.low) / 1_000),
            ("Margin", timeout - 2 * effective / 1_000),
        ].map { ($0.0, .number(max(0, $0.1))) }
            + [("Shortest", .text(Self.milliseconds(interval.low))), ("Longest", .text(Self.milliseconds(interval.high)))]
    }

    /// A time in microseconds as milliseconds with up to two places: 7.5 or 11.25.
    private static func milliseconds(_ time: Int) -> String {
        let hundredths = time / 10
        let places = hundredths % 100
        guard places > 0 else { return "\(hundredths / 100)" }
        return "\(hundredths / 100)." + (places % 10 == 0 ? "\(places / 10)" : places < 10 ? "0\(places)" : "\(places)")
    }
}

extension LinkEvent.Ending {
    /// The end as a capture shows it; nil if it does not.
    var text: String? {
        switch self {
        case .disconnected(let reason): reason.words
        case .terminated(let sender, let reason): "\(sender?.rawValue ?? "unknown side"): \(reason.words)"
        case .silent, .replaced, .early, .reset: nil
        }
    }
}

extension Link.Kind {
    var words: String {
        switch self {
        case .le: "LE"
        case .classic: "BR/EDR"
        }
    }
}

extension PHY {
    fileprivate var words: String {
        switch self {
        case .le1M: "LE_1M"
        case .le2M: "LE_2M"
        case .leCoded: "LE_Coded"
        }
    }
}

extension OpenEnum where RawValue == UInt8 {
    /// The name of the value in the declarations.
    var words: String { PDUCatalog.type(named: "\(Self.self)")?.name(of: Int(rawValue)) ?? Hex.number(rawValue, bits: 8) }
}
