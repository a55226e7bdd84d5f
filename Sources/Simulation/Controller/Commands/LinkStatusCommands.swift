import BBPackets

/// Link status commands. Core Vol 4, Part E, 7.5.3, 7.5.5 and 7.5.6.
extension BREDRController {
    static func linkStatusCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.complete(HCICommands.ReadLinkQuality.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadAFHChannelMap.self) { try $0.execute($1) }
        // The handle is ignored if the local clock is read.
        rows.complete(HCICommands.ReadClock.self, checksConnection: false) { try $0.execute($1) }
        rows.perform(HCICommands.SetAFHHostChannelClassification.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadAFHChannelAssessmentMode.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteAFHChannelAssessmentMode.self) { try $0.execute($1) }
    }
}

extension BREDRController {
    /// Returns the best link quality for every link.
    func execute(_ command: HCICommands.ReadLinkQuality) throws(CommandRefusal) -> HCICommands.ReadLinkQuality.Return {
        .init(status: .success, handle: try link(command.handle).handle, linkQuality: 255)
    }

    func execute(_ command: HCICommands.ReadAFHChannelMap) throws(CommandRefusal) -> HCICommands.ReadAFHChannelMap.Return {
        let end = try link(command.connectionHandle)
        let map = end.link.state.channelMap
        let channels = (map ?? .all).octets
        return .init(status: .success, connectionHandle: end.handle, afhMode: map == nil ? 0 : 1, afhChannelMap: channels)
    }

    /// Reads the local or the piconet clock.
    func execute(_ command: HCICommands.ReadClock) throws(CommandRefusal) -> HCICommands.ReadClock.Return {
        guard command.whichClock == 1 else {
            return .init(
                status: .success, connectionHandle: command.connectionHandle,
                clock: NativeClock.value(of: clock.tick(at: controller.loop.now)), accuracy: 0)
        }
        let end = try link(command.connectionHandle)
        // A peripheral's clock may lag behind the central's.
        return .init(
            status: .success, connectionHandle: end.handle,
            clock: NativeClock.value(of: end.link.state.clock.tick(at: controller.loop.now)), accuracy: end.link.role == .central ? 0 : 1)
    }
}

extension BREDRController {
    /// Applies to links on which this device is the central.
    func execute(_ command: HCICommands.SetAFHHostChannelClassification) throws(CommandRefusal) {
        guard let map = AdaptedChannelMap(octets: command.afhHostChannelClassification) else { throw .invalidParameters }
        settings.channels.classification = map
        for end in links where end.isKnownToHost { end.connection.setChannelMap(settings.channels.adapted) }
    }

    func execute(_ command: HCICommands.ReadAFHChannelAssessmentMode) throws(CommandRefusal)
        -> HCICommands.ReadAFHChannelAssessmentMode.Return
    {
        .init(status: .success, afhChannelAssessmentMode: settings.channels.isAssessed ? 1 : 0)
    }

    func execute(_ command: HCICommands.WriteAFHChannelAssessmentMode) throws(CommandRefusal) {
        settings.channels.isAssessed = command.afhChannelAssessmentMode == 1
    }
}

extension AdaptedChannelMap {
    /// AFH_Channel_Map: bit n of octet 0 is RF channel n.
    var octets: [UInt8] { (0..<10).map { UInt8(truncatingIfNeeded: mask >> UInt128(8 * $0)) } }

    /// Returns nil if fewer than N_min channels are used or a bit beyond channel 78 is set.
    init?(octets: [UInt8]) { self.init(octets.reversed().reduce(0) { $0 << 8 | UInt128($1) }) }
}
