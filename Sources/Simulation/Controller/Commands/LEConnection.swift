import BBPackets

/// LE connection commands. Core Vol 4, Part E, 7.8.18 to 7.8.21, 7.8.31 and 7.8.32.
extension LEController {
    static func connectionCommands(_ rows: inout CommandRows<LEController>) {
        rows.start(HCICommands.LEConnectionUpdate.self) { try $0.execute($1) }
        rows.perform(HCICommands.LESetHostChannelClassification.self) { try $0.execute($1) }
        rows.complete(HCICommands.LEReadChannelMap.self) { try $0.execute($1) }
        rows.start(HCICommands.LEReadRemoteFeatures.self) { try $0.execute($1) }
        rows.complete(HCICommands.LERemoteConnectionParameterRequestReply.self) { try $0.execute($1) }
        rows.complete(HCICommands.LERemoteConnectionParameterRequestNegativeReply.self) { try $0.execute($1) }
    }

    /// Updates the channel map of all links on which this device is the central.
    func applyChannels() {
        let map = ChannelMap(usableChannels)
        for link in links where link.connection.role == .central { link.connection.updateChannelMap(map) }
    }

    func execute(_ command: HCICommands.LEConnectionUpdate) throws(CommandRefusal) {
        let link = try link(command.connectionHandle)
        let parameters = try Check.link(
            RequestedParameters(
                intervalMin: command.connectionIntervalMin, intervalMax: command.connectionIntervalMax, latency: command.maxLatency,
                timeout: command.supervisionTimeout),
            longest: command.connectionIntervalMaxMicroseconds, supervision: command.supervisionTimeoutMicroseconds,
            eventLengths: (command.minCELength, command.maxCELength))
        try link.connection.updateParameters(parameters).check()
    }

    func execute(_ command: HCICommands.LESetHostChannelClassification) throws(CommandRefusal) {
        settings.channelMap = command.channelMap
        applyChannels()
        for train in trains.running { train.use(ChannelMap(command.channelMap)) }
    }

    func execute(_ command: HCICommands.LEReadChannelMap) throws(CommandRefusal) -> HCICommands.LEReadChannelMap.Return {
        let link = try link(command.connectionHandle)
        return .init(status: .success, connectionHandle: link.handle, channelMap: link.connection.channelMap.bits)
    }

    func execute(_ command: HCICommands.LEReadRemoteFeatures) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.readRemoteFeatures().check()
    }

    func execute(_ command: HCICommands.LERemoteConnectionParameterRequestReply) throws(CommandRefusal)
        -> HCICommands.LERemoteConnectionParameterRequestReply.Return
    {
        let link = try link(command.connectionHandle)
        let parameters = try Check.link(
            RequestedParameters(
                intervalMin: command.intervalMin, intervalMax: command.intervalMax, latency: command.maxLatency, timeout: command.timeout),
            longest: command.intervalMaxMicroseconds, supervision: command.timeoutMicroseconds,
            eventLengths: (command.minCELength, command.maxCELength))
        try link.connection.replyToParameterRequest(parameters, reason: .success).check()
        return .init(status: .success, connectionHandle: link.handle)
    }

    func execute(_ command: HCICommands.LERemoteConnectionParameterRequestNegativeReply) throws(CommandRefusal)
        -> HCICommands.LERemoteConnectionParameterRequestNegativeReply.Return
    {
        let link = try link(command.connectionHandle)
        try link.connection.replyToParameterRequest(nil, reason: command.reason).check()
        return .init(status: .success, connectionHandle: link.handle)
    }
}
