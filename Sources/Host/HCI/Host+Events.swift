import HCI
import Packets

extension Host {
    /// Takes an event. Unknown, malformed and unsolicited ones are counted and change nothing.
    func received(event packet: HCIPacket) {
        guard packet.bytes.count >= 2, packet.bytes.count == Int(packet.bytes[1]) + 2 else {
            path.counters.malformedEvents += 1
            return
        }
        do throws(PDUError) {
            try dispatch(packet)
        } catch {
            path.counters.malformedEvents += 1
        }
        deliverToWaiters(packet)
    }

    private func dispatch(_ packet: HCIPacket) throws(PDUError) {
        switch packet.bytes[0] {
        case HCIEvents.CommandComplete.code: try commandCompleted(packet)
        case HCIEvents.CommandStatus.code: try commandStatus(packet)
        case HCIEvents.DisconnectionComplete.code: disconnected(try packet.event())
        case HCIEvents.EncryptionChange.code: encryptionChanged(try packet.event())
        case 0x3E: try dispatchLE(packet)
        case HCIEvents.HardwareError.code: path.counters.hardwareErrors += 1
        case HCIEvents.DataBufferOverflow.code: path.counters.bufferOverflows += 1
        case HCIEvents.ReadRemoteVersionInformationComplete.code: break
        default: path.counters.unknownEvents += 1
        }
    }

    private func dispatchLE(_ packet: HCIPacket) throws(PDUError) {
        switch packet.leSubevent {
        case HCIEvents.LEAdvertisingReport.subevent: try legacyReports(packet)
        case HCIEvents.LEExtendedAdvertisingReport.subevent: try extendedReports(packet)
        case HCIEvents.LEConnectionComplete.subevent: connected(ConnectionEvent(try packet.event(as: HCIEvents.LEConnectionComplete.self)))
        case HCIEvents.LEEnhancedConnectionComplete.subevent:
            connected(ConnectionEvent(try packet.event(as: HCIEvents.LEEnhancedConnectionComplete.self)))
        case HCIEvents.LEConnectionUpdateComplete.subevent: parametersUpdated(try packet.event())
        case HCIEvents.LERemoteConnectionParameterRequest.subevent: parametersRequested(try packet.event())
        case HCIEvents.LEDataLengthChange.subevent: dataLengthChanged(try packet.event())
        case HCIEvents.LEPHYUpdateComplete.subevent: phyUpdated(try packet.event())
        case HCIEvents.LELongTermKeyRequest.subevent: keyRequested(try packet.event())
        case HCIEvents.LEAdvertisingSetTerminated.subevent: advertisingEnded(try packet.event())
        case HCIEvents.LEScanTimeout.subevent: scanTimedOut()
        case .some(let subevent) where subevent >= 1 && subevent <= 0x2B: break
        case nil: path.counters.malformedEvents += 1
        default: path.counters.unknownEvents += 1
        }
    }

    private func commandCompleted(_ packet: HCIPacket) throws(PDUError) {
        let bytes = packet.bytes
        guard bytes.count >= 5 else {
            throw PDUError(pdu: "Command_Complete", field: "", offset: 0, problem: .short(needed: 5, left: bytes.count))
        }
        let returns = [UInt8](bytes[5...])
        let answer = CommandAnswer(kind: .complete, status: ErrorCode(rawValue: returns.first ?? 0), returns: returns)
        answered(opcode: UInt16(bytes[3]) | UInt16(bytes[4]) << 8, credits: bytes[2], answer)
    }

    private func commandStatus(_ packet: HCIPacket) throws(PDUError) {
        let event = try packet.event(as: HCIEvents.CommandStatus.self)
        answered(opcode: event.commandOpcode, credits: event.numHCICommandPackets, CommandAnswer(kind: .status, status: event.status))
    }

    private func answered(opcode: UInt16, credits: UInt8, _ answer: CommandAnswer) {
        if opcode == HCICommands.Reset.opcode, answer.kind == .complete, answer.status == .success { controllerWasReset() }
        perform(commands.answered(opcode: opcode, credits: Int(credits), answer))
    }

    // MARK: Links

    private func disconnected(_ event: HCIEvents.DisconnectionComplete) {
        guard event.status == .success, let link = path.link(event.connectionHandle.rawValue & 0xFFF) else { return }
        end(link, event.reason)
    }

    /// The link is gone; a controller that gives its handle away again has only forgotten to say so.
    func end(_ link: Link, _ reason: ErrorCode) {
        let error = HostError.peer(.disconnected(reason))
        link.ended(error, reason: reason)
        path.remove(link)
        failWaiters(of: link.handle.rawValue, error)
    }

    private func encryptionChanged(_ event: HCIEvents.EncryptionChange) {
        guard let link = path.link(event.connectionHandle.rawValue & 0xFFF), event.status == .success else { return }
        guard link.hasKey || event.encryptionEnabled == 0 else {
            path.counters.malformedEvents += 1
            return
        }
        link.security = event.encryptionEnabled == 0 ? .none : .encrypted
        link.notify(.encryptionChanged(event.encryptionEnabled != 0))
    }

    private func parametersUpdated(_ event: HCIEvents.LEConnectionUpdateComplete) {
        guard event.status == .success, let link = path.link(event.connectionHandle.rawValue & 0xFFF) else { return }
        link.parameters = ConnectionParameters(
            interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout)
        link.notify(.parametersUpdated(link.parameters))
    }

    private func dataLengthChanged(_ event: HCIEvents.LEDataLengthChange) {
        guard let link = path.link(event.connectionHandle.rawValue & 0xFFF) else { return }
        link.dataLength = DataLength(
            txOctets: event.maxTXOctets, txTime: event.maxTXTime, rxOctets: event.maxRXOctets, rxTime: event.maxRXTime)
        link.notify(.dataLengthChanged(link.dataLength))
    }

    private func phyUpdated(_ event: HCIEvents.LEPHYUpdateComplete) {
        guard event.status == .success, let link = path.link(event.connectionHandle.rawValue & 0xFFF) else { return }
        guard let tx = PHY(rawValue: event.txPHY), let rx = PHY(rawValue: event.rxPHY) else {
            path.counters.malformedEvents += 1
            return
        }
        link.phys = LinkPHYs(tx: tx, rx: rx)
        link.notify(.phyUpdated(link.phys))
    }

    private func parametersRequested(_ event: HCIEvents.LERemoteConnectionParameterRequest) {
        guard let link = path.link(event.connectionHandle.rawValue & 0xFFF) else { return }
        let request = ConnectionParameterRequest(
            intervalMin: event.intervalMin, intervalMax: event.intervalMax, latency: event.maxLatency, supervisionTimeout: event.timeout)
        if parameterPolicy(link, request) {
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

    /// Nobody has paired, so there is no key.
    private func keyRequested(_ event: HCIEvents.LELongTermKeyRequest) {
        post(HCICommands.LELongTermKeyRequestNegativeReply(connectionHandle: event.connectionHandle))
    }
}
