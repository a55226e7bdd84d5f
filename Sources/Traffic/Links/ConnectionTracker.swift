import BBHCI
import BBPackets

/// Tracks the connections of a controller from the packets between it and its host, applying the specification's precedence rules.
///
/// It sends nothing. Changes of unknown connections are ignored.
public struct ConnectionTracker: Sendable {
    public private(set) var connections: [ConnectionHandle: ConnectionState] = [:]
    private static let handles: ClosedRange<ConnectionHandle> = 0x0000...0x0EFF

    public init() {}

    public subscript(_ handle: ConnectionHandle) -> ConnectionState? { connections[handle] }

    /// Follows an LE connection that was open before the first packet.
    public mutating func adopt(_ handle: ConnectionHandle) { connections[handle] = ConnectionState(handle, .le) }

    // MARK: Commands

    /// Handles a command sent to the controller.
    public mutating func sent(_ command: HCIPacket) -> ConnectionChange? {
        switch command.commandOpcode {
        case HCICommands.SetConnectionEncryption.opcode:
            return requested((try? command.command(as: HCICommands.SetConnectionEncryption.self))?.connectionHandle)
        case HCICommands.LEEnableEncryption.opcode:
            return requested((try? command.command(as: HCICommands.LEEnableEncryption.self))?.connectionHandle)
        case HCICommands.LELongTermKeyRequestReply.opcode:
            return requested((try? command.command(as: HCICommands.LELongTermKeyRequestReply.self))?.connectionHandle)
        default: return nil
        }
    }

    private mutating func requested(_ handle: ConnectionHandle?) -> ConnectionChange? {
        guard let handle = handle?.withoutReservedBits else { return nil }
        connections[handle]?.wasGivenKey = true
        return .encryptionRequested(handle)
    }

    // MARK: Events

    /// Handles an event.
    ///
    /// - Throws: if an event about connections cannot be decoded, or has an invalid handle or PHY.
    public mutating func received(_ event: HCIPacket) throws(PDUError) -> ConnectionChange? {
        if event.completedOpcode == HCICommands.Reset.opcode { return try wasReset(event) }
        return switch event.id?.effect {
        case .opens(.le): try connected(HCIEvents.LEEnhancedConnectionCompleteV2(anyVersion: event))
        case .opens(.bredr): try connected(event.event(as: HCIEvents.ConnectionComplete.self))
        case .opens(.synchronous): try connected(event.event(as: HCIEvents.SynchronousConnectionComplete.self))
        case .opens(.isochronous): try streamEstablished(HCIEvents.LECISEstablishedV2(anyVersion: event))
        case .closes(.link): disconnected(try event.event())
        case .changes(.encryption): encryptionChanged(try HCIEvents.EncryptionChangeV2(anyVersion: event))
        case .changes: try changed(event)
        case .opens, .closes, nil: nil
        }
    }

    private mutating func changed(_ event: HCIPacket) throws(PDUError) -> ConnectionChange? {
        switch event.id {
        case HCIEvents.EncryptionKeyRefreshComplete.id: keyRefreshed(try event.event())
        case HCIEvents.LEConnectionUpdateComplete.id: updated(try event.event())
        case HCIEvents.LEDataLengthChange.id: dataLengthChanged(try event.event())
        case HCIEvents.LEPHYUpdateComplete.id: try phyUpdated(event.event())
        default: nil
        }
    }

    private mutating func connected(_ event: HCIEvents.LEEnhancedConnectionCompleteV2?) throws(PDUError) -> ConnectionChange? {
        guard let event else { return nil }
        guard event.status == .success else { return .failed(.le, event.status) }
        let parameters = ConnectionParameters(
            interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout)
        return try open(
            ConnectionState(
                event.connectionHandle, .le, role: event.role, peer: DeviceAddress(event.peerAddress, kind: event.peerAddressType.kind),
                isPeerResolved: event.peerAddressType == .publicIdentity || event.peerAddressType == .randomIdentity,
                ownPrivateAddress: event.localResolvablePrivateAddress, peerPrivateAddress: event.peerResolvablePrivateAddress,
                parameters: parameters))
    }

    private mutating func connected(_ event: HCIEvents.ConnectionComplete) throws(PDUError) -> ConnectionChange? {
        let kind: ConnectionState.Kind = event.linkType == .acl ? .classic : .synchronous
        guard event.status == .success else { return .failed(kind, event.status) }
        return try open(ConnectionState(event.connectionHandle, kind, peer: DeviceAddress(event.bdADDR, kind: .public)))
    }

    private mutating func connected(_ event: HCIEvents.SynchronousConnectionComplete) throws(PDUError) -> ConnectionChange? {
        guard event.status == .success else { return .failed(.synchronous, event.status) }
        return try open(ConnectionState(event.connectionHandle, .synchronous, peer: DeviceAddress(event.bdADDR, kind: .public)))
    }

    private mutating func streamEstablished(_ event: HCIEvents.LECISEstablishedV2?) throws(PDUError) -> ConnectionChange? {
        guard let event else { return nil }
        guard event.status == .success else { return .failed(.isochronous, event.status) }
        return try open(ConnectionState(event.connectionHandle, .isochronous))
    }

    private mutating func open(_ connection: ConnectionState) throws(PDUError) -> ConnectionChange {
        guard Self.handles.contains(connection.handle) else {
            throw PDUError(field: "Connection_Handle", offset: 0, problem: .value("no handle: \(connection.handle.rawValue)"))
        }
        connections[connection.handle] = connection
        return .opened(connection)
    }

    private mutating func disconnected(_ event: HCIEvents.DisconnectionComplete) -> ConnectionChange? {
        guard event.status == .success else { return nil }
        let handle = event.connectionHandle.withoutReservedBits
        connections[handle] = nil
        return .closed(handle, reason: event.reason)
    }

    private mutating func wasReset(_ event: HCIPacket) throws(PDUError) -> ConnectionChange? {
        guard try CommandAnswer(event: event)?.status == .success else { return nil }
        connections.removeAll()
        return .reset
    }

    /// The handle if its connection is open; nil otherwise.
    private func known(_ handle: ConnectionHandle) -> ConnectionHandle? {
        connections[handle.withoutReservedBits] == nil ? nil : handle.withoutReservedBits
    }

    private mutating func updated(_ event: HCIEvents.LEConnectionUpdateComplete) -> ConnectionChange? {
        guard event.status == .success, let handle = known(event.connectionHandle) else { return nil }
        let parameters = ConnectionParameters(
            interval: event.connectionInterval, latency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout)
        connections[handle]?.parameters = parameters
        return .parametersChanged(handle, parameters)
    }

    private mutating func phyUpdated(_ event: HCIEvents.LEPHYUpdateComplete) throws(PDUError) -> ConnectionChange? {
        guard event.status == .success, let handle = known(event.connectionHandle) else { return nil }
        guard let tx = PHY(rawValue: event.txPHY), let rx = PHY(rawValue: event.rxPHY) else {
            throw PDUError(field: "TX_PHY, RX_PHY", offset: 0, problem: .value("no PHY: \(event.txPHY), \(event.rxPHY)"))
        }
        let phys = LinkPHYs(tx: tx, rx: rx)
        connections[handle]?.phys = phys
        return .physChanged(handle, phys)
    }

    private mutating func dataLengthChanged(_ event: HCIEvents.LEDataLengthChange) -> ConnectionChange? {
        guard let handle = known(event.connectionHandle) else { return nil }
        let length = DataLength(
            txOctets: event.maxTXOctets, txTime: event.maxTXTime, rxOctets: event.maxRXOctets, rxTime: event.maxRXTime)
        connections[handle]?.dataLength = length
        return .dataLengthChanged(handle, length)
    }

    private mutating func encryptionChanged(_ event: HCIEvents.EncryptionChangeV2?) -> ConnectionChange? {
        guard let event, let handle = known(event.connectionHandle) else { return nil }
        let isOn = event.encryptionEnabled != 0
        if event.status == .success { connections[handle]?.isEncrypted = isOn }
        return .encryptionChanged(handle, isOn: isOn, event.status)
    }

    private mutating func keyRefreshed(_ event: HCIEvents.EncryptionKeyRefreshComplete) -> ConnectionChange? {
        known(event.connectionHandle).map { .keyRefreshed($0, event.status) }
    }
}

extension ConnectionHandle {
    /// The handle without its four upper bits, which are reserved and ignored on reception. Core Vol 4, Part E, 5.4.2.
    var withoutReservedBits: ConnectionHandle { ConnectionHandle(rawValue & 0x0FFF) }
}
