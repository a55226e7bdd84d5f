import BBCases
import BBPackets
import BBTraffic

/// Compares the features that a peer claims on one link with the procedures that it does not know. Core Vol 6, Part B, 4.6.
struct ClaimWatch {
    private struct Claim {
        var features: Set<String>
        var at: Moment
    }

    private var claims: [PacketSender: Claim] = [:]

    private static let features = PDUCatalog.type(named: "LEFeatures")?.values ?? []
    private static let unsupported = 0x1A
    private static let hostSupport = "_Host_Support"
    /// A peripheral's request by the update. Core Vol 6, Part B, 5.1.7.
    private static let parameterRequest = "Connection_Parameters_Request"
    private static let update = HCIEvents.LEConnectionUpdateComplete.id
    /// The features of which the receiver of a PDU needs one, by opcode. Core Vol 6, Part B, 4.6 and 5.1.
    private static let requests: [Int: [String]] = [
        0x0F: [parameterRequest], 0x12: ["LE_Ping"], 0x14: ["LE_Data_Packet_Length_Extension"], 0x16: ["LE_2M_PHY", "LE_Coded_PHY"],
        0x1D: ["Sleep_Clock_Accuracy_Updates"], 0x23: ["LE_Power_Control_Request"],
    ]

    /// A report of the controller.
    mutating func note(event pdu: DecodedLayer, isPeripheral: Bool, at now: Moment) -> Observation? {
        guard let id = pdu.id, let status = pdu.fields.named("Status")?.int else { return nil }
        if id == HCIEvents.LEReadRemoteFeaturesComplete.id {
            if status == 0, let field = pdu.fields.named("LE_Features") { claim(field, .peer, now) }
            return nil
        }
        guard status == Self.unsupported, let declaration = pdu.declaration else { return nil }
        let needed = id == Self.update && isPeripheral ? [Self.parameterRequest] : declaration.neededFeatures
        return untrue(pdu.name, needed, of: .peer)
    }

    /// A PDU on the air.
    mutating func note(control pdu: DecodedLayer, from sender: PacketSender, at now: Moment) -> Observation? {
        if let field = pdu.fields.named("FeatureSet") {
            claim(field, sender, now)
            return nil
        }
        guard let opcode = pdu.fields.named("UnknownType")?.int, let needed = Self.requests[opcode],
            let request = PDUCatalog.declaration(layer: .llControl, code: opcode)
        else { return nil }
        return untrue(request.name, needed, of: sender)
    }

    private mutating func claim(_ field: DecodedField, _ end: PacketSender, _ now: Moment) {
        guard let value = field.integer else { return }
        claims[end] = Claim(features: Set(Self.features.filter { value >> Int128($0.value) & 1 == 1 }.map(\.name)), at: now)
    }

    private func untrue(_ request: String, _ needed: [String], of end: PacketSender) -> Observation? {
        guard let claim = claims[end] else { return nil }
        let claimed = needed.filter { claim.features.contains($0) }
        guard !claimed.isEmpty, !needed.contains(where: { lacksHost($0, claim.features) }) else { return nil }
        let names = claimed.map { $0.replacing("_", with: " ") }.joined(separator: " and ")
        return Observation(.featureUntrue, [("Request", .text(request)), ("Feature", .text(names)), ("Since", .number(claim.at.packet))])
    }

    /// True for a feature that the host has to switch on and has not.
    private func lacksHost(_ feature: String, _ claimed: Set<String>) -> Bool {
        Self.features.contains { entry in
            guard entry.name.hasSuffix(Self.hostSupport), !claimed.contains(entry.name) else { return false }
            return feature.hasPrefix(entry.name.dropLast(Self.hostSupport.count))
        }
    }
}
