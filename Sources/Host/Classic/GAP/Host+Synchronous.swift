import HCI
import Packets

/// Synchronous connections. Core Vol 4, Part E, 7.1.26 to 7.1.28.
extension ClassicConnection {
    /// Requests a synchronous connection with each setting in turn until the peer accepts one.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason of the last rejection. If the peer's host does not reply, there is no second
    ///   attempt.
    func openSynchronous(_ settings: [SynchronousSettings]) async throws {
        var refusal = ErrorCode.unsupportedFeatureOrParameterValue
        for setting in settings {
            do {
                let command = HCICommands.SetupSynchronousConnection(
                    connectionHandle: handle, transmitBandwidth: setting.bandwidth, receiveBandwidth: setting.bandwidth,
                    maxLatency: setting.maxLatency, voiceSetting: setting.voiceSetting,
                    retransmissionEffort: setting.retransmissionEffort, packetType: setting.packetTypes)
                let address = address
                let event = try await host.procedure(command, ends: HCIEvents.SynchronousConnectionComplete.self, on: handle) {
                    $0.bdADDR == address
                }
                if event.status == .success { return }
                refusal = event.status
                if refusal == .connectionAcceptTimeoutExceeded { break }
            } catch HostError.peer(.rejected(_, let status)) {
                refusal = status
            }
        }
        throw HostError.peer(.rejected(HCICommands.SetupSynchronousConnection.name, refusal))
    }
}

extension Host {
    /// The link's profiles decide on a request of the peer.
    func synchronousRequested(_ event: HCIEvents.ConnectionRequest) {
        guard let setting = classicConnection(to: event.bdADDR)?.layers.synchronousSettings(for: event.linkType) else {
            return post(
                HCICommands.RejectSynchronousConnectionRequest(
                    bdADDR: event.bdADDR, reason: .connectionRejectedDueToLimitedResources))
        }
        post(
            HCICommands.AcceptSynchronousConnectionRequest(
                bdADDR: event.bdADDR, transmitBandwidth: setting.bandwidth, receiveBandwidth: setting.bandwidth,
                maxLatency: setting.maxLatency, voiceSetting: setting.voiceSetting, retransmissionEffort: setting.retransmissionEffort,
                packetType: setting.packetTypes))
    }

    func synchronousCompleted(_ event: HCIEvents.SynchronousConnectionComplete) {
        guard event.status == .success, let link = classicConnection(to: event.bdADDR) else { return }
        let voice = SynchronousConnection(event, host: self)
        path.voices[voice.handle] = voice
        link.layers.opened(voice)
    }

    func endSynchronous(_ handle: ConnectionHandle, _ reason: ErrorCode) { path.voices.removeValue(forKey: handle)?.ended(reason) }
}
