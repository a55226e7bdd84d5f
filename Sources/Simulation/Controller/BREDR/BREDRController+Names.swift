import Packets

/// Names of other devices, on a link to them or on one that is made for it. Core Vol 4, Part E, 7.1.19, 7.1.20, 7.7.7 and 7.7.50.
extension BREDRController {
    private static let noName = [UInt8](repeating: 0, count: BREDRSettings.nameLength)

    /// A request that was cancelled has been answered.
    func tellName(_ name: [UInt8], _ status: ErrorCode, of end: ACLLinkEnd) {
        if namesWanted.remove(end.peer) != nil {
            if end.isForName, let features = end.connection.state.peerPages[1] {
                emit(HCIEvents.RemoteHostSupportedFeaturesNotification(bdADDR: end.peer, hostSupportedFeatures: features))
            }
            emit(HCIEvents.RemoteNameRequestComplete(status: status, bdADDR: end.peer, remoteName: name))
        }
        if end.isForName { end.connection.disconnect(.remoteUserTerminatedConnection) }
    }

    /// Tells a host that waits for a name that it will not have it.
    func failName(of device: BDADDR, _ status: ErrorCode) {
        guard namesWanted.remove(device) != nil else { return }
        emit(HCIEvents.RemoteNameRequestComplete(status: status, bdADDR: device, remoteName: Self.noName))
    }

    /// What was begun for the name alone ends.
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
