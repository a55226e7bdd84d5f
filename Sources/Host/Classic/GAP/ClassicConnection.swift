import HCI
import Packets
import Timing

/// One BR/EDR connection and the channels on it.
public final class ClassicConnection {
    public let handle: ConnectionHandle
    public let peer: BDADDR
    /// Why the connection ended; nil while it is up.
    public private(set) var disconnectReason: ErrorCode?
    let channels: ClassicChannels
    private let host: Host
    private let multiplexer: L2CAPMultiplexer
    private let end: Promise<ErrorCode>

    init(_ handle: ConnectionHandle, peer: BDADDR, host: Host, slot: Int) {
        self.handle = handle
        self.peer = peer
        self.host = host
        end = Promise(on: host.loop)
        multiplexer = L2CAPMultiplexer(handle: handle, slot: slot, context: host.context)
        channels = ClassicChannels(on: multiplexer, loop: host.loop)
        let context = host.context
        channels.admits = { _, psm in context.classicServices[psm].map { .accept($0.settings) } ?? .refuse(.refusedPSMNotSupported) }
        channels.arrived = { context.classicServices[$0.terms.psm]?.opened($0) }
    }

    public var isConnected: Bool { disconnectReason == nil }
    /// Told of the PDUs on all channels, for evidence.
    public var pduObservers: Listeners<PDUObserver> { multiplexer.observers }

    /// Opens a channel to a service of the peer. Core Vol 3, Part A, 4.2.
    ///
    /// - Throws: `HostError.peer(.channel)` with the reason, or why there is no connection.
    func openChannel(_ psm: UInt16, _ settings: ClassicChannelSettings = ClassicChannelSettings()) async throws -> ClassicDataChannel {
        try await channels.open(psm, settings)
    }

    /// Ends the connection and waits until it has ended.
    @discardableResult
    public func disconnect(_ reason: ErrorCode = .remoteUserTerminatedConnection) async throws -> ErrorCode {
        if let disconnectReason { return disconnectReason }
        try await host.send(HCICommands.Disconnect(connectionHandle: handle, reason: reason))
        return try await ended()
    }

    /// Waits until the connection has ended.
    public func ended() async throws -> ErrorCode { try await end.value() }

    // MARK: From below

    func received(boundary: ACLHeader.Boundary, _ fragment: RawSpan) { multiplexer.received(boundary: boundary, fragment) }
    func becameWritable(lane: Int) { multiplexer.becameWritable(lane: lane) }

    func ended(_ error: HostError, reason: ErrorCode) {
        guard disconnectReason == nil else { return }
        disconnectReason = reason
        multiplexer.close(error)
        channels.ended(error)
        end.fulfil(reason)
    }
}
