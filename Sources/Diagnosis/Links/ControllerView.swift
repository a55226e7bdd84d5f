import BBCapture
import BBCases
import BBHCI
import BBPackets

/// Follows the HCI traffic of one controller.
struct ControllerView {
    private struct Sent {
        var name: String
        var packet: Int
        var time: Int64
    }

    private var links: [UInt16: Int] = [:]
    private var commands: [Int: Sent] = [:]
    /// True if the capture contains answers to commands at all.
    private var hasAnswers = false
    private var buffers: Int?

    private static let commandTimeout: Int64 = 5_000_000
    private static let stall: Int64 = 5_000_000
    private static let mostCommands = 256
    private static let firstVendorOpcode = 0xFC00
    /// Handles on which controllers send their own log: 0x0EDC those of Qualcomm, the others those of MediaTek.
    private static let logHandles: Set<UInt16> = [0x0EDC, 0x05FE, 0x05FF]

    mutating func receive(_ packet: HCIPacket, _ direction: CaptureDirection, _ decoded: DecodedPacket, _ book: inout LinkBook) {
        book.hasController = true
        switch packet.kind {
        case .command: if let pdu = decoded.pdu { sent(pdu, &book) }
        case .event: if let pdu = decoded.pdu { received(pdu, &book) }
        case .acl: data(packet, direction, decoded, &book)
        case .sco, .iso: break
        }
    }

    /// Concludes which commands and buffers wait too long.
    mutating func check(_ book: inout LinkBook) {
        for (opcode, command) in commands where book.time - command.time > Self.commandTimeout {
            commands[opcode] = nil
            guard hasAnswers else { continue }
            let waited = Conclusions.milliseconds(book.time - command.time)
            book.conclude(.commandUnanswered, [("Command", .text(command.name)), ("Waited", waited)], packet: command.packet)
        }
        for link in links.values {
            guard let state = book[link], state.outstanding > 0, !state.isStallReported, book.time - state.progress > Self.stall,
                state.hasCompletions
            else { continue }
            book[link]?.isStallReported = true
            book.conclude(
                .creditsStalled,
                [("Outstanding", .number(state.outstanding)), ("Waited", Conclusions.milliseconds(book.time - state.progress))],
                packet: book.packet, link: link)
        }
    }

    // MARK: Commands

    private mutating func sent(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        // Some answers to vendor commands are vendor events.
        if commands.count < Self.mostCommands, pdu.declaration != nil, pdu.code < Self.firstVendorOpcode {
            commands[pdu.code] = Sent(name: pdu.name, packet: book.packet, time: book.time)
        }
        let link = link(in: pdu)
        book.receive(pdu, from: .host, link: link)
        if let link, Self.completions[pdu.name] != nil {
            let request = LinkState.Request(name: pdu.name, packet: book.packet, time: book.time)
            book[link]?.procedures[pdu.name] = request
        }
    }

    /// Commands that start a procedure on a link, and the events that complete it.
    private static let completions: [String: Set<String>] = [
        "LE_Read_Remote_Features_Page_0": ["LE_Read_Remote_Features_Page_0_Complete"],
        "LE_Read_Remote_Features": ["LE_Read_Remote_Features_Complete"],
        "Read_Remote_Version_Information": ["Read_Remote_Version_Information_Complete"],
        "LE_Set_PHY": ["LE_PHY_Update_Complete"], "LE_Connection_Update": ["LE_Connection_Update_Complete"],
        "LE_Enable_Encryption": ["Encryption_Change", "Encryption_Change [v2]", "Encryption_Key_Refresh_Complete"],
    ]

    /// Ends procedures that an event completes, or whose command was refused.
    private func settle(_ pdu: DecodedLayer, _ link: Int, _ book: inout LinkBook) {
        for (command, events) in Self.completions where events.contains(pdu.name) { book[link]?.procedures[command] = nil }
    }

    /// A refused command starts no procedure.
    private func refused(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        guard pdu.name == "Command_Status", pdu.fields.named("Status")?.int != 0, let command = pdu.command?.name else { return }
        let (sent, time) = (commands[pdu.fields.named("Command_Opcode")?.int ?? 0], book.time)
        for link in links.values where book[link]?.procedures[command]?.time == (sent?.time ?? time) {
            book[link]?.procedures[command] = nil
        }
    }

    private func link(in pdu: DecodedLayer) -> Int? {
        let field = pdu.fields.named("Connection_Handle") ?? pdu.returns.named("Connection_Handle")
        return field?.int.flatMap { links[UInt16(truncatingIfNeeded: $0 & 0x0FFF)] }
    }

    // MARK: Events

    private static let openings: Set<String> = [
        "LE_Connection_Complete", "LE_Enhanced_Connection_Complete", "LE_Enhanced_Connection_Complete [v2]", "Connection_Complete",
    ]

    private mutating func received(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        if let opcode = pdu.fields.named("Command_Opcode")?.int {
            hasAnswers = true
            refused(pdu, &book)
            commands[opcode] = nil
            noteBuffers(pdu)
            if opcode == Int(HCICommands.Reset.opcode), pdu.returns.named("Status")?.int == 0 {
                for link in links.values.sorted() { book.close(link) }
                links = [:]
            }
        }
        let device = pdu.address.map { book.disguise.number(of: $0) }
        if Self.openings.contains(pdu.name) { opened(pdu, &book) }
        let link = link(in: pdu)
        book.receive(pdu, from: .controller, link: link, device: Self.openings.contains(pdu.name) ? device : nil)
        switch pdu.name {
        case "Number_Of_Completed_Packets": completed(pdu, &book)
        case "LE_Advertising_Report", "LE_Extended_Advertising_Report": advertised(pdu, &book)
        default: break
        }
        guard let link else { return }
        settle(pdu, link, &book)
        if pdu.name == "Disconnection_Complete" {
            disconnected(pdu, link, &book)
        } else {
            note(pdu, link, &book)
        }
    }

    private mutating func noteBuffers(_ pdu: DecodedLayer) {
        for name in ["Total_Num_LE_ACL_Data_Packets", "Total_Num_ACL_Data_Packets"] {
            if let count = pdu.returns.named(name)?.int, count > 0 { buffers = count }
        }
    }

    private mutating func opened(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        guard pdu.fields.named("Status")?.int == 0, let handle = pdu.fields.named("Connection_Handle")?.int else { return }
        let key = UInt16(truncatingIfNeeded: handle & 0x0FFF)
        let roleBefore = links[key].flatMap { book[$0]?.report.localRole }
        if let before = links[key] { book.close(before) }
        let isLE = pdu.name != "Connection_Complete"
        if links.count >= 1_024 { links.removeAll() }
        let link = book.openLink(isLE ? .le : .classic, peer: pdu.address, isComplete: true)
        links[key] = link
        if let role = pdu.fields.named("Role")?.int {
            let role = role == 0 ? "central" : "peripheral"
            book[link]?.report.localRole = role
            book[link]?.report.isMerged = roleBefore.map { $0 != role } ?? false
        }
        if isLE { setParameters(pdu, link, &book) }
    }

    private func setParameters(_ pdu: DecodedLayer, _ link: Int, _ book: inout LinkBook) {
        guard let interval = pdu.fields.named("Connection_Interval")?.int, let latency = pdu.fields.named("Peripheral_Latency")?.int,
            let timeout = pdu.fields.named("Supervision_Timeout")?.int
        else { return }
        let (packet, time) = (book.packet, book.time)
        book[link]?.report.set(.init(packet: packet, time: time, interval: interval, latency: latency, timeout: timeout))
    }

    private func note(_ pdu: DecodedLayer, _ link: Int, _ book: inout LinkBook) {
        guard var report = book[link]?.report else { return }
        let isGood = (pdu.fields.named("Status")?.int ?? 0) == 0
        func text(_ name: String) -> String { pdu.fields.named(name)?.text ?? "?" }
        let packet = book.packet
        let isCentral = report.localRole != "peripheral"
        switch pdu.name {
        case "LE_Connection_Update_Complete" where isGood:
            setParameters(pdu, link, &book)
            report = book[link]?.report ?? report
        case "LE_Data_Length_Change":
            LinkReport.note(
                .init(packet: packet, text: "out \(text("Max_TX_Octets")), in \(text("Max_RX_Octets"))"), in: &report.dataLengths)
            let (out, back) = (pdu.fields.named("Max_TX_Octets")?.int ?? 27, pdu.fields.named("Max_RX_Octets")?.int ?? 27)
            report.octets = isCentral ? (out, back) : (back, out)
        case "LE_PHY_Update_Complete" where isGood:
            LinkReport.note(.init(packet: packet, text: "out \(text("TX_PHY")), in \(text("RX_PHY"))"), in: &report.phys)
            let (out, back) = (pdu.fields.named("TX_PHY")?.int ?? 1, pdu.fields.named("RX_PHY")?.int ?? 1)
            report.phy = isCentral ? (out, back) : (back, out)
        case "Encryption_Change", "Encryption_Change [v2]", "Encryption_Key_Refresh_Complete":
            let isOn = isGood && (pdu.fields.named("Encryption_Enabled")?.int ?? 1) != 0
            report.isEncrypted = isOn
            let state = isGood ? (isOn ? "encrypted" : "encryption off") : "encryption failed: \(text("Status"))"
            LinkReport.note(.init(packet: packet, text: state), in: &report.security)
            book[link]?.pairing = nil
        default: break
        }
        book[link]?.report = report
        sign(link, &book)
    }

    private func sign(_ link: Int, _ book: inout LinkBook) {
        let now = (book.packet, book.time)
        book[link]?.lastSign = now
        book[link]?.lastAdvertised = nil
    }

    private mutating func disconnected(_ pdu: DecodedLayer, _ link: Int, _ book: inout LinkBook) {
        guard pdu.fields.named("Status")?.int == 0, let state = book[link], let reason = pdu.fields.named("Reason") else { return }
        let packet = book.packet
        book[link]?.report.end = .init(packet: packet, text: reason.text)
        book.settle(link, isEnd: true)
        if reason.int == Int(ErrorCode.connectionTimeout.rawValue) {
            let sign = state.lastSign(before: book.time)
            book.conclude(
                .linkLost,
                [
                    ("Silence", Conclusions.milliseconds(book.time - sign)),
                    ("Timeout", Conclusions.milliseconds(state.timeout)), ("Limit", state.limit),
                    ("Advertised", .number(state.lastAdvertised.map { $0 > sign } == true ? 1 : 0)),
                ], packet: book.packet, link: link)
        }
        links = links.filter { $0.value != link }
        book.close(link)
    }

    private func completed(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        for row in pdu.fields.named("Handles")?.children ?? [] {
            guard let handle = row.children.named("Connection_Handle")?.int, let link = links[UInt16(truncatingIfNeeded: handle & 0x0FFF)],
                let count = row.children.named("Num_Completed_Packets")?.int, let state = book[link]
            else { continue }
            book[link]?.outstanding = max(0, state.outstanding - count)
            let time = book.time
            book[link]?.progress = time
            book[link]?.hasCompletions = true
            book[link]?.complete(at: time)
        }
    }

    /// A device that advertises again has left its link. Core Vol 6, Part B, 4.5.
    private func advertised(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        for link in links.values {
            guard let state = book[link], let peer = state.peer?.value else { continue }
            let reports = pdu.fields.named("Reports")?.children ?? []
            if reports.contains(where: { $0.children.named("Address")?.int == Int(peer) }) { state.lastAdvertised = book.time }
        }
    }

    // MARK: Data

    private mutating func data(_ packet: HCIPacket, _ direction: CaptureDirection, _ decoded: DecodedPacket, _ book: inout LinkBook) {
        guard let header = packet.aclHeader else { return }
        let handle = header.handle.rawValue & 0x0FFF
        if links[handle] == nil {
            guard direction == .hostToController || !Self.logHandles.contains(handle) else { return }
            if links.count >= 1_024 { links.removeAll() }
            links[handle] = book.openLink(.le, peer: nil, isComplete: false)
        }
        guard let link = links[handle], let state = book[link] else { return }
        let isOut = direction == .hostToController
        if isOut {
            let time = book.time
            if state.outstanding == 0 { book[link]?.progress = time }
            book[link]?.isStarved = buffers.map { state.outstanding >= $0 } ?? false
            book[link]?.outstanding += 1
        } else {
            sign(link, &book)
        }
        let role = state.report.localRole
        let sender: DiagnosisEvent.Sender =
            role == nil ? (isOut ? .local : .peer) : isOut == (role == "central") ? .central : .peripheral
        book.receive(decoded.layers, from: sender, link: link)
    }
}

extension DecodedLayer {
    /// The address of the remote device in an event about a connection.
    fileprivate var address: DeviceAddress? {
        guard let field = fields.named("Peer_Address") ?? fields.named("BD_ADDR"), let value = field.integer, value != 0 else { return nil }
        return DeviceAddress(value: UInt64(truncatingIfNeeded: value), kind: field.addressKind ?? .public)
    }
}
