import BBPackets
import BBTiming
import BBTraffic

extension Connection {
    /// Changes the connection parameters with the link layer procedure and returns the resulting ones. Core Vol 4, Part E, 7.8.18.
    public func updateParameters(_ request: ConnectionParameterRequest) async throws -> ConnectionParameters {
        let handle = self.handle
        let event: HCIEvents.LEConnectionUpdateComplete = try await host.commands.procedure(
            HCICommands.LEConnectionUpdate(
                connectionHandle: handle, connectionIntervalMin: request.intervalMin, connectionIntervalMax: request.intervalMax,
                maxLatency: request.latency, supervisionTimeout: request.supervisionTimeout, minCELength: request.minCELength,
                maxCELength: request.maxCELength),
            ends: HCIEvents.LEConnectionUpdateComplete.self, on: handle
        ) { $0.connectionHandle == handle }
        guard event.status == .success else { throw HostError.peer(.rejected(HCICommands.LEConnectionUpdate.name, event.status)) }
        return parameters
    }

    /// Requests other PHYs and returns the resulting ones, which are unchanged if the peer accepts none of the requested ones. Core Vol 4,
    /// Part E, 7.8.49.
    ///
    /// - Parameters:
    ///   - tx: PHYs to transmit on; empty for no preference.
    ///   - rx: PHYs to receive on; empty for no preference.
    public func updatePHY(tx: PHYs, rx: PHYs, coding: CodingPreference = .none) async throws -> LinkPHYs {
        let handle = self.handle
        let event: HCIEvents.LEPHYUpdateComplete = try await host.commands.procedure(
            HCICommands.LESetPHY(
                connectionHandle: handle, allPHYs: (tx.isEmpty ? 1 : 0) | (rx.isEmpty ? 2 : 0), txPHYs: tx, rxPHYs: rx,
                phyOptions: coding.rawValue),
            ends: HCIEvents.LEPHYUpdateComplete.self, on: handle
        ) { $0.connectionHandle == handle }
        guard event.status == .success else { throw HostError.peer(.rejected(HCICommands.LESetPHY.name, event.status)) }
        return phys
    }

    /// Suggests a data length for transmission and returns the resulting one. Core Vol 4, Part E, 7.8.33.
    ///
    /// The controller sends no event if nothing changes, so the wait is limited to `settling`; by default eight connection events,
    /// including the peripheral latency.
    ///
    /// - Parameters:
    ///   - txOctets: 27...251.
    ///   - txTime: 328...17040 microseconds.
    public func updateDataLength(txOctets: UInt16, txTime: UInt16 = 17040, settling: Microseconds? = nil) async throws -> DataLength {
        let handle = self.handle
        // There is no event without a change, or if the peer does not support it.
        _ = try await host.commands.change(
            HCICommands.LESetDataLength(connectionHandle: handle, txOctets: txOctets, txTime: txTime),
            notedBy: HCIEvents.LEDataLengthChange.self, on: handle,
            within: settling ?? parameters.intervalTime * (8 + 2 * Int(parameters.latency))
        ) { $0.connectionHandle == handle }
        return dataLength
    }

    /// RSSI in dBm; 127 if not available. Core Vol 4, Part E, 7.5.4.
    public func readRSSI() async throws -> Int8 {
        try await host.send(HCICommands.ReadRSSI(handle: handle)).rssi
    }

    /// LE features that both devices support. Core Vol 4, Part E, 7.8.21.
    public func readRemoteFeatures() async throws -> LEFeatures {
        let handle = self.handle
        let event: HCIEvents.LEReadRemoteFeaturesComplete = try await host.commands.procedure(
            HCICommands.LEReadRemoteFeatures(connectionHandle: handle), ends: HCIEvents.LEReadRemoteFeaturesComplete.self, on: handle
        ) { $0.connectionHandle == handle }
        guard event.status == .success else { throw HostError.peer(.rejected(HCICommands.LEReadRemoteFeatures.name, event.status)) }
        return event.leFeatures
    }

    /// Version, manufacturer and subversion of the peer's controller. Core Vol 4, Part E, 7.1.23.
    public func readRemoteVersion() async throws -> HCIEvents.ReadRemoteVersionInformationComplete {
        let handle = self.handle
        let event: HCIEvents.ReadRemoteVersionInformationComplete = try await host.commands.procedure(
            HCICommands.ReadRemoteVersionInformation(connectionHandle: handle), ends: HCIEvents.ReadRemoteVersionInformationComplete.self,
            on: handle
        ) { $0.connectionHandle == handle }
        guard event.status == .success else { throw HostError.peer(.rejected(HCICommands.ReadRemoteVersionInformation.name, event.status)) }
        return event
    }

    /// Requests other parameters from the central over L2CAP, as a peripheral without the link layer procedure does. Core Vol 3, Part A,
    /// 4.20.
    ///
    /// - Throws: `HostError.peer(.parametersRejected)`, `.peer(.timedOut)` after 30 s.
    public func requestParameters(_ request: ConnectionParameterRequest) async throws {
        guard role == .peripheral else { throw HostError.misuse(.onlyForPeripherals) }
        guard isConnected else { throw HostError.misuse(.notConnected) }
        try await signaling.requestParameters(request)
    }

    /// Applies parameters that a peripheral has requested.
    func apply(_ request: ConnectionParameterRequest) {
        let request = host.adjustsParameters(request)
        host.commands.post(
            HCICommands.LEConnectionUpdate(
                connectionHandle: handle, connectionIntervalMin: request.intervalMin, connectionIntervalMax: request.intervalMax,
                maxLatency: request.latency, supervisionTimeout: request.supervisionTimeout))
    }
}
