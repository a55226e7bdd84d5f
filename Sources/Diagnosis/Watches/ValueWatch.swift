import BBCases
import BBPackets
import BBTraffic

/// The subscriptions and the attribute handles of a client on one link. Core Vol 3, Part G, 2.5.2 and 3.3.3.3.
struct ValueWatch {
    /// Handles of descriptors that the client has written to be told values.
    private(set) var subscribed: Set<UInt16> = []
    /// Values that the server sent unasked, and the client's requests.
    private(set) var values = 0
    private(set) var requests = 0
    /// The handle of Service Changed at the server of each end.
    private var serviceChanged: [PacketSender?: UInt16] = [:]
    /// The handle of the ASE Control Point.
    private var streamControl: UInt16?
    /// The end whose database changes.
    private var changer: PacketSender?
    /// The handles that a Service Changed indication declares invalid; in force once it is confirmed.
    private var changing: ClosedRange<UInt16>?
    private var changed: ClosedRange<UInt16>?

    private static let most = 256
    private static let serviceChangedUUID: [UInt8] = [0x05, 0x2A]
    private static let streamControlUUID: [UInt8] = [0xC6, 0x2B]
    private static let discoveries: Set<UInt8> = [
        ATT.FindInformationReq.opcode, ATT.FindByTypeValueReq.opcode, ATT.ReadByTypeReq.opcode, ATT.ReadByGroupTypeReq.opcode,
    ]
    private static let uses: Set<UInt8> = [
        ATT.ReadReq.opcode, ATT.ReadBlobReq.opcode, ATT.WriteReq.opcode, ATT.WriteCmd.opcode, ATT.PrepareWriteReq.opcode,
    ]

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender?) -> Observation? {
        let opcode = UInt8(truncatingIfNeeded: pdu.code)
        if pdu.id?.isRequest == true, opcode != ATT.HandleValueInd.opcode { requests += 1 }
        switch opcode {
        case ATT.WriteReq.opcode:
            guard let write = pdu.content(as: ATT.WriteReq.self) else { return nil }
            if subscribed.count < Self.most, [[1, 0], [2, 0], [3, 0]].contains(write.attributeValue) {
                subscribed.insert(write.attributeHandle)
            }
        case ATT.HandleValueNtf.opcode:
            values += 1
            if streamControl != nil { return refusedOperation(pdu) }
        case ATT.HandleValueInd.opcode: noteIndication(pdu, from: sender)
        case ATT.HandleValueCfm.opcode where sender != changer || sender == nil: (changed, changing) = (changing ?? changed, nil)
        case ATT.ReadByTypeRsp.opcode:
            for row in pdu.content(as: ATT.ReadByTypeRsp.self)?.attributeDataList ?? [] where row.attributeValue.count == 5 {
                // A characteristic declaration: properties, handle, UUID. Core Vol 3, Part G, 3.3.1.
                let handle = UInt16(row.attributeValue[1]) | UInt16(row.attributeValue[2]) << 8
                if row.attributeValue.suffix(2).elementsEqual(Self.serviceChangedUUID) { serviceChanged[sender] = handle }
                if row.attributeValue.suffix(2).elementsEqual(Self.streamControlUUID) { streamControl = handle }
            }
        default: break
        }
        guard sender == nil || sender != changer else { return nil }
        if Self.discoveries.contains(opcode) { (changed, changing) = (nil, nil) }
        guard let range = changed, Self.uses.contains(opcode), let number = pdu.fields.named("Attribute_Handle")?.int,
            let handle = UInt16(exactly: number), range.contains(handle)
        else { return nil }
        changed = nil
        return Observation(.serviceChangeIgnored, [("Request", .text(pdu.name)), ("Handle", .text(Hex.number(handle)))])
    }

    /// The first operation that the ASE Control Point refuses: opcode, number, then for each stream its identifier, response code and reason.
    /// ASCS 1.0, 4.7.
    private func refusedOperation(_ pdu: DecodedLayer) -> Observation? {
        guard let value = pdu.content(as: ATT.HandleValueNtf.self), value.attributeHandle == streamControl, value.attributeValue.count >= 5
        else { return nil }
        let octets = value.attributeValue
        for start in stride(from: 2, to: octets.count - 2, by: 3) where octets[start + 1] != 0 {
            return Observation(
                .streamOperationRefused,
                [
                    ("Operation", .text(Self.name(octets[0], Self.operations))),
                    ("Result", .text(Self.name(octets[start + 1], Self.results))),
                    ("Reason", .text(Self.name(octets[start + 2], Self.reasons))),
                ])
        }
        return nil
    }

    /// Names by their numbers, from 0. ASCS 1.0, tables 4.7, 5.1 and 5.2.
    private static let operations = [
        nil, "Config Codec", "Config QoS", "Enable", "Receiver Start Ready", "Disable", "Receiver Stop Ready", "Update Metadata", "Release",
    ]
    private static let results = [
        nil, "Unsupported Opcode", "Invalid Length", "Invalid ASE_ID", "Invalid ASE State Machine Transition", "Invalid ASE Direction",
        "Unsupported Audio Capabilities", "Unsupported Configuration Parameter Value", "Rejected Configuration Parameter Value",
        "Invalid Configuration Parameter Value", "Unsupported Metadata", "Rejected Metadata", "Invalid Metadata", "Insufficient Resources",
        "Unspecified Error",
    ]
    private static let reasons = [
        nil, "Codec_ID", "Codec_Specific_Configuration", "SDU_Interval", "Framing", "PHY", "Maximum_SDU_Size", "Retransmission_Number",
        "Max_Transport_Latency", "Presentation_Delay", "Invalid ASE CIS Mapping",
    ]

    private static func name(_ number: UInt8, _ names: [String?]) -> String {
        let code = Hex.number(number)
        guard Int(number) < names.count, let name = names[Int(number)] else { return code }
        return "\(name) (\(code))"
    }

    private mutating func noteIndication(_ pdu: DecodedLayer, from sender: PacketSender?) {
        values += 1
        guard let indication = pdu.content(as: ATT.HandleValueInd.self), indication.attributeHandle == serviceChanged[sender],
            indication.attributeValue.count == 4
        else { return }
        let octets = indication.attributeValue.map(UInt16.init)
        let (first, last) = (octets[0] | octets[1] << 8, octets[2] | octets[3] << 8)
        if first <= last { (changing, changer) = (first...last, sender) }
    }
}

/// The subscriptions of devices' clients on their last connections.
struct SubscriptionBook {
    private var subscribed: [Int: Set<UInt16>] = [:]

    private static let most = 1_024
    /// A shorter connection may have ended before the client came to it.
    private static let longEnough: Int64 = 10_000_000

    mutating func ended(_ link: Link, device: Int, _ values: ValueWatch, isEncrypted: Bool, at now: Moment) -> Observation? {
        let before = subscribed[device] ?? []
        if subscribed.count >= Self.most { subscribed.removeAll() }
        if !values.subscribed.isEmpty { subscribed[device] = values.subscribed }
        guard link.isComplete, !link.isOnAir, !link.isMerged, !before.isEmpty, values.subscribed.isEmpty, values.values == 0,
            values.requests > 0, now.time - link.opened.time >= Self.longEnough
        else { return nil }
        let handles = before.sorted().prefix(4).map { Hex.number($0) }.joined(separator: ", ")
        return Observation(
            .subscriptionMissing, [("Handles", .text(handles)), ("Bonded", .number(isEncrypted ? 1 : 0))], packet: link.opened.packet)
    }
}
