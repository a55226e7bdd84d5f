import HCI
import Packets

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
        deliverToWaiters(packet)
    }

    private func dispatch(_ packet: HCIPacket) throws(PDUError) {
        // Data that was held for the encryption change is delivered on the encrypted link.
        try receivedSecurity(packet)
        if let change = try path.tracker.received(packet) { connectionChanged(change) }
        if let answer = try CommandAnswer(event: packet) { return perform(commands.answered(answer)) }
        switch packet.eventCode {
        case HCIEvents.LEAdvertisingReport.code: try dispatchLE(packet)
        case HCIEvents.InquiryResult.code, HCIEvents.InquiryResultWithRSSI.code, HCIEvents.ExtendedInquiryResult.code:
            try receivedInquiry(packet)
        case HCIEvents.InquiryComplete.code: inquiryEnded()
        case HCIEvents.RoleChange.code: roleChanged(try packet.event())
        case HCIEvents.ConnectionRequest.code: connectionRequested(try packet.event())
        case HCIEvents.SynchronousConnectionComplete.code: synchronousCompleted(try packet.event())
        case HCIEvents.HardwareError.code: hardwareFailed(try packet.event())
        case HCIEvents.VendorSpecific.code: receivedVendorEvent(packet)
        case HCIEvents.DataBufferOverflow.code: context.counters.bufferOverflows += 1
        default: noteUnknown(packet)
        }
    }

    private func dispatchLE(_ packet: HCIPacket) throws(PDUError) {
        switch packet.leSubevent {
        case HCIEvents.LEAdvertisingReport.subevent: try legacyReports(packet)
        case HCIEvents.LEExtendedAdvertisingReport.subevent: try extendedReports(packet)
        case HCIEvents.LERemoteConnectionParameterRequest.subevent: parametersRequested(try packet.event())
        case HCIEvents.LELongTermKeyRequest.subevent: keyRequested(try packet.event())
        case HCIEvents.LEAdvertisingSetTerminated.subevent: advertisingEnded(try packet.event())
        case HCIEvents.LEScanTimeout.subevent: scanTimedOut()
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
        switch change {
        case .opened(let connection) where connection.kind == .le: opened(connection)
        case .opened(let connection): if connection.kind == .classic { openedClassic(connection) }
        case .failed(let kind, let status): if kind == .le { connectionFailed(status) }
        case .closed(let handle, let reason):
            endSynchronous(handle, reason)
            if let connection = path.connection(handle) { end(connection, reason) }
            if let connection = path.classicConnection(handle) { endClassic(connection, reason) }
            connectionEnded(handle)
        case .reset: controllerWasReset()
        case .parametersChanged(let handle, let parameters): parametersUpdated(handle, parameters)
        case .physChanged(let handle, let phys): physUpdated(handle, phys)
        case .dataLengthChanged(let handle, let length): dataLengthChanged(handle, length)
        case .encryptionChanged(let handle, let isOn, let status): encryptionChanged(handle, isOn: isOn, status)
        case .keyRefreshed(let handle, let status): encryptionChanged(handle, isOn: true, status)
        case .encryptionRequested: break
        }
        path.order(change)
    }

    /// The connection has ended; also called if the controller reuses its handle without reporting the end.
    func end(_ connection: Connection, _ reason: ErrorCode) {
        let error = HostError.peer(.disconnected(reason))
        connection.ended(error, reason: reason)
        path.remove(connection)
        failWaiters(of: connection.handle.rawValue, error)
    }

    private func encryptionChanged(_ handle: ConnectionHandle, isOn: Bool, _ status: ErrorCode) {
        guard let connection = path.connection(handle), !connection.securityChannel.encryptionChanged(isOn: isOn, status) else { return }
        context.counters.malformedEvents += 1
    }

    private func parametersUpdated(_ handle: ConnectionHandle, _ parameters: ConnectionParameters) {
        guard let connection = path.connection(handle) else { return }
        connection.parameters = parameters
        connection.tell(.parametersUpdated(parameters))
    }

    private func dataLengthChanged(_ handle: ConnectionHandle, _ length: DataLength) {
        guard let connection = path.connection(handle) else { return }
        connection.dataLength = length
        connection.tell(.dataLengthChanged(length))
    }

    private func physUpdated(_ handle: ConnectionHandle, _ phys: LinkPHYs) {
        guard let connection = path.connection(handle) else { return }
        connection.phys = phys
        connection.tell(.phyUpdated(phys))
    }

    private func parametersRequested(_ event: HCIEvents.LERemoteConnectionParameterRequest) {
        guard let connection = path.connection(event.connectionHandle) else { return }
        let request = ConnectionParameterRequest(
            intervalMin: event.intervalMin, intervalMax: event.intervalMax, latency: event.maxLatency, supervisionTimeout: event.timeout)
        if parameterPolicy(connection, request) {
            post(
                HCICommands.LERemoteConnectionParameterRequestReply(
                    connectionHandle: event.connectionHandle, intervalMin: event.intervalMin, intervalMax: event.intervalMax,
                    maxLatency: event.maxLatency, timeout: event.timeout))
        } else {
            post(
                HCICommands.LERemoteConnectionParameterRequestNegativeReply(
                    connectionHandle: event.connectionHandle, reason: .unacceptableConnectionParameters))
        }
    }

    private func keyRequested(_ event: HCIEvents.LELongTermKeyRequest) {
        if let connection = path.connection(event.connectionHandle) { return connection.securityChannel.keyRequested(event) }
        post(HCICommands.LELongTermKeyRequestNegativeReply(connectionHandle: event.connectionHandle))
    }
}
