import Packets

/// Commands about a connection. Core Vol 4, Part E, 7.8.18 to 7.8.21, 7.8.31 and 7.8.32.
extension CommandTable {
    mutating func addLEConnection() {
        start(HCICommands.LEConnectionUpdate.self, 27, 2) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            let parameters = try Check.link(
                intervalMin: command.connectionIntervalMin, intervalMax: command.connectionIntervalMax, latency: command.maxLatency,
                timeout: command.supervisionTimeout, minCE: command.minCELength, maxCE: command.maxCELength)
            try link.connection.updateParameters(parameters).check()
        }
        perform(HCICommands.LESetHostChannelClassification.self, 27, 3) { (controller, command) throws(CommandFailure) in
            try Check.that(command.channelMap != 0 && command.channelMap >> 37 == 0)
            controller.settings.channelMap = command.channelMap
            let map = ChannelMap(controller.usableChannels)
            for link in controller.links where link.connection.role == .central { link.connection.updateChannelMap(map) }
        }
        complete(HCICommands.LEReadChannelMap.self, 27, 4, failing: .init(), echo: 2) { (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            return .init(status: .success, connectionHandle: link.handle, channelMap: link.connection.channelMap.bits)
        }
        start(HCICommands.LEReadRemoteFeatures.self, 27, 5) { (controller, command) throws(CommandFailure) in
            try controller.link(command.connectionHandle).connection.readRemoteFeatures().check()
        }
        complete(HCICommands.LERemoteConnectionParameterRequestReply.self, 33, 4, failing: .init(), echo: 2) {
            (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            let parameters = try Check.link(
                intervalMin: command.intervalMin, intervalMax: command.intervalMax, latency: command.maxLatency, timeout: command.timeout,
                minCE: command.minCELength, maxCE: command.maxCELength)
            try link.connection.replyToParameterRequest(parameters, reason: .success).check()
            return .init(status: .success, connectionHandle: link.handle)
        }
        complete(HCICommands.LERemoteConnectionParameterRequestNegativeReply.self, 33, 5, failing: .init(), echo: 2) {
            (controller, command) throws(CommandFailure) in
            let link = try controller.link(command.connectionHandle)
            try link.connection.replyToParameterRequest(nil, reason: command.reason).check()
            return .init(status: .success, connectionHandle: link.handle)
        }
    }
}
