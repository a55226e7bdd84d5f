import BBPackets

/// Remote name requests, on an existing link or a link created for the purpose. Core Vol 4, Part E, 7.1.19, 7.1.20, 7.7.7 and 7.7.50.
extension BREDRController {
    private static let noName = [UInt8](repeating: 0, count: BREDRSettings.nameLength)

    /// Reports a name, unless the request was cancelled, which has already been reported.
    func tellName(_ name: [UInt8], _ status: ErrorCode, of end: ACLLinkEnd) {
        if namesWanted.remove(end.peer) != nil {
            if end.isForName, let features = end.connection.state.peerPages[1] {
                emit(HCIEvents.RemoteHostSupportedFeaturesNotification(bdADDR: end.peer, hostSupportedFeatures: features))
            }
            emit(HCIEvents.RemoteNameRequestComplete(status: status, bdADDR: end.peer, remoteName: name))
        }
        if end.isForName { end.connection.disconnect(.remoteUserTerminatedConnection) }
    }

    /// Reports a failed remote name request.
    func failName(of device: BDADDR, _ status: ErrorCode) {
        guard namesWanted.remove(device) != nil else { return }
        emit(HCIEvents.RemoteNameRequestComplete(status: status, bdADDR: device, remoteName: Self.noName))
    }

    /// Ends a page or link that exists only for the remote name request.
    func cancelName(of device: BDADDR) {
        if case .name = paging?.purpose, paging?.pager.settings.address == device {
            if let end = paging?.end { linkEnds.stop(end) }
            stopPage()
        } else if let end = links.first(where: { $0.peer == device && $0.isForName }) {
            end.connection.disconnect(.remoteUserTerminatedConnection)
        }
        failName(of: device, .unknownConnectionIdentifier)
    }
}
