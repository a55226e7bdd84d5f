import BBBluetoothCrypto
import BBPackets
import BBTiming

/// BR/EDR connections and their events. Core Vol 4, Part E, 7.7.3 to 7.7.5.
extension BREDRController {
    func makeLink(_ parameters: BasebandLinkParameters, peer: BDADDR, classOfDevice: UInt32, isIncoming: Bool) -> ACLLinkEnd {
        var parameters = parameters
        parameters.quirks = configuration.quirks.bredr
        let link = BasebandLink(parameters, radio: radio, delegate: self)
        let end = ACLLinkEnd(
            handle: controller.makeHandle(), peer: peer, classOfDevice: classOfDevice, isIncoming: isIncoming, link: link,
            policy: settings.policy)
        let secrets = radio.air.secrets(of: "link manager \(configuration.address.bdADDR) \(peer) \(controller.secrets.next())")
        end.manage(
            by: ACLConnection(
                end.handle, own: configuration.address.bdADDR, peer: peer, transport: link, on: controller.loop, secrets: secrets,
                delegate: self))
        linkEnds.add(end)
        return end
    }

    func tellConnected(_ status: ErrorCode, _ handle: ConnectionHandle, _ peer: BDADDR) {
        emit(
            HCIEvents.ConnectionComplete(
                status: status, connectionHandle: status == .success ? handle : 0, bdADDR: peer, linkType: .acl, encryptionEnabled: 0))
    }

    private func end(of connection: ACLConnection) -> ACLLinkEnd? { links.first { $0.connection === connection } }
}

extension BREDRController: ACLConnectionDelegate {
    func linkManagerSettings(for peer: BDADDR) -> LinkManagerSettings {
        var result = LinkManagerSettings(
            pages: (0...2).compactMap { controller.lmpFeatures(page: $0) },
            version: RemoteVersion(
                version: configuration.version, companyIdentifier: configuration.companyIdentifier, subversion: configuration.subversion),
            name: settings.localName)
        if let end = links.first(where: { $0.peer == peer }) {
            // During connection setup, the parameter of the command that created the connection applies.
            result.allowsRoleSwitch = end.stage == .connected ? end.policy.contains(.roleSwitch) : end.allowsRoleSwitch
        }
        result.allowsSniff = links.first { $0.peer == peer }?.policy.contains(.sniff) ?? false
        result.isAuthenticationBarred = settings.security.failedAttempts.isBarred(peer, at: controller.loop.now)
        let longest = configuration.choices.longestKey
        result.keySizes = min(settings.security.minimumKeySize, longest)...longest
        result.outOfBand = settings.security.outOfBand
        result.delay = configuration.choices.linkManagerDelay
        result.repeatsStartNumber = configuration.choices.repeatsStartNumber
        result.quirks = configuration.quirks.bredr
        if configuration.choices.refusesRoleSwitch { result.allowsRoleSwitch = false }
        if result.quirks.contains(.takesShortKeys) { result.keySizes = 1...longest }
        return result
    }

    var rewriter: PacketRewriter? { controller.rewriter }

    func connection(_ connection: ACLConnection, reports report: ACLReport) {
        guard let end = end(of: connection) else { return }
        switch report {
        case .connectionRequested: consider(end)
        case .connected(let status): finish(end, status)
        case .maxSlots(let slots): emit(HCIEvents.MaxSlotsChange(connectionHandle: end.handle, lmpMaxSlots: slots))
        case .roleChanged(let role, let status):
            emit(HCIEvents.RoleChange(status: status, bdADDR: end.peer, newRole: ConnectionRole(rawValue: role.rawValue)))
            if status == .success, role == .central { end.connection.setChannelMap(settings.channels.adapted) }
        default: tell(report, of: end)
        }
    }

    func connection(_ connection: ACLConnection, disconnected reason: ErrorCode) {
        guard let end = end(of: connection) else { return }
        controller.reportCompletedPackets()
        endSynchronous(of: end, reason)
        linkEnds.remove(end)
        end.acceptTimer?.cancel()
        controller.forget(end)
        if paging?.end === end { stopPage() }
        failName(of: end.peer, reason)
        switch end.stage {
        case .connected: emit(HCIEvents.DisconnectionComplete(status: .success, connectionHandle: end.handle, reason: reason))
        case .begun where !end.isIncoming && !end.isForName, .requested: tellConnected(end.refusal ?? reason, 0, end.peer)
        case .begun: break
        }
    }

    private func finish(_ end: ACLLinkEnd, _ status: ErrorCode) {
        end.acceptTimer?.cancel()
        guard status == .success else {
            end.refusal = status
            return
        }
        end.stage = .connected
        tellConnected(status, end.handle, end.peer)
        end.connection.setChannelMap(settings.channels.adapted)
    }

    // MARK: Incoming connections. Core Vol 4, Part E, 7.3.3 and 7.7.4

    /// Accepts or rejects a connection request, or asks the host, as the event filters define.
    private func consider(_ end: ACLLinkEnd) {
        switch settings.filters.verdict(on: end.peer, end.classOfDevice) {
        case .accept(let asCentral): _ = end.connection.accept(asCentral: asCentral)
        case .refuse: end.connection.refuse(.connectionRejectedDueToUnacceptableBDADDR)
        case .ask:
            // A host that masks the event accepts no connections.
            guard controller.sends(HCIEvents.ConnectionRequest.self) else {
                end.connection.refuse(.connectionRejectedDueToLimitedResources)
                return
            }
            end.stage = .requested
            let timer = AirTimer(on: controller.loop) { [unowned end] in
                _ = end.connection.refuse(.connectionAcceptTimeoutExceeded)
            }
            end.acceptTimer = timer
            timer.set(at: controller.loop.now + NativeClock.slot * Int(settings.connectionAcceptTimeout))
            emit(HCIEvents.ConnectionRequest(bdADDR: end.peer, classOfDevice: end.classOfDevice, linkType: .acl))
        }
    }
}
