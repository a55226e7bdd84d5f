import Packets

/// What an event, or a command on its way, says about connections.
public enum ConnectionChange: Sendable, Hashable {
    case opened(ConnectionState)
    /// A connection was not made; LE advertising that ends without one says so, too.
    case failed(ConnectionState.Kind, ErrorCode)
    case closed(ConnectionHandle, reason: ErrorCode)
    /// HCI_Reset was answered: every connection is gone without a word. Core Vol 4, Part E, 7.3.2.
    case reset
    case parametersChanged(ConnectionHandle, ConnectionParameters)
    case physChanged(ConnectionHandle, LinkPHYs)
    case dataLengthChanged(ConnectionHandle, DataLength)
    /// A command asks for encryption to be switched, or gives the key for it.
    case encryptionRequested(ConnectionHandle)
    /// Encryption was switched, or could not be.
    case encryptionChanged(ConnectionHandle, isOn: Bool, ErrorCode)
    /// A new key is in use. Core Vol 4, Part E, 7.7.39.
    case keyRefreshed(ConnectionHandle, ErrorCode)
}
