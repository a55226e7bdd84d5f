import BBCases
import BBPackets

extension LinkState {
    /// Follows a PDU on the link, above the HCI or the radio.
    func follow(_ pdu: DecodedLayer, from sender: DiagnosisEvent.Sender?, packet: Int, time: Int64, isFixed: Bool) -> Conclusions {
        var conclusions = Conclusions()
        switch pdu.layer {
        case .att: if isFixed { followATT(pdu, sender, packet, time, &conclusions) }
        case .smp: followSMP(pdu, packet, time, &conclusions)
        case .llControl: followControl(pdu, sender, packet, time)
        default: break
        }
        if sender != .central, pdu.name == "LL_CONNECTION_PARAM_REQ" || pdu.name == "L2CAP_CONNECTION_PARAMETER_UPDATE_REQ" {
            conclusions.add(.parameterRequest, Self.requestedParameters(pdu), packet: packet)
        }
        return conclusions
    }

    /// Conclusions about requests that waited too long, or for ever if the link ended.
    func overdue(at time: Int64, packet: Int, isEnd: Bool) -> Conclusions {
        var conclusions = Conclusions()
        func isDue(_ request: Request, _ limit: Int64) -> Bool { isEnd || time - request.time > limit }
        for (sender, request) in att where isDue(request, Self.attTimeout) {
            conclusions.add(.attUnanswered, Self.fields(request, time), packet: request.packet)
            att[sender] = nil
        }
        for (sender, request) in control where isDue(request, Self.procedureTimeout) {
            conclusions.add(.llUnanswered, Self.fields(request, time), packet: request.packet)
            control[sender] = nil
        }
        for (command, request) in procedures where isDue(request, Self.procedureTimeout) {
            conclusions.add(.procedureUnanswered, Self.fields(request, time), packet: request.packet)
            procedures[command] = nil
        }
        if let request = pairing, isDue(request, Self.pairingTimeout) {
            conclusions.add(
                .pairingAbandoned, [("Last", .text(request.name)), ("Waited", Conclusions.milliseconds(time - request.time))],
                packet: request.packet)
            pairing = nil
        }
        return conclusions
    }

    /// Transaction timeouts. Core Vol 3, Part F, 3.3.3; Vol 6, Part B, 5.2; Vol 3, Part H, 3.4.
    private static let attTimeout: Int64 = 30_000_000
    private static let procedureTimeout: Int64 = 40_000_000
    private static let pairingTimeout: Int64 = 30_000_000

    private static func fields(_ request: Request, _ time: Int64) -> [(String, CaseValue)] {
        [("Request", .text(request.name)), ("Waited", Conclusions.milliseconds(time - request.time))]
    }

    private static func requestedParameters(_ pdu: DecodedLayer) -> [(String, CaseValue)] {
        func int(_ name: String) -> Int { pdu.fields.named(name)?.int ?? 0 }
        let (low, high) = (int("Interval_Min") * 1_250, int("Interval_Max") * 1_250)
        return [
            ("Interval_Min", low / 1_000), ("Interval_Max", high / 1_000), ("Latency", int("Latency")), ("Timeout", int("Timeout") * 10),
            ("Effective", high * (int("Latency") + 1) / 1_000), ("Remainder", low % 15_000), ("Span", (high - low) / 1_000),
            ("Margin", int("Timeout") * 10 - 2 * high * (int("Latency") + 1) / 1_000),
        ].map { ($0.0, .number(max(0, $0.1))) }
    }

    // MARK: ATT

    private func followATT(
        _ pdu: DecodedLayer, _ sender: DiagnosisEvent.Sender?, _ packet: Int, _ time: Int64, _ conclusions: inout Conclusions
    ) {
        guard let sender else { return }
        let isConfirmation = pdu.name == "ATT_HANDLE_VALUE_CFM"
        if pdu.name.hasSuffix("_REQ") || pdu.name == "ATT_HANDLE_VALUE_IND" {
            att[sender] = Request(name: pdu.name, packet: packet, time: time)
        } else if pdu.name.hasSuffix("_RSP") || isConfirmation {
            if let client = att.keys.first(where: { $0 != sender && (att[$0]?.name == "ATT_HANDLE_VALUE_IND") == isConfirmation }) {
                att[client] = nil
            } else if report.isComplete {
                conclusions.add(.attUnrequested, [("Response", .text(pdu.name))], packet: packet)
            }
        }
        switch pdu.name {
        case "ATT_EXCHANGE_MTU_REQ": mtuRequest = pdu.fields.named("Client_Rx_MTU")?.int
        case "ATT_EXCHANGE_MTU_RSP":
            guard let mine = mtuRequest, let other = pdu.fields.named("Server_Rx_MTU")?.int else { break }
            report.mtu = (packet, max(23, min(mine, other)))
        case "ATT_READ_BY_GROUP_TYPE_RSP": noteServices(pdu)
        default: break
        }
    }

    private func noteServices(_ pdu: DecodedLayer) {
        for row in pdu.fields.named("Attribute_Data_List")?.children ?? [] {
            guard report.services.count < LinkReport.most.services, let octets = row.children.named("Attribute_Value")?.octets,
                let uuid = BluetoothUUID(octets: octets)
            else { continue }
            let text = uuid.words
            if !report.services.contains(text) { report.services.append(text) }
        }
    }

    // MARK: SMP

    private func followSMP(_ pdu: DecodedLayer, _ packet: Int, _ time: Int64, _ conclusions: inout Conclusions) {
        switch pdu.name {
        case "Pairing_Request", "Pairing_Response", "Pairing_Confirm", "Pairing_Random", "Pairing_Public_Key":
            pairing = Request(name: pdu.name, packet: packet, time: time)
        case "Pairing_DHKey_Check": pairing = nil
        case "Pairing_Failed":
            pairing = nil
            let reason = pdu.fields.named("Reason")?.text ?? ""
            LinkReport.note(.init(packet: packet, text: "pairing failed: \(reason)"), in: &report.security)
        default: break
        }
        if pdu.name == "Pairing_Response" {
            let isSecure = (pdu.fields.named("AuthReq")?.int ?? 0) & 0x08 != 0
            LinkReport.note(
                .init(packet: packet, text: isSecure ? "pairing, Secure Connections offered" : "legacy pairing"), in: &report.security)
        }
    }

    // MARK: Link layer control

    private static let controlRequests: Set<String> = [
        "LL_FEATURE_REQ", "LL_PERIPHERAL_FEATURE_REQ", "LL_LENGTH_REQ", "LL_PHY_REQ", "LL_CONNECTION_PARAM_REQ", "LL_ENC_REQ",
        "LL_PING_REQ",
        "LL_CTE_REQ", "LL_CIS_REQ",
    ]

    private func followControl(_ pdu: DecodedLayer, _ sender: DiagnosisEvent.Sender?, _ packet: Int, _ time: Int64) {
        if Self.controlRequests.contains(pdu.name) {
            if let sender { control[sender] = Request(name: pdu.name, packet: packet, time: time) }
        } else if pdu.name != "LL_VERSION_IND" {
            for waiting in control.keys where waiting != sender { control[waiting] = nil }
        }
        func int(_ name: String) -> Int { pdu.fields.named(name)?.int ?? 0 }
        switch pdu.name {
        case "LL_CONNECTION_UPDATE_IND":
            report.set(
                .init(packet: packet, time: time, interval: int("Interval"), latency: int("Latency"), timeout: int("Timeout")))
        case "LL_LENGTH_REQ", "LL_LENGTH_RSP": noteLength(pdu, sender, packet)
        case "LL_PHY_UPDATE_IND":
            let (forth, back) = (pdu.fields.named("PHY_C_TO_P"), pdu.fields.named("PHY_P_TO_C"))
            LinkReport.note(
                .init(packet: packet, text: "central \(forth?.text ?? "?"), peripheral \(back?.text ?? "?")"), in: &report.phys)
            if let value = forth?.int, value > 0 { report.phy.central = value == 4 ? 3 : value }
            if let value = back?.int, value > 0 { report.phy.peripheral = value == 4 ? 3 : value }
        case "LL_START_ENC_RSP":
            report.isEncrypted = true
            pairing = nil
            LinkReport.note(.init(packet: packet, text: "encrypted"), in: &report.security)
        case "LL_TERMINATE_IND":
            report.end = .init(packet: packet, text: "\(sender?.rawValue ?? "unknown side"): \(pdu.fields.named("ErrorCode")?.text ?? "?")")
            isClosed = true
        default: break
        }
    }

    /// The effective length is the smaller of what one side sends and the other receives. Core Vol 6, Part B, 4.5.10.
    private func noteLength(_ pdu: DecodedLayer, _ sender: DiagnosisEvent.Sender?, _ packet: Int) {
        guard let tx = pdu.fields.named("MaxTxOctets")?.int, let rx = pdu.fields.named("MaxRxOctets")?.int else { return }
        guard pdu.name == "LL_LENGTH_RSP" else {
            offered = (tx, rx)
            return
        }
        guard let first = offered else { return }
        let (fromFirst, fromSecond) = (max(27, min(first.tx, rx)), max(27, min(tx, first.rx)))
        report.octets = sender == .peripheral ? (fromFirst, fromSecond) : (fromSecond, fromFirst)
        LinkReport.note(
            .init(packet: packet, text: "central \(report.octets.central), peripheral \(report.octets.peripheral) octets"),
            in: &report.dataLengths)
    }
}
