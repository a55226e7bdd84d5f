import BBHCI
import BBPackets
import BBTiming

extension CheckUp {
    /// Commands and data of various lengths in local loopback, with flow control. Core Vol 4, Part E, 7.6.1.
    func checkLoopback() async throws {
        guard claims(HCICommands.WriteLoopbackMode.self), let handle = try await enterLoopback() else {
            return report.skipped.append(CheckUpReport.Skipped(check: "loopback", reason: "it has no local loopback for data"))
        }
        try await sweepEvents()
        try await sweepData(handle)
        _ = try await link.ask(HCICommands.Reset())
        if !link.has("acl-dead", "data-in-dead", "credits-never", "completed-packets-masked") { try await checkMaskedCredits() }
        _ = try await link.ask(HCICommands.Reset())
    }

    private func enterLoopback() async throws -> ConnectionHandle? {
        let start = link.log.count
        guard try await link.ask(HCICommands.WriteLoopbackMode(loopbackMode: 1)).isSuccess else { return nil }
        return try await link.event(HCIEvents.ConnectionComplete.self, from: start, within: .milliseconds(500)) { $0.linkType == .acl }?
            .connectionHandle
    }

    private static let eventLengths = [16, 17, 32, 63, 64, 65, 69, 70, 71, 128, 251]

    private func sweepEvents() async throws {
        guard !link.has("event-size-hole") else { return }
        for length in Self.eventLengths {
            let start = link.log.count
            // Event header, command header and parameters.
            link.send(HCIPacket(opcode: HCICommands.ReadBDADDR.opcode, parameters: [UInt8](repeating: 0x5A, count: length - 5)))
            let back = try await link.first(from: start, within: .milliseconds(500)) { packet -> Bool? in
                packet.eventCode == HCIEvents.LoopbackCommand.code && packet.bytes.count == length ? true : nil
            }
            link.watchTakesCredit()
            guard back == nil else { continue }
            // Some controllers loop back data only.
            let loops = try await isLoopingCommands()
            if loops { link.note("event-size-hole", "an event of \(length) octets does not arrive") }
            return
        }
    }

    private func isLoopingCommands() async throws -> Bool {
        let start = link.log.count
        link.send(HCIPacket(opcode: HCICommands.ReadBDADDR.opcode, parameters: [0x5A]))
        defer { link.watchTakesCredit() }
        return try await link.first(from: start, within: .milliseconds(500)) { $0.eventCode == HCIEvents.LoopbackCommand.code ? true : nil }
            != nil
    }

    private static let dataLengths = [
        16, 12, 17, 23, 27, 59, 60, 61, 63, 64, 65, 123, 124, 128, 188, 224, 228, 247, 250, 251, 252, 27, 27, 27,
    ]

    private func sweepData(_ handle: ConnectionHandle) async throws {
        var lost: [Int] = []
        var uncredited: [Int] = []
        var made = 0
        for length in Self.dataLengths where length <= Int(identity.aclLength) {
            made += 1
            let outcome = try await sendRound(handle, length)
            if !outcome.isBack { lost.append(length) } else if !outcome.isCredited { uncredited.append(length) }
            link.forgetOutstanding(handle)
            if lost.count >= 6 { break }
        }
        noteLost(lost, of: Array(Self.dataLengths.filter { $0 <= Int(identity.aclLength) }.prefix(made)))
        guard let first = uncredited.first else { return }
        let last = try await sendRound(handle, 27)
        if last.isCredited || first == 251 && uncredited.count == 1 {
            link.note("credits-missing", "no credit for data of \(first) octets")
        } else {
            link.note("credits-never", "no further credits after \(made - uncredited.count) packets")
        }
    }

    private func noteLost(_ lost: [Int], of made: [Int]) {
        guard let first = lost.first else { return }
        // Data that was held back may arrive with the next packet, which then is not the expected one.
        let whole = made.filter { ($0 + ACLHeader.octets).isMultiple(of: 64) }
        if lost.count == made.count {
            link.note(plan.usb == nil ? "acl-dead" : "data-in-dead", "it delivers no data of any length")
        } else if plan.usb != nil, whole.count > 1, whole.first == first, Set(whole).isSubset(of: lost) {
            link.note(
                "waits-for-zlp",
                "data that fills its USB packets, such as \(first + ACLHeader.octets) octets with the header, waits for more")
        } else {
            link.note("acl-size-hole", "data of \(first) octets, \(first + ACLHeader.octets) with its header, does not come back")
        }
    }

    private func sendRound(_ handle: ConnectionHandle, _ length: Int) async throws -> (isBack: Bool, isCredited: Bool) {
        let start = link.log.count
        let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ length) }
        link.send(HCIPacket(acl: handle, .first, content))
        let back = try await link.first(from: start, within: .milliseconds(500)) { packet -> Bool? in
            packet.kind == .acl && packet.dataHandle == handle ? packet.parameters == content : nil
        }
        var isCredited = !link.watch.isOutstanding(handle)
        if !isCredited {
            isCredited =
                try await link.first(from: start, within: .milliseconds(1_500)) { [link] _ in link.watch.isOutstanding(handle) ? nil : true
                } != nil
        }
        return (back == true, isCredited)
    }

    /// Number_Of_Completed_Packets has no bit in the event mask, so clearing bits must not suppress it. Core Vol 4, Part E, 7.3.1.
    private func checkMaskedCredits() async throws {
        let mask = EventMask(rawValue: EventMask.standard & ~(1 << 18))
        guard try await link.ask(HCICommands.SetEventMask(eventMask: mask)).isSuccess, let handle = try await enterLoopback() else {
            return
        }
        let round = try await sendRound(handle, 27)
        guard round.isBack, !round.isCredited, !link.has("credits-missing") else { return }
        link.note(
            "completed-packets-masked", "Number_Of_Completed_Packets is held back by bit 18 of the event mask, which it does not have")
    }
}

extension EventMask {
    /// The event mask after a reset. Core Vol 4, Part E, 7.3.1.
    fileprivate static let standard: UInt64 = 0x0000_1FFF_FFFF_FFFF
}

extension CheckUpLink {
    /// A looped-back command returns its own credit.
    func watchTakesCredit() { watch.takeCredit() }

    func forgetOutstanding(_ handle: ConnectionHandle) { watch.forgetOutstanding(handle) }
}
