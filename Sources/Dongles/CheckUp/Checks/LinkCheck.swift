import BBHCI
import BBPackets
import BBTiming

extension CheckUp {
    /// Handles of both ends of a connection between the dongle, as central, and the helper.
    private struct Pair {
        var near: ConnectionHandle
        var far: ConnectionHandle
    }

    /// A connection to the helper: data in both directions, encryption, concurrent roles, and disconnection.
    func checkLinks() async throws {
        guard let helper, let pair = try await connect(helper, page2: true) else { return }
        try await link.rest(.milliseconds(300))
        if link.watch.hasCrashed { throw CheckUpLink.Dead() }
        let before = try await exchange(helper, pair)
        figure("data over a link", before ? "both ways" : "not both ways")
        try await checkPayloadTimeout(helper, pair, worked: before)
        try await checkEncryption(helper, pair)
        if hears { try await checkBesideLink(helper) }
        try await checkEnd(helper, pair)
        _ = try await helper.ask(HCICommands.Reset())
        _ = try await link.ask(HCICommands.Reset())
    }

    private func connect(_ helper: CheckUpLink, page2: Bool) async throws -> Pair? {
        guard let address = try await Self.advertise(helper, .advInd) else { return nil }
        helper.clear()
        _ = try await link.ask(HCICommands.Reset())
        _ = try await link.ask(HCICommands.SetEventMask(eventMask: Self.everyEvent))
        _ = try await link.ask(HCICommands.LESetEventMask(leEventMask: Self.leEvents))
        if page2 { _ = try await link.ask(HCICommands.SetEventMaskPage2(eventMaskPage2: .init(rawValue: 1 << 23))) }
        let peer = DeviceAddress(address, kind: .random)
        link.clear()
        guard try await link.ask(Self.create(toward: peer, interval: 0x60)).isSuccess else { return nil }
        guard let near = try await Self.opened(link), let far = try await Self.opened(helper) else {
            _ = try await link.ask(HCICommands.LECreateConnectionCancel())
            return nil
        }
        return Pair(near: near, far: far)
    }

    private static func opened(_ link: CheckUpLink) async throws -> ConnectionHandle? {
        try await link.first(within: .seconds(5)) { [link] packet in
            guard packet.kind == .event, packet.eventCode == HCIEvents.LEConnectionComplete.code else { return nil }
            return link.watch.lastConnection
        }
    }

    /// Exchanges a frame on an unused channel in both directions; true if both arrive.
    private func exchange(_ helper: CheckUpLink, _ pair: Pair) async throws -> Bool {
        let there = try await deliver(from: link, pair.near, to: helper, pair.far)
        let back = try await deliver(from: helper, pair.far, to: link, pair.near)
        if !back, there, !link.has("acl-dead", "data-in-dead", "waits-for-zlp") {
            link.note("acl-dead", "it delivers no data of a connection")
        }
        return there && back
    }

    private func deliver(from one: CheckUpLink, _ handle: ConnectionHandle, to other: CheckUpLink, _ far: ConnectionHandle) async throws
        -> Bool
    {
        let start = other.log.count
        var writer = ByteWriter(reserving: 16)
        L2CAPHeader(length: 4, channel: 0x003A).encode(into: &writer)
        writer.bytes([1, 2, 3, 4])
        one.send(HCIPacket(acl: handle, .firstNonFlushable, writer.bytes))
        return try await other.first(from: start, within: .seconds(2)) { $0.kind == .acl && $0.dataHandle == far ? true : nil } != nil
    }

    private func checkPayloadTimeout(_ helper: CheckUpLink, _ pair: Pair, worked: Bool) async throws {
        guard worked, claims(HCICommands.WriteAuthenticatedPayloadTimeout.self), !link.has("no-authenticated-payload-timeout") else {
            return
        }
        let command = HCICommands.WriteAuthenticatedPayloadTimeout(connectionHandle: pair.near, authenticatedPayloadTimeout: 3_000)
        guard try await link.ask(command).isSuccess, try await !deliver(from: link, pair.near, to: helper, pair.far) else { return }
        link.note("payload-timeout-breaks-pairing", "data is lost once the authenticated payload timeout was written")
    }

    // MARK: Encryption

    private func checkEncryption(_ helper: CheckUpLink, _ pair: Pair) async throws {
        guard has(.leEncryption), try await !encrypts(helper, pair) else { return }
        _ = try await link.ask(HCICommands.Reset())
        guard let pair = try await connect(helper, page2: false), try await encrypts(helper, pair) else { return }
        link.note("encryption-change-masked", "with page 2 of the event mask set Encryption_Change is not sent")
    }

    private func encrypts(_ helper: CheckUpLink, _ pair: Pair) async throws -> Bool {
        let start = link.log.count
        let key = [UInt8](repeating: 0x42, count: 16)
        let command = HCICommands.LEEnableEncryption(
            connectionHandle: pair.near, randomNumber: 1, encryptedDiversifier: 1, longTermKey: key)
        guard try await link.ask(command).isSuccess else { return true }
        guard try await helper.event(HCIEvents.LELongTermKeyRequest.self) != nil else { return true }
        _ = try await helper.ask(HCICommands.LELongTermKeyRequestReply(connectionHandle: pair.far, longTermKey: key))
        return try await link.first(from: start, within: .seconds(2)) { packet -> Bool? in
            packet.eventCode == HCIEvents.EncryptionChange.code || packet.eventCode == HCIEvents.EncryptionChangeV2.code ? true : nil
        } != nil
    }

    // MARK: Concurrent roles and disconnection

    /// Scanning and advertising during a connection as central. Core Vol 4, Part E, 7.8.27: bits 24 and 18.
    private func checkBesideLink(_ helper: CheckUpLink) async throws {
        guard let states = try await link.returns(HCICommands.LEReadSupportedStates())?.leStates else { return }
        if states >> 24 & 1 == 1, !link.has("legacy-scan-unanswered") {
            let status = try await enter(.scanning)
            if status == .success {
                try await listenBesideLink(helper)
                _ = try await link.ask(HCICommands.LESetScanEnable(leScanEnable: 0))
            } else if let status {
                link.note("no-scan-beside-links", "scanning beside a connection is claimed and answered by \(status)")
            }
        }
        guard states >> 18 & 1 == 1, !link.has("one-le-role", "le-states-lie") else { return }
        let status = try await enter(.advertising)
        if let status, status != .success {
            link.note("le-states-lie", "advertising beside a connection is claimed and answered by \(status)")
        } else if status == .success {
            _ = try await link.ask(HCICommands.LESetAdvertisingEnable(advertisingEnable: 0))
        }
    }

    private func listenBesideLink(_ helper: CheckUpLink) async throws {
        let isOn = try await helper.succeed(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: 0xA0, advertisingIntervalMax: 0xA0, advertisingType: .advNonconnInd, ownAddressType: .randomDevice,
                advertisingChannelMap: 7), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
        guard isOn, try await listen(.seconds(3), atLeast: 1).isEmpty else { return }
        link.note("links-starve-scan", "it receives no advertisements while there is a connection")
    }

    private func checkEnd(_ helper: CheckUpLink, _ pair: Pair) async throws {
        guard let handle = link.watch.lastConnection else { return }
        // A running activity shows the effect.
        let start = link.log.count
        let command = HCICommands.Disconnect(connectionHandle: handle, reason: .remoteUserTerminatedConnection)
        guard try await link.ask(command).isSuccess,
            try await link.event(HCIEvents.DisconnectionComplete.self, from: start, within: .seconds(3)) != nil
        else { return }
        let reply = try await link.ask(HCICommands.LEReadChannelMap(connectionHandle: handle), within: .seconds(1))
        let other = try await link.ask(HCICommands.ReadBDADDR())
        if reply.answer == nil, other.isSuccess {
            link.note("command-lost-after-disconnect", "a command about a connection that has just ended is not answered")
        }
        try await link.rest(.milliseconds(100))
    }

    // MARK: Number of links

    /// Number of links that suffices for most purposes.
    private static let enoughLinks = 8

    /// Creates connections to the helper, each with another helper address, until one is rejected.
    func checkLinkCount() async throws {
        guard let helper, try await connect(helper, page2: false) != nil else { return }
        var (count, refusal): (Int, ErrorCode?) = (1, nil)
        while count < Self.enoughLinks, refusal == nil {
            let address = DeviceAddress(value: 0xC0DE_0000_2000 + UInt64(count), kind: .random)
            guard
                try await helper.succeed(
                    HCICommands.LESetRandomAddress(randomAddress: address.bdADDR), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
            else { break }
            link.clear()
            helper.clear()
            var command = Self.create(toward: address, interval: 0x60)
            (command.connectionIntervalMin, command.connectionIntervalMax) = (80, 80)
            let reply = try await link.ask(command)
            guard reply.isSuccess else {
                refusal = reply.status
                break
            }
            guard try await Self.opened(link) != nil, link.watch.tracker.connections.count > count else { break }
            count += 1
        }
        figure("links at once", count < Self.enoughLinks ? "\(count)" : "\(count) or more")
        if refusal == .connectionLimitExceeded || refusal == .memoryCapacityExceeded {
            link.note("max-links", .note, "it has room for \(count) connection\(count == 1 ? "" : "s")")
        }
        _ = try await link.ask(HCICommands.Reset())
        _ = try await helper.ask(HCICommands.Reset())
    }
}
