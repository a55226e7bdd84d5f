import Packets

/// What a host asks of the link manager beside security. Core Vol 4, Part E, 7.1.19 to 7.1.23 and 7.2.7 to 7.2.8.
extension CommandTable {
    mutating func addLinkManager() {
        start(HCICommands.RemoteNameRequest.self, BREDRController.execute)
        complete(HCICommands.RemoteNameRequestCancel.self, BREDRController.execute)
        start(HCICommands.ReadRemoteSupportedFeatures.self, handle: { $0.connectionHandle }, BREDRController.execute)
        start(HCICommands.ReadRemoteExtendedFeatures.self, handle: { $0.connectionHandle }, BREDRController.execute)
        start(HCICommands.ReadClockOffset.self, handle: { $0.connectionHandle }, BREDRController.execute)
    }
}

extension BREDRController {
    func execute(_ command: HCICommands.ReadRemoteSupportedFeatures) throws(CommandFailure) {
        try link(command.connectionHandle).connection.readRemoteFeatures()
    }

    func execute(_ command: HCICommands.ReadRemoteExtendedFeatures) throws(CommandFailure) {
        try link(command.connectionHandle).connection.readRemoteExtendedFeatures(page: command.pageNumber)
    }

    func execute(_ command: HCICommands.ReadClockOffset) throws(CommandFailure) {
        try link(command.connectionHandle).connection.readClockOffset()
    }

    /// The name of a device that this one is connected to.
    func execute(_ command: HCICommands.RemoteNameRequest) throws(CommandFailure) {
        guard let end = links.first(where: { $0.peer == command.bdADDR && $0.isKnownToHost }) else { throw .unknownConnection }
        guard settings.security.namesWanted.insert(command.bdADDR).inserted else { throw .disallowed }
        end.connection.requestName()
    }

    func execute(_ command: HCICommands.RemoteNameRequestCancel) throws(CommandFailure) -> HCICommands.RemoteNameRequestCancel.Return {
        guard settings.security.namesWanted.remove(command.bdADDR) != nil else {
            return .init(status: .invalidHCICommandParameters, bdADDR: command.bdADDR)
        }
        let empty = [UInt8](repeating: 0, count: BREDRSettings.nameLength)
        controller.emit(
            HCIEvents.RemoteNameRequestComplete(status: .unknownConnectionIdentifier, bdADDR: command.bdADDR, remoteName: empty))
        return .init(status: .success, bdADDR: command.bdADDR)
    }
}
