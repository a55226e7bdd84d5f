import BBHCI
import BBPackets
import BBTiming

/// An ACL connection over either transport: its L2CAP channels, its queues and its end. Core Vol 4, Part E, 5.4.2.
public class ACLLink {
    public final let handle: ConnectionHandle
    /// Identity of the peer, the same on both transports if the devices have exchanged identities.
    public final let peer: PeerIdentity
    public final let host: Host
    /// The reason why the connection ended; nil while it is up.
    public private(set) final var disconnectReason: ErrorCode?
    final let multiplexer: L2CAPMultiplexer
    private final let end: Promise<ErrorCode>

    init(_ multiplexer: L2CAPMultiplexer, to peer: PeerIdentity, host: Host) {
        handle = multiplexer.handle
        self.peer = peer
        self.host = host
        self.multiplexer = multiplexer
        end = Promise(on: host.loop)
    }

    final var context: HostContext { host.context }
    public final var isConnected: Bool { disconnectReason == nil }
    /// The bond with the peer; nil if the devices are not bonded.
    public final var bond: Bond? { host.keys[peer] }

    // MARK: Closing

    /// Disconnects and waits until the connection has ended.
    ///
    /// - Throws: `HostError.peer(.rejected)` if the controller rejects the reason.
    @discardableResult
    public final func disconnect(_ reason: ErrorCode = .remoteUserTerminatedConnection) async throws -> ErrorCode {
        if let disconnectReason { return disconnectReason }
        try await host.send(HCICommands.Disconnect(connectionHandle: handle, reason: reason))
        return try await ended(within: Host.procedureTimeOut)
    }

    /// Waits until the connection has ended.
    public final func ended(within limit: Microseconds? = nil) async throws -> ErrorCode {
        do {
            return try await end.value(until: limit.map { host.loop.now + $0 })
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.disconnection))
        }
    }

    // MARK: Data

    /// An L2CAP channel, with or without a layer of the host on it.
    public final func channel(_ cid: UInt16) -> L2CAPChannel { multiplexer.channel(cid) }

    /// Called with the PDUs of all channels, for evidence.
    public final var pduObservers: Listeners<PDUObserver> { multiplexer.observers }
    /// Number of ACL fragments queued for all channels.
    public final var queuedFragments: Int { multiplexer.queuedFragments }
    /// Number of ACL fragments in the controller.
    public final var fragmentsInController: Int { multiplexer.fragmentsInController }

    /// Waits until the peer has acknowledged all data, since a disconnection overtakes it. Also returns after `limit`, or if the connection
    /// has ended.
    public final func drained(within limit: Microseconds = .seconds(2)) async throws { try await multiplexer.drained(within: limit) }

    /// Sends any octets as one ACL fragment with any boundary flag.
    public final func sendFragment(boundary: ACLHeader.Boundary, _ octets: [UInt8]) {
        multiplexer.sendFragment(boundary: boundary, octets)
    }

    // MARK: Events

    final func ended(_ error: HostError, reason: ErrorCode) {
        guard disconnectReason == nil else { return }
        disconnectReason = reason
        multiplexer.close(error)
        closeLayers(error)
        end.fulfil(reason)
        tellEnd(reason)
    }

    /// Fails all waits of the layers above L2CAP's basic frames.
    func closeLayers(_ error: HostError) {}

    /// Reports the end to the listeners of the connection.
    func tellEnd(_ reason: ErrorCode) {}
}
