import BBPackets

/// The text of a case that takes one path and states the violated invariant.
///
/// Instants and the state of both sides cannot be read over HCI: for `sidesAgree`, `nothingLeft`, `instantAhead`, `oneInstant` and
/// `oneAtATime` the case checks only that data passes and the link lives. It has no host that accepts connection parameters.
public struct ExploredCase {
    public var path: ExploredPath
    public var violation: Violation
    public var subject: LinkRole

    public init(_ finding: Explorer.Finding, subject: LinkRole) {
        (path, violation, self.subject) = (finding.path, finding.violation, subject)
    }

    /// The YAML file.
    public var text: String {
        """
        title: \(title)
        purpose: \(violation.invariant.statement)
        reference: \(violation.invariant.section)
        \(needs)limits: {step: 60 s}
        setup:
          - use: connected
            as: \(side(.central))
            saveAs: link
          - send: \(HCICommands.LEReadRemoteFeatures.name)
            as: \(side(.central))
            with: {Connection_Handle: $link.\(side(.central))}
          - expect: \(HCIEvents.LEReadRemoteFeaturesComplete.name)
            as: \(side(.central))
            within: 20 connection events
        \(maskSteps)  - wait: 10 connection events
        steps:
        \((requestSteps + judgingSteps).map { "  " + $0 }.joined(separator: "\n"))

        """
    }

    private var title: String {
        let parts = path.requests.map {
            "\($0.request.rawValue) of the \($0.role.rawValue)\($0.event > 0 ? " \($0.event) events later" : "")"
        }
        let text = parts.joined(separator: ", ") + (path.lostPacket.map { ", packet \($0) lost" } ?? "")
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// Steps that mask LE_Remote_Connection_Parameter_Request, so that no host has to answer it.
    private var maskSteps: String {
        guard path.requests.contains(where: { $0.request == .parameters }) else { return "" }
        let events = [
            HCIEvents.LEConnectionComplete.name, HCIEvents.LEConnectionUpdateComplete.name, HCIEvents.LEReadRemoteFeaturesComplete.name,
            HCIEvents.LELongTermKeyRequest.name, HCIEvents.LEDataLengthChange.name, HCIEvents.LEPHYUpdateComplete.name,
        ]
        return ["tester", "subject"].map { side in
            "  - send: \(HCICommands.LESetEventMask.name)\n    as: \(side)\n    with: {LE_Event_Mask: \(events.joined(separator: "|"))}\n"
        }.joined()
    }

    private var needs: String {
        let isAboutAir = path.lostPacket != nil || [.rejectionRight, .encryptionAlone].contains(violation.invariant)
        var words = isAboutAir ? ["air"] : []
        for request in Set(path.requests.map(\.request)).sorted(by: { $0.rawValue < $1.rawValue }) {
            words += (Self.features[request] ?? []).flatMap { ["tester.\($0)", "subject.\($0)"] }
        }
        return words.isEmpty ? "" : "needs: " + words.joined(separator: " and ") + "\n"
    }

    private static let features: [LinkRequest: [String]] = [
        .parameters: ["Connection_Parameters_Request"], .phy: ["LE_2M_PHY", "LE_Coded_PHY"],
        .dataLength: ["LE_Data_Packet_Length_Extension"], .encryption: ["LE_Encryption"],
    ]

    private func side(_ role: LinkRole) -> String { role == subject ? "subject" : "tester" }

    // MARK: Requests

    private var requestSteps: [String] {
        var lines: [String] = []
        if let lost = path.lostPacket {
            lines += ["- do: lose packet", "  as: tester", "  with: {number: \(lost)}"]
        }
        var event = 0
        for planned in path.requests {
            if planned.event > event { lines.append("- wait: \(planned.event - event) connection events") }
            event = planned.event
            lines += steps(planned)
        }
        return lines
    }

    private func steps(_ planned: PlannedRequest) -> [String] {
        let side = side(planned.role)
        let isCentral = planned.role == .central
        let handle = "Connection_Handle: $link.\(side)"
        func send(_ fields: String) -> [String] {
            planned.request.command.map { ["- send: \($0.name)", "  as: \(side)", "  with: {\(fields)}"] } ?? []
        }
        switch planned.request {
        case .version, .features: return send(handle)
        case .parameters, .update:
            let interval = isCentral ? 20 : 40
            return send(
                handle + ", Connection_Interval_Min: \(interval), Connection_Interval_Max: \(interval), Supervision_Timeout: 400")
        case .channelMap: return send("Channel_Map: 0xFFFFFF")
        case .phy:
            return send(handle + (isCentral ? ", TX_PHYs: LE_2M, RX_PHYs: LE_2M" : ", TX_PHYs: LE_Coded, RX_PHYs: LE_1M"))
        case .dataLength: return send(handle + ", TX_Octets: \(isCentral ? 251 : 100), TX_Time: 2120")
        case .encryption:
            return send(handle + ", Random_Number: 7, Encrypted_Diversifier: 9, Long_Term_Key: {octet: 0x5A, times: 16}")
                + answer(
                    HCIEvents.LELongTermKeyRequest.name, HCICommands.LELongTermKeyRequestReply.name, from: .peripheral,
                    with: "Long_Term_Key: {octet: 0x5A, times: 16}")
        case .data:
            return ["- send: L2CAP_B_Frame", "  as: \(side)", "  on: $link.\(side)", "  with: {Information_Payload: [0x43, 1]}"]
        case .termination: return send(handle + ", Reason: Remote_User_Terminated_Connection")
        }
    }

    private func answer(_ event: String, _ command: String, from role: LinkRole, with fields: String) -> [String] {
        let side = side(role)
        return [
            "- expect: \(event)", "  as: \(side)", "  within: 40 connection events", "- send: \(command)", "  as: \(side)",
            "  with: {Connection_Handle: $link.\(side), \(fields)}",
        ]
    }

    // MARK: Judgement

    private var judgingSteps: [String] {
        let states = "  states: \(violation.invariant.statement)"
        let role = violation.role ?? subject
        func line(_ verb: String, _ name: String, _ more: [String]) -> [String] {
            ["- \(verb): \(name)", "  as: \(side(role))"] + more + ["  since: start", states]
        }
        switch violation.invariant {
        case .endsOnce:
            return line("expect", violation.name ?? HCIEvents.DisconnectionComplete.name, ["  within: 100 connection events"])
        case .rejectionTold:
            let codes = "{anyOf: [LMP_Error_Transaction_Collision, Different_Transaction_Collision]}"
            return line(
                "expect", violation.name ?? HCIEvents.LEPHYUpdateComplete.name,
                ["  where: {Status: \(codes)}", "  within: 100 connection events"])
        case .rejectionRight:
            let fields = violation.fields.map { ["  where: \($0)"] } ?? []
            return ["- air: none", "  pdu: \(violation.name ?? LLControl.RejectExtInd.name)", "  as: \(side(role))"] + fields + [
                "  within: 20 connection events", "  since: start", states,
            ]
        case .dataArrives where path.requests(of: role.other).contains(.data):
            return line(
                "expect", "L2CAP_B_Frame", ["  where: {Information_Payload: {startsWith: [0x43, 1]}}", "  within: 100 connection events"])
        case .linkLives where path.terminates:
            return line("expect", HCIEvents.DisconnectionComplete.name, ["  where: {Reason: {not: Connection_Timeout}}", "  within: 46 s"])
        case .encryptionAlone:
            return [
                "- air: none", "  pdu: \(violation.name ?? LLControl.PingReq.name)", "  as: \(side(role))",
                "  within: 40 connection events",
                "  since: start", states,
            ]
        default:
            return LinkRole.allCases.flatMap { role in
                [
                    "- send: L2CAP_B_Frame", "  as: \(side(role))", "  on: $link.\(side(role))", "  with: {Information_Payload: [0x44, 2]}",
                    "- expect: L2CAP_B_Frame", "  as: \(side(role.other))", "  where: {Information_Payload: {startsWith: [0x44, 2]}}",
                    "  within: 100 connection events", states,
                ]
            } + ["- none: \(HCIEvents.DisconnectionComplete.name)", "  as: \(side(role))", "  since: start", "  within: 46 s", states]
        }
    }
}
