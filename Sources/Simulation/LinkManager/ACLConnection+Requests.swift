import BBPackets

/// Requests of the host to a link. The delegate gets the results as reports.
extension ACLConnection {
    /// Starts connection setup on the paging side: reads the peer's features, then sends LMP_host_connection_req. Core Vol 2, Part C,
    /// 4.1.1.
    func establish() {
        request(LocalFeaturePage(isReported: false))
        for page in 1..<max(1, state.settings.highestPage) + 1 { request(LocalFeaturePage(page: page, isReported: false)) }
        request(LocalConnectionSetup())
    }

    /// Disconnect. The delegate is called with 0x16 once the peer has acknowledged or the procedure has timed out.
    @discardableResult
    func disconnect(_ reason: ErrorCode) -> ErrorCode {
        guard !isClosed, !engine.isTerminating else { return .commandDisallowed }
        request(LocalDetach(reason))
        return .success
    }

    /// Accept_Connection_Request.
    func accept(asCentral: Bool) -> ErrorCode { reply(.acceptsConnection(asCentral: asCentral)) ? .success : .commandDisallowed }

    /// Reject_Connection_Request, or the expired connection accept timeout.
    @discardableResult
    func refuse(_ reason: ErrorCode) -> ErrorCode { reply(.refusesConnection(reason)) ? .success : .commandDisallowed }

    /// Read_Remote_Supported_Features.
    func readRemoteFeatures() { request(LocalFeaturePage(isReported: true)) }

    /// Read_Remote_Extended_Features.
    func readRemoteExtendedFeatures(page: UInt8) { request(LocalFeaturePage(page: page, isExtended: true, isReported: true)) }

    /// Read_Remote_Version_Information.
    func readRemoteVersion() { request(LocalVersionRequest()) }

    /// Remote_Name_Request.
    func requestName() { request(LocalNameRequest()) }

    /// Remote_Name_Request on a link created only for it; also reads the peer's host features. Core Vol 4, Part E, 7.7.50.
    func requestNameAlone() {
        for page: UInt8 in [0, 1] { request(LocalFeaturePage(page: page, isReported: false)) }
        requestName()
    }

    /// Continues connection setup on a link that was created only for a name request.
    func establishAfterName() { request(LocalConnectionSetup()) }

    /// Read_Clock_Offset.
    func readClockOffset() { request(LocalClockOffset()) }

    /// Write_Link_Supervision_Timeout, in slots; only a central sends it to the peer.
    func setSupervisionTimeout(_ timeout: UInt16) { request(LocalSupervisionTimeout(timeout)) }

    /// Switch_Role.
    func switchRole(to role: LinkRole) -> ErrorCode {
        guard role != state.role else { return .success }
        guard !engine.isBusy(with: .roleSwitch), !engine.isBusy(with: .encryption) else { return .commandDisallowed }
        // A role switch needs active mode. Core Vol 2, Part C, 4.4.2.
        if state.sniff != nil { request(LocalUnsniff()) }
        if state.security.mode != .off, state.bothSupport(.pauseEncryption) {
            request(EncryptionRefresh(isLocal: true, switchesRoles: true))
        } else {
            request(LocalRoleSwitch())
        }
        return .success
    }

    /// Setup_Synchronous_Connection.
    func setUpSynchronous(_ wanted: SynchronousRequest) { request(SynchronousSetup(wanted)) }

    /// Disconnect of a synchronous connection.
    func endSynchronous(_ id: UInt8, _ reason: ErrorCode) { request(LocalSynchronousEnd(id, reason)) }

    /// Sniff_Mode.
    func enterSniff(_ wanted: SniffRequest) -> ErrorCode {
        guard state.sniff == nil, !engine.isBusy(with: .sniff) else { return .commandDisallowed }
        request(LocalSniff(wanted))
        return .success
    }

    /// Exit_Sniff_Mode.
    func exitSniff() -> ErrorCode {
        guard state.sniff != nil, !engine.isBusy(with: .sniff) else { return .commandDisallowed }
        request(LocalUnsniff())
        return .success
    }

    /// Sets the AFH channel map of a central, from the host's channel classification; nil for the basic hopping sequence.
    func setChannelMap(_ map: AdaptedChannelMap?) { request(LocalChannelMap(map)) }

    /// QoS_Setup and Flow_Specification: T_poll in slots.
    func setPollInterval(_ interval: UInt16) { request(LocalQualityOfService(interval: interval)) }

    /// Authentication_Requested.
    func authenticate() -> ErrorCode {
        guard !engine.isBusy(with: .authentication), !engine.isBusy(with: .pairing) else { return .commandDisallowed }
        request(LocalAuthentication())
        return .success
    }

    /// Change_Connection_Link_Key.
    func changeKey() -> ErrorCode {
        guard !engine.isBusy(with: .authentication), !engine.isBusy(with: .pairing) else { return .commandDisallowed }
        request(LocalLinkKeyChange())
        return .success
    }

    /// Set_Connection_Encryption.
    func setEncryption(isOn: Bool) -> ErrorCode {
        guard !engine.isBusy(with: .encryption) else { return .commandDisallowed }
        request(LocalEncryptionMode(isOn: isOn))
        return .success
    }

    /// Refresh_Encryption_Key.
    func refreshKey() -> ErrorCode {
        guard state.security.mode != .off, !engine.isBusy(with: .encryption) else { return .commandDisallowed }
        request(EncryptionRefresh(isLocal: true))
        return .success
    }
}
