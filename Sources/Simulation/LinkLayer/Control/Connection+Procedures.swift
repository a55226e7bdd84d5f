import Packets

/// What a host may ask of a link. Each returns the status for HCI Command Status; the result comes to the delegate.
extension Connection {
    /// HCI Disconnect.
    func terminate(_ reason: ErrorCode) {}

    /// LE Connection Update. A peripheral, or a central by choice, asks by LL_CONNECTION_PARAM_REQ.
    func updateParameters(_ requested: RequestedParameters) -> ErrorCode { .success }

    /// The host's answer to `connection(_:requested:)`: parameters to accept, or nil and the reason of the refusal.
    func replyToParameterRequest(_ accepted: RequestedParameters?, reason: ErrorCode) -> ErrorCode { .success }

    /// LE Set Host Channel Classification, central only.
    func updateChannelMap(_ map: ChannelMap) {}

    /// LE Set PHY; masks as in HCI, 0 for no preference.
    func updatePHY(tx: UInt8, rx: UInt8) -> ErrorCode { .success }

    /// LE Set Data Length.
    func setDataLength(txOctets: UInt16, txTime: UInt16) -> ErrorCode { .success }

    /// LE Read Remote Features.
    func readRemoteFeatures() -> ErrorCode { .success }

    /// Read Remote Version Information.
    func readRemoteVersion() -> ErrorCode { .success }
}
