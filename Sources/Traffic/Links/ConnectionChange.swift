import BBPackets

/// Effect of an event, or of a sent command, on connections.
public enum ConnectionChange: Sendable, Hashable {
    case opened(ConnectionState)
    /// A connection failed to be established, or LE advertising ended without one.
    case failed(ConnectionState.Kind, ErrorCode)
    case closed(ConnectionHandle, reason: ErrorCode)
    /// HCI_Reset was answered: all connections end without further events. Core Vol 4, Part E, 7.3.2.
    case reset
    case parametersChanged(ConnectionHandle, ConnectionParameters)
    case physChanged(ConnectionHandle, LinkPHYs)
    case dataLengthChanged(ConnectionHandle, DataLength)
    /// A command requests an encryption change or supplies the key for one.
    case encryptionRequested(ConnectionHandle)
    /// Encryption has changed or failed to change.
    case encryptionChanged(ConnectionHandle, isOn: Bool, ErrorCode)
    /// Encryption uses a new key. Core Vol 4, Part E, 7.7.39.
    case keyRefreshed(ConnectionHandle, ErrorCode)
}
