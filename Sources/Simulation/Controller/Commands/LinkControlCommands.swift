import Packets

/// Link control commands. Core Vol 4, Part E, 7.1.
extension CommandTable {
    mutating func addLinkControl() {
        start(HCICommands.Disconnect.self, 0, 5) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            let reasons: [ErrorCode] = [
                .authenticationFailure, .remoteUserTerminatedConnection, .remoteDeviceTerminatedConnectionDueToLowResources,
                .remoteDeviceTerminatedConnectionDueToPowerOff, .unsupportedRemoteFeature, .pairingWithUnitKeyNotSupported,
                .unacceptableConnectionParameters,
            ]
            try Check.that(reasons.contains(command.reason))
            link.connection.terminate(command.reason)
        }
        start(HCICommands.ReadRemoteVersionInformation.self, 2, 7) { (controller, command) throws(CommandFailure) in
            try controller.link(command.connectionHandle).connection.readRemoteVersion().check()
        }
    }
}

extension ErrorCode {
    /// Turns the status of a procedure that could not start into the command's failure.
    func check() throws(CommandFailure) {
        if self != .success { throw CommandFailure(status: self) }
    }
}
