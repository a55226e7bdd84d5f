import BBPackets

/// Local loopback mode: packets from the host are returned to it. Core Vol 4, Part E, 7.6.1.
struct LocalLoopback {
    /// Commands that are executed rather than returned: Reset, the three host flow control commands, Read_Buffer_Size and the loopback mode
    /// commands.
    static let executed: Set<UInt16> = [
        HCICommands.Reset.opcode, HCICommands.SetControllerToHostFlowControl.opcode, HCICommands.HostBufferSize.opcode,
        HCICommands.HostNumberOfCompletedPackets.opcode, HCICommands.ReadBufferSize.opcode, HCICommands.ReadLoopbackMode.opcode,
        HCICommands.WriteLoopbackMode.opcode,
    ]
    static let mostVoiceHandles = 3

    let data: ConnectionHandle
    let voice: [ConnectionHandle]
    /// Number of returned data packets not yet reported as completed.
    var completed = 0

    mutating func takeCompleted() -> HCIEvents.NumberOfCompletedPackets.Handle? {
        guard completed > 0 else { return nil }
        defer { completed = 0 }
        return .init(connectionHandle: data, numCompletedPackets: UInt16(truncatingIfNeeded: completed))
    }
}

extension Controller {
    /// Starts local loopback with one ACL handle and, if there are voice buffers, the maximum number of synchronous handles. No other
    /// activity may be running.
    func beginLoopback() throws(CommandRefusal) {
        guard loopback == nil else { return }
        try Check.that(isIdle, else: .disallowed)
        let voice = (0..<min(LocalLoopback.mostVoiceHandles, Int(configuration.voiceBuffers.count))).map { _ in makeHandle() }
        let new = LocalLoopback(data: makeHandle(), voice: voice)
        loopback = new
        tellConnected(new.data, .acl)
        for handle in new.voice { tellConnected(handle, .sco) }
    }

    func endLoopback() {
        guard let ended = loopback else { return }
        hostFlow.close(ended.data)
        reportCompletedPackets()
        loopback = nil
        for handle in ended.voice + [ended.data] {
            emit(HCIEvents.DisconnectionComplete(status: .success, connectionHandle: handle, reason: .connectionTerminatedByLocalHost))
        }
    }

    private func tellConnected(_ handle: ConnectionHandle, _ type: LinkType) {
        emit(
            HCIEvents.ConnectionComplete(
                status: .success, connectionHandle: handle, bdADDR: configuration.address.bdADDR, linkType: type, encryptionEnabled: 0))
    }

    /// Returns ACL data unchanged, within the limits of the controller's buffers.
    func loopBack(data packet: HCIPacket) {
        guard let loopback, let header = packet.aclHeader, header.handle == loopback.data else { return }
        let length = Int(header.length)
        let buffers = configuration.dataBuffers
        guard completions.inUse < Int(buffers.count), length <= Int(buffers.length) else {
            return emit(HCIEvents.DataBufferOverflow(linkType: 0x01))
        }
        completions.inUse += 1
        if length == packet.bytes.count - ACLHeader.octets { emitData(packet) }
        self.loopback?.completed += 1
        reportCompletedPackets(of: loopback.completed + 1)
    }

    /// Returns voice data unchanged. The host sends it at the rate of a link, without flow control.
    func loopBack(voice packet: HCIPacket) {
        guard let loopback, let handle = packet.dataHandle, loopback.voice.contains(handle) else { return }
        let length = packet.bytes.count - HCIPacket.Kind.sco.headerLength
        guard length <= configuration.voiceBuffers.length else { return emit(HCIEvents.DataBufferOverflow(linkType: 0x00)) }
        if packet.isWhole { emitData(packet) }
    }
}
