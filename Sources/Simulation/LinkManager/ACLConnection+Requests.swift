import Packets

/// What a host may ask of a link. Results come to the delegate as reports.
extension ACLConnection {
    /// What the paging side does once the link is there: features first, then the other host is asked. Core Vol 2, Part C, 4.1.1.
    func establish() {
        request(LocalFeaturePage(isReported: false))
        for page in 1..<max(1, state.settings.highestPage) + 1 { request(LocalFeaturePage(page: page, isReported: false)) }
        request(LocalConnectionSetup())
    }

    /// Disconnect. The delegate hears 0x16 when the other side has acknowledged it, or has been silent for too long.
    @discardableResult
    func disconnect(_ reason: ErrorCode) -> ErrorCode {
        guard !isClosed, !engine.isTerminating else { return .commandDisallowed }
        request(LocalDetach(reason))
        return .success
    }

    /// Accept_Connection_Request.
    func accept(asCentral: Bool) -> ErrorCode { reply(.acceptsConnection(asCentral: asCentral)) ? .success : .commandDisallowed }

    /// Reject_Connection_Request, or the connection accept time-out.
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

    /// Read_Clock_Offset.
    func readClockOffset() { request(LocalClockOffset()) }

    /// Write_Link_Supervision_Timeout, in slots; only a central tells it.
    func setSupervisionTimeout(_ timeout: UInt16) { request(LocalSupervisionTimeout(timeout)) }

    /// Switch_Role.
    ///
    /// - Parameter slotOffset: where this side's piconet would be, for a peripheral.
    func switchRole(to role: LinkRole, slotOffset: UInt16 = 0) -> ErrorCode {
        guard role != state.role else { return .success }
        guard !engine.isBusy(with: .roleSwitch) else { return .commandDisallowed }
        request(LocalRoleSwitch(slotOffset: slotOffset))
        return .success
    }

    /// Authentication_Requested.
    func authenticate() -> ErrorCode {
        guard !engine.isBusy(with: .authentication), !engine.isBusy(with: .pairing) else { return .commandDisallowed }
        request(LocalAuthentication(.asked, state.ownTransaction))
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
        request(EncryptionRefresh(isLocal: true, state.ownTransaction))
        return .success
    }
}
