import BBPackets
import BBTiming

/// Sniff mode, role, link policy and quality of service commands. Core Vol 4, Part E, 7.2.2 to 7.2.13.
extension BREDRController {
    static func linkPolicyCommands(_ rows: inout CommandRows<BREDRController>) {
        rows.start(HCICommands.SniffMode.self) { try $0.execute($1) }
        rows.start(HCICommands.ExitSniffMode.self) { try $0.execute($1) }
        rows.start(HCICommands.QoSSetup.self) { try $0.execute($1) }
        rows.complete(HCICommands.RoleDiscovery.self) { try $0.execute($1) }
        rows.start(HCICommands.SwitchRole.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadLinkPolicySettings.self) { try $0.execute($1) }
        rows.complete(HCICommands.WriteLinkPolicySettings.self) { try $0.execute($1) }
        rows.complete(HCICommands.ReadDefaultLinkPolicySettings.self) { try $0.execute($1) }
        rows.perform(HCICommands.WriteDefaultLinkPolicySettings.self) { try $0.execute($1) }
        rows.start(HCICommands.FlowSpecification.self) { try $0.execute($1) }
    }
}

extension BREDRController {
    // MARK: Sniff mode

    func execute(_ command: HCICommands.SniffMode) throws(CommandRefusal) {
        let (longest, shortest) = (command.sniffMaxInterval, command.sniffMinInterval)
        try Check.that(shortest <= longest && shortest % 2 == 0 && longest % 2 == 0)
        let wanted = SniffRequest(intervals: shortest...longest, attempt: command.sniffAttempt, timeout: command.sniffTimeout)
        try link(command.connectionHandle).connection.enterSniff(wanted).check()
    }

    func execute(_ command: HCICommands.ExitSniffMode) throws(CommandRefusal) {
        try link(command.connectionHandle).connection.exitSniff().check()
    }

    // MARK: Roles

    func execute(_ command: HCICommands.RoleDiscovery) throws(CommandRefusal) -> HCICommands.RoleDiscovery.Return {
        let end = try link(command.connectionHandle)
        return .init(
            status: .success, connectionHandle: end.handle, currentRole: ConnectionRole(rawValue: end.connection.role.rawValue))
    }

    /// Switches the role, and sends Role_Change even if the role does not change.
    func execute(_ command: HCICommands.SwitchRole) throws(CommandRefusal) {
        guard let end = links.first(where: { $0.peer == command.bdADDR && $0.isKnownToHost }) else { throw .unknownConnection }
        let role: LinkRole = command.role == .central ? .central : .peripheral
        guard role != end.connection.role else {
            return emit(HCIEvents.RoleChange(status: .success, bdADDR: end.peer, newRole: command.role))
        }
        try end.connection.switchRole(to: role).check()
    }

    // MARK: Policies

    func execute(_ command: HCICommands.ReadLinkPolicySettings) throws(CommandRefusal) -> HCICommands.ReadLinkPolicySettings.Return {
        let end = try link(command.connectionHandle)
        return .init(status: .success, connectionHandle: end.handle, linkPolicySettings: end.policy.rawValue)
    }

    func execute(_ command: HCICommands.WriteLinkPolicySettings) throws(CommandRefusal) -> HCICommands.WriteLinkPolicySettings.Return {
        let end = try link(command.connectionHandle)
        end.policy = LinkPolicy(rawValue: command.linkPolicySettings)
        return .init(status: .success, connectionHandle: end.handle)
    }

    func execute(_ command: HCICommands.ReadDefaultLinkPolicySettings) throws(CommandRefusal)
        -> HCICommands.ReadDefaultLinkPolicySettings.Return
    {
        .init(status: .success, defaultLinkPolicySettings: settings.policy.rawValue)
    }

    func execute(_ command: HCICommands.WriteDefaultLinkPolicySettings) throws(CommandRefusal) {
        settings.policy = LinkPolicy(rawValue: command.defaultLinkPolicySettings)
    }

    // MARK: Quality of service

    private static let guaranteed: UInt8 = 2

    func execute(_ command: HCICommands.QoSSetup) throws(CommandRefusal) {
        let end = try link(command.connectionHandle)
        try setUpQuality(of: end, command.serviceType == Self.guaranteed ? command.latency : nil) { [unowned self] status in
            emit(
                HCIEvents.QoSSetupComplete(
                    status: status, connectionHandle: command.connectionHandle, unused: 0, serviceType: command.serviceType,
                    tokenRate: command.tokenRate, peakBandwidth: command.peakBandwidth, latency: command.latency,
                    delayVariation: command.delayVariation))
        }
    }

    func execute(_ command: HCICommands.FlowSpecification) throws(CommandRefusal) {
        let end = try link(command.connectionHandle)
        try setUpQuality(of: end, command.serviceType == Self.guaranteed ? command.accessLatency : nil) { [unowned self] status in
            emit(
                HCIEvents.FlowSpecificationComplete(
                    status: status, connectionHandle: command.connectionHandle, unused: 0, flowDirection: command.flowDirection,
                    serviceType: command.serviceType, tokenRate: command.tokenRate, tokenBucketSize: command.tokenBucketSize,
                    peakBandwidth: command.peakBandwidth, accessLatency: command.accessLatency))
        }
    }

    /// Sets the poll interval for a guaranteed latency; best effort needs no change.
    ///
    /// - Parameter latency: microseconds; nil for best effort.
    private func setUpQuality(of end: ACLLinkEnd, _ latency: UInt32?, _ tell: @escaping (ErrorCode) -> Void) throws(CommandRefusal) {
        try Check.that(end.tellQuality == nil, else: .disallowed)
        guard let latency else { return tell(.success) }
        let slots = Int(latency) / Int(NativeClock.slot.rawValue) & ~1
        guard slots >= LocalQualityOfService.intervals.lowerBound else { return tell(.qosRejected) }
        end.tellQuality = tell
        end.connection.setPollInterval(UInt16(min(slots, LocalQualityOfService.intervals.upperBound)))
    }
}
