import BBPackets
import BBTiming
import BBTransport

/// An event that completes a request of a host.
struct HostEvent: Hashable, Sendable {
    /// The event that stands for all which complete the request.
    var kind: PDUID
    /// The reason of a disconnection, otherwise the status.
    var status: ErrorCode
}

/// A host that starts procedures and answers the controller's questions at once.
final class ExploredHost: HCITransportSink {
    let role: LinkRole
    private let transport: any HCITransport
    private(set) var handle: ConnectionHandle?
    private(set) var events: [HostEvent] = []
    /// Requests that the controller has started with Command Status or Command Complete, Success.
    private(set) var accepted: [LinkRequest] = []
    /// The first octet of each received data packet.
    private(set) var received: [UInt8] = []
    private(set) var sent: [UInt8] = []
    /// Commands without an answer, in their order.
    private var pending: [(opcode: UInt16, request: LinkRequest)] = []

    static let key = [UInt8](repeating: 0x5A, count: 16)
    /// The events that the host handles, Command_Complete and Command_Status apart.
    private static let events: [any HCIEvent.Type] = [
        HCIEvents.LEConnectionComplete.self, HCIEvents.DisconnectionComplete.self, HCIEvents.ReadRemoteVersionInformationComplete.self,
        HCIEvents.LEReadRemoteFeaturesComplete.self, HCIEvents.LEConnectionUpdateComplete.self, HCIEvents.LEPHYUpdateComplete.self,
        HCIEvents.LEDataLengthChange.self, HCIEvents.EncryptionChange.self, HCIEvents.EncryptionKeyRefreshComplete.self,
        HCIEvents.LELongTermKeyRequest.self, HCIEvents.LERemoteConnectionParameterRequest.self,
    ]

    init(_ role: LinkRole, _ transport: any HCITransport) {
        self.role = role
        self.transport = transport
    }

    func open() throws(TransportError) {
        try transport.open(self)
        send(HCICommands.SetEventMask(eventMask: .covering(Self.events)))
        send(HCICommands.LESetEventMask(leEventMask: .covering(Self.events)))
    }

    func close() { transport.close() }

    func send(_ command: some HCICommand) { transport.send(HCIPacket(command: command)) }

    /// Forgets the events so far.
    func clear() {
        events.removeAll()
        accepted.removeAll()
    }

    // MARK: Requests

    func make(_ request: LinkRequest) {
        guard let handle else { return }
        let isCentral = role == .central
        switch request {
        case .version: ask(request, HCICommands.ReadRemoteVersionInformation(connectionHandle: handle))
        case .features: ask(request, HCICommands.LEReadRemoteFeatures(connectionHandle: handle))
        case .parameters, .update:
            let interval: UInt16 = isCentral ? 20 : 40
            ask(
                request,
                HCICommands.LEConnectionUpdate(
                    connectionHandle: handle, connectionIntervalMin: interval, connectionIntervalMax: interval,
                    supervisionTimeout: ExploredLink.supervisionTimeout))
        case .channelMap: ask(request, HCICommands.LESetHostChannelClassification(channelMap: 0xFF_FFFF))
        case .phy:
            let (tx, rx): (PHYs, PHYs) = isCentral ? (.le2M, .le2M) : (.leCoded, .le1M)
            ask(request, HCICommands.LESetPHY(connectionHandle: handle, txPHYs: tx, rxPHYs: rx))
        case .dataLength:
            ask(request, HCICommands.LESetDataLength(connectionHandle: handle, txOctets: isCentral ? 251 : 100, txTime: 2_120))
        case .encryption:
            ask(
                request,
                HCICommands.LEEnableEncryption(
                    connectionHandle: handle, randomNumber: 7, encryptedDiversifier: 9, longTermKey: Self.key))
        case .data:
            sent.append(UInt8(truncatingIfNeeded: sent.count + 1))
            let payload = [UInt8](repeating: sent[sent.count - 1], count: 23)
            var writer = ByteWriter(reserving: L2CAPHeader.octets + payload.count)
            L2CAPHeader(length: UInt16(payload.count), channel: 0x0004).encode(into: &writer)
            writer.bytes(payload)
            transport.send(HCIPacket(acl: handle, .firstNonFlushable, writer.bytes))
        case .termination:
            ask(request, HCICommands.Disconnect(connectionHandle: handle, reason: .remoteUserTerminatedConnection))
        }
    }

    private func ask<Command: HCICommand>(_ request: LinkRequest, _ command: Command) {
        pending.append((Command.opcode, request))
        send(command)
    }

    private func answered(_ opcode: UInt16, _ status: ErrorCode) {
        guard let index = pending.firstIndex(where: { $0.opcode == opcode }) else { return }
        let request = pending.remove(at: index).request
        if status == .success { accepted.append(request) }
    }

    // MARK: Events

    func received(_ packet: HCIPacket, at time: Microseconds) {
        if packet.kind == .acl { return received.append(packet.bytes.last ?? 0) }
        if let event = try? packet.event(as: HCIEvents.CommandStatus.self) {
            answered(event.commandOpcode, event.status)
        } else if let event = try? packet.event(as: HCIEvents.CommandComplete.self) {
            answered(event.commandOpcode, ErrorCode(rawValue: event.returnParameters.first ?? 0))
        } else if let event = try? packet.event(as: HCIEvents.LEConnectionComplete.self) {
            handle = event.connectionHandle
        } else if !note(packet) {
            reply(to: packet)
        }
    }

    private func note(_ packet: HCIPacket) -> Bool {
        guard let kind = packet.id.flatMap({ LinkRequest.completions[$0] }) else { return false }
        let pdu = DynamicPDU(hci: packet)
        let status = pdu[kind.effect == .closes(.link) ? "Reason" : "Status"]?.int ?? 0
        events.append(HostEvent(kind: kind, status: ErrorCode(rawValue: UInt8(truncatingIfNeeded: status))))
        return true
    }

    private func reply(to packet: HCIPacket) {
        if let request = try? packet.event(as: HCIEvents.LELongTermKeyRequest.self) {
            send(HCICommands.LELongTermKeyRequestReply(connectionHandle: request.connectionHandle, longTermKey: Self.key))
        } else if let request = try? packet.event(as: HCIEvents.LERemoteConnectionParameterRequest.self) {
            send(
                HCICommands.LERemoteConnectionParameterRequestReply(
                    connectionHandle: request.connectionHandle, intervalMin: request.intervalMin, intervalMax: request.intervalMax,
                    maxLatency: request.maxLatency, timeout: request.timeout))
        }
    }

    func closed(_ reason: TransportError) {}
}
