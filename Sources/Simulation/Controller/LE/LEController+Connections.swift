import BBPackets

/// New links and their events. Core Vol 4, Part E, 7.7.65.
extension LEController {
    /// Creates this device's end of a new link and reports it to the host.
    func connect(_ request: ConnectRequest, _ link: NewLink, role: ConnectionParameters.Role) -> ConnectionHandle {
        let isCentral = role == .central
        let own = isCentral ? request.initiator : request.advertiser
        let peer = isCentral ? request.advertiser : request.initiator
        let parameters = ConnectionParameters(
            role: role, handle: controller.makeHandle(), accessAddress: request.accessAddress, crcInit: request.crcInit,
            interval: request.connectionInterval, peripheralLatency: Int(request.latency),
            supervisionTimeout: request.supervisionTimeout, channelMap: ChannelMap(request.channelMap),
            hopIncrement: request.hop, usesAlgorithm2: link.usesAlgorithm2, phy: link.phy, ownAddress: own, peerAddress: peer,
            transmitWindowStart: link.requestEnd + link.transmitWindowDelay + request.transmitWindowOffset,
            transmitWindowSize: request.transmitWindowSize,
            peerClockAccuracy: isCentral ? 500 : ClockAccuracy.partsPerMillion(request.clockAccuracy))
        let connection = Connection(
            parameters, configuration: configuration, defaults: linkDefaults, radio: radio, rewriter: controller.rewriter, delegate: self)
        let device = identify(peer) ?? KnownDevice(address: peer)
        let end = LinkEnd(connection, peer: device.address)
        controller.add(end)
        if isCentral { channels.begin() }
        if isCentral, configuration.choices.ownPHYDelay > 0 {
            radio.air.loop.schedule(after: configuration.choices.ownPHYDelay) { [weak connection] in connection?.updatePHYByItself() }
        }
        tellConnected(end, device, clockAccuracy: isCentral ? 0 : request.clockAccuracy)
        emit(
            HCIEvents.LEChannelSelectionAlgorithm(
                connectionHandle: end.handle, channelSelectionAlgorithm: link.usesAlgorithm2 ? 1 : 0))
        return end.handle
    }

    /// The host's defaults, or the controller's own initial data length.
    private var linkDefaults: LinkDefaults {
        var defaults = settings.links
        if let used = configuration.choices.usedOctets { defaults.suggestedTxOctets = max(27, min(defaults.suggestedTxOctets, used)) }
        let initial = configuration.choices.initialOctets
        if defaults.suggestedTxOctets == LinkDefaults().suggestedTxOctets, initial > defaults.suggestedTxOctets {
            defaults.suggestedTxOctets = initial
            defaults.suggestedTxTime = max(defaults.suggestedTxTime, (initial + 14) * 8)
        }
        return defaults
    }

    private func tellConnected(_ end: LinkEnd, _ peer: KnownDevice, clockAccuracy: UInt8) {
        let connection = end.connection
        var event = HCIEvents.LEEnhancedConnectionComplete()
        event.status = .success
        event.connectionHandle = end.handle
        event.role = ConnectionRole(rawValue: connection.role.rawValue)
        event.peerAddressType = peer.type
        event.peerAddress = peer.address.bdADDR
        if peer.isResolved { event.peerResolvablePrivateAddress = connection.parameters.peerAddress.bdADDR }
        let own = connection.parameters.ownAddress
        if settings.resolving.isLocal(own) { event.localResolvablePrivateAddress = own.bdADDR }
        event.connectionIntervalMicroseconds = connection.interval
        event.peripheralLatency = UInt16(truncatingIfNeeded: connection.peripheralLatency)
        event.supervisionTimeoutMicroseconds = connection.supervisionTimeout
        event.centralClockAccuracy = clockAccuracy
        tellConnected(event)
    }

    /// Reports a connection attempt that was cancelled or, for directed advertising, not answered.
    func tellNotConnected(_ status: ErrorCode, role: ConnectionParameters.Role, peer: DeviceAddress?) {
        var event = HCIEvents.LEEnhancedConnectionComplete()
        event.status = status
        event.role = ConnectionRole(rawValue: role.rawValue)
        event.peerAddressType = AddressType(rawValue: peer?.kind.rawValue ?? 0)
        event.peerAddress = peer?.bdADDR ?? 0
        tellConnected(event)
    }

    /// Sends the newest connection complete event that is not masked, instead of the older ones. Core Vol 4, Part E, 7.7.65.1 and
    /// 7.7.65.10.
    private func tellConnected(_ event: HCIEvents.LEEnhancedConnectionComplete) {
        if configuration.choices.sendsConnectionCompleteV2, controller.sends(HCIEvents.LEEnhancedConnectionCompleteV2.self) {
            return emit(HCIEvents.LEEnhancedConnectionCompleteV2(event))
        }
        if controller.sends(HCIEvents.LEEnhancedConnectionComplete.self) { return emit(event) }
        emit(
            HCIEvents.LEConnectionComplete(
                status: event.status, connectionHandle: event.connectionHandle, role: event.role,
                peerAddressType: AddressType(rawValue: event.peerAddressType.rawValue & 1), peerAddress: event.peerAddress,
                connectionInterval: event.connectionInterval, peripheralLatency: event.peripheralLatency,
                supervisionTimeout: event.supervisionTimeout, centralClockAccuracy: event.centralClockAccuracy))
    }
}

extension HCIEvents.LEEnhancedConnectionCompleteV2 {
    /// Version [v2] of the event for a connection without periodic advertising: no advertising handle and no sync handle.
    fileprivate init(_ event: HCIEvents.LEEnhancedConnectionComplete) {
        self.init(
            status: event.status, connectionHandle: event.connectionHandle, role: event.role, peerAddressType: event.peerAddressType,
            peerAddress: event.peerAddress, localResolvablePrivateAddress: event.localResolvablePrivateAddress,
            peerResolvablePrivateAddress: event.peerResolvablePrivateAddress, connectionInterval: event.connectionInterval,
            peripheralLatency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout,
            centralClockAccuracy: event.centralClockAccuracy, advertisingHandle: 0xFF, syncHandle: 0xFFFF)
    }
}

/// Codes of sleep clock accuracies. Core Vol 6, Part B, 2.3.3.1, table 2.11.
enum ClockAccuracy {
    private static let bounds = [500, 250, 150, 100, 75, 50, 30, 20]

    static func partsPerMillion(_ code: UInt8) -> Int { bounds[Int(code & 7)] }

    static func code(_ partsPerMillion: Int) -> UInt8 { UInt8(bounds.lastIndex { $0 >= partsPerMillion } ?? 0) }
}

extension LEController: ConnectionDelegate {
    private func end(of connection: Connection) -> LinkEnd? { links.first { $0.connection === connection } }

    func connectionEstablished(_ connection: Connection) {}

    func connection(_ connection: Connection, disconnected reason: ErrorCode) {
        guard let end = end(of: connection) else { return }
        controller.reportCompletedPackets()
        controller.remove(end)
        controller.forget(end)
        emit(HCIEvents.DisconnectionComplete(status: .success, connectionHandle: end.handle, reason: reason))
    }

    func connection(_ connection: Connection, received data: ArraySlice<UInt8>, isStart: Bool) {
        controller.deliver(data, isStart: isStart, on: connection.handle)
        // The host does not take the data, and the peer cannot be stopped, so the link ends.
        if controller.hostFlow.isOverrun { connection.terminate(.remoteDeviceTerminatedConnectionDueToLowResources) }
    }

    func connection(_ connection: Connection, completed count: Int) {
        guard let end = end(of: connection) else { return }
        controller.complete(count, end)
    }

    func connection(_ connection: Connection, reports report: LinkReport) {
        let handle = connection.handle
        switch report {
        case .updated(let status): emitUpdate(of: connection, status)
        case .requested(let parameters): ask(for: parameters, on: connection)
        case .phy(let status):
            emit(
                HCIEvents.LEPHYUpdateComplete(
                    status: status, connectionHandle: handle, txPHY: connection.transmitPHY.rawValue, rxPHY: connection.receivePHY.rawValue)
            )
        case .dataLength:
            let length = connection.dataLength
            emit(
                HCIEvents.LEDataLengthChange(
                    connectionHandle: handle, maxTXOctets: length.maxTxOctets, maxTXTime: length.maxTxTime,
                    maxRXOctets: length.maxRxOctets, maxRXTime: length.maxRxTime))
        case .features(let features, let status):
            emit(HCIEvents.LEReadRemoteFeaturesComplete(status: status, connectionHandle: handle, leFeatures: features))
        case .version(let remote, let status):
            emit(
                HCIEvents.ReadRemoteVersionInformationComplete(
                    status: status, connectionHandle: handle, version: remote.version, companyIdentifier: remote.companyIdentifier,
                    subversion: remote.subversion))
        case .encrypted(let status): emitEncryption(of: handle, status)
        case .keyRefreshed(let status): emit(HCIEvents.EncryptionKeyRefreshComplete(status: status, connectionHandle: handle))
        case .keyRequested(let random, let diversifier): askForKey(random, diversifier, on: connection)
        }
    }

    func connectionAuthenticatedPayloadExpired(_ connection: Connection) {
        emit(HCIEvents.AuthenticatedPayloadTimeoutExpired(connectionHandle: connection.handle))
    }
}

extension LEController {
    private func emitUpdate(of connection: Connection, _ status: ErrorCode) {
        var event = HCIEvents.LEConnectionUpdateComplete(
            status: status, connectionHandle: connection.handle, peripheralLatency: UInt16(truncatingIfNeeded: connection.peripheralLatency)
        )
        event.connectionIntervalMicroseconds = connection.interval
        event.supervisionTimeoutMicroseconds = connection.supervisionTimeout
        emit(event)
    }

    /// Passes the peer's request for parameters to the host, or rejects it if the host masks the event.
    private func ask(for parameters: RequestedParameters, on connection: Connection) {
        guard controller.sends(HCIEvents.LERemoteConnectionParameterRequest.self) else {
            _ = connection.replyToParameterRequest(nil, reason: .unsupportedRemoteFeature)
            return
        }
        emit(
            HCIEvents.LERemoteConnectionParameterRequest(
                connectionHandle: connection.handle, intervalMin: parameters.intervalMin, intervalMax: parameters.intervalMax,
                maxLatency: parameters.latency, timeout: parameters.timeout))
    }

    private func emitEncryption(of handle: ConnectionHandle, _ status: ErrorCode) {
        let isOn: UInt8 = status == .success ? 1 : 0
        guard controller.sends(HCIEvents.EncryptionChangeV2.self) else {
            return emit(HCIEvents.EncryptionChange(status: status, connectionHandle: handle, encryptionEnabled: isOn))
        }
        emit(
            HCIEvents.EncryptionChangeV2(
                status: status, connectionHandle: handle, encryptionEnabled: isOn, encryptionKeySize: isOn == 1 ? 16 : 0))
    }

    /// Asks the host for the long term key; if it masks the event, the negative reply is assumed.
    private func askForKey(_ random: UInt64, _ diversifier: UInt16, on connection: Connection) {
        guard controller.sends(HCIEvents.LELongTermKeyRequest.self) else {
            _ = connection.replyToKeyRequest(nil)
            return
        }
        emit(
            HCIEvents.LELongTermKeyRequest(
                connectionHandle: connection.handle, randomNumber: random, encryptedDiversifier: diversifier))
    }
}
