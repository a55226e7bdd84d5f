import BBHCI
import BBPackets
import BBTraffic

extension Host {
    /// Handles an event. Unknown, malformed and unsolicited events are counted and ignored.
    func received(event packet: HCIPacket) {
        guard packet.isWhole else {
            context.counters.malformedEvents += 1
            return
        }
        do throws(PDUError) {
            try dispatch(packet)
        } catch {
            context.counters.malformedEvents += 1
        }
        commands.waiters.deliver(packet)
    }

    private func dispatch(_ packet: HCIPacket) throws(PDUError) {
        // Data that was held for the encryption change is delivered on the encrypted link.
        try receivedSecurity(packet)
        if let change = try path.change(by: packet) { connectionChanged(change) }
        if let answer = try CommandAnswer(event: packet) { return commands.answered(answer) }
        switch packet.eventCode {
        case HCIEvents.LEAdvertisingReport.code: try dispatchLE(packet)
        case HCIEvents.InquiryResult.code, HCIEvents.InquiryResultWithRSSI.code, HCIEvents.ExtendedInquiryResult.code:
            try inquiring.received(packet)
        case HCIEvents.InquiryComplete.code: inquiring.ended()
        case HCIEvents.RoleChange.code: classicConnecting.roleChanged(try packet.event())
        case HCIEvents.ConnectionRequest.code: classicConnecting.requested(try packet.event())
        case HCIEvents.SynchronousConnectionComplete.code: classicConnecting.synchronousCompleted(try packet.event())
        case HCIEvents.HardwareError.code: commands.hardwareFailed(try packet.event())
        case HCIEvents.VendorSpecific.code: receivedVendorEvent(packet)
        case HCIEvents.DataBufferOverflow.code: context.counters.bufferOverflows += 1
        default: noteUnknown(packet)
        }
    }

    private func dispatchLE(_ packet: HCIPacket) throws(PDUError) {
        switch packet.leSubevent {
        case HCIEvents.LEAdvertisingReport.subevent: try scanning.legacyReports(packet)
        case HCIEvents.LEExtendedAdvertisingReport.subevent: try scanning.extendedReports(packet)
        case HCIEvents.LERemoteConnectionParameterRequest.subevent: parametersRequested(try packet.event())
        case HCIEvents.LELongTermKeyRequest.subevent: keyRequested(try packet.event())
        case HCIEvents.LEAdvertisingSetTerminated.subevent: advertising.ended(try packet.event())
        case HCIEvents.LEScanTimeout.subevent: scanning.timedOut()
        case HCIEvents.LEPeriodicAdvertisingSyncEstablished.subevent: periodicSyncs.established(try packet.event())
        case HCIEvents.LEPeriodicAdvertisingReport.subevent: periodicSyncs.received(try packet.event())
        case HCIEvents.LEPeriodicAdvertisingSyncLost.subevent: periodicSyncs.lost(try packet.event())
        case nil: context.counters.malformedEvents += 1
        default: noteUnknown(packet)
        }
    }

    /// An event that is defined, but not handled here, may be for a waiter.
    private func noteUnknown(_ packet: HCIPacket) {
        guard let code = packet.eventCode, PDUCatalog.event(code: code, subevent: packet.leSubevent) == nil else { return }
        context.counters.unknownEvents += 1
    }

    // MARK: Connections

    private func connectionChanged(_ change: ConnectionChange) {
        // The peer may have a bond that another program has made.
        if case .opened = change { keys.refresh() }
        switch change {
        case .opened(let state) where state.kind == .le: connecting.opened(state)
        case .opened(let state): if state.kind == .classic { classicConnecting.opened(state) }
        case .failed(let kind, let status): if kind == .le { connecting.failed(status) }
        case .closed(let handle, let reason):
            path.closed(handle, reason)
            commands.connectionEnded(handle)
        case .reset: controllerWasReset()
        case .parametersChanged(let handle, _), .physChanged(let handle, _), .dataLengthChanged(let handle, _),
            .encryptionChanged(let handle, _, _), .keyRefreshed(let handle, _):
            path.connection(handle)?.changed(change)
        case .encryptionRequested: break
        }
        path.order(change)
    }

    /// A vendor event may be the answer to a vendor command.
    private func receivedVendorEvent(_ packet: HCIPacket) {
        guard workarounds.answersVendorCommandsByEvent || controller.manufacturer == ControllerInformation.csr else { return }
        commands.answeredByVendor(packet)
    }

    private func parametersRequested(_ event: HCIEvents.LERemoteConnectionParameterRequest) {
        guard let connection = path.connection(event.connectionHandle) else { return }
        let request = ConnectionParameterRequest(
            intervalMin: event.intervalMin, intervalMax: event.intervalMax, latency: event.maxLatency, supervisionTimeout: event.timeout)
        if parameterPolicy(connection, request) {
            let granted = adjustsParameters(request)
            commands.post(
                HCICommands.LERemoteConnectionParameterRequestReply(
                    connectionHandle: event.connectionHandle, intervalMin: granted.intervalMin, intervalMax: granted.intervalMax,
                    maxLatency: granted.latency, timeout: granted.supervisionTimeout))
        } else {
            commands.post(
                HCICommands.LERemoteConnectionParameterRequestNegativeReply(
                    connectionHandle: event.connectionHandle, reason: .unacceptableConnectionParameters))
        }
    }

    private func keyRequested(_ event: HCIEvents.LELongTermKeyRequest) {
        if let connection = path.connection(event.connectionHandle) { return connection.securityChannel.keyRequested(event) }
        commands.post(HCICommands.LELongTermKeyRequestNegativeReply(connectionHandle: event.connectionHandle))
    }
}
