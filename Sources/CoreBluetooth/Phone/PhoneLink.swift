import BBHost
import BBPackets

/// A link of a phone to a device, on either transport: the same attributes and the same calls.
final class PhoneLink {
    enum Event {
        case mtuChanged(Int)
        case paired(PairingResult)
        case disconnected(ErrorCode)
    }

    let link: PeerLink
    /// The client on the channel of BR/EDR.
    private let client: GATTClient?

    init(_ connection: Connection) {
        link = .le(connection)
        client = nil
    }

    /// Opens the channel for attributes. Core Vol 3, Part G, 2.2 and 9.
    init(_ connection: ClassicConnection) async throws {
        client = try await connection.openAttributes()
        link = .classic(connection)
    }

    var le: Connection? { if case .le(let connection) = link { connection } else { nil } }
    var isConnected: Bool { link.isConnected }
    var bond: Bond? { link.bond }

    /// - Throws: `.peer(.disconnected)` on a link without attributes.
    var gatt: GATTClient {
        get throws {
            guard let gatt = le?.gatt ?? client else { throw HostError.peer(.disconnected(.connectionTerminatedByLocalHost)) }
            return gatt
        }
    }
    var mtu: Int { (try? gatt.mtu) ?? 23 }

    /// The most octets of a packet that this side sends.
    var octets: UInt16 { le?.dataLength.txOctets ?? UInt16.max }

    var isEncrypted: Bool {
        switch link {
        case .le(let connection): connection.security != .none
        case .classic(let connection): connection.linkSecurity != .none
        }
    }

    /// Encrypts the link with the key of the bond.
    func encrypt() async throws {
        switch link {
        case .le(let connection): try await connection.encrypt()
        case .classic(let connection): try await connection.secure(to: .unauthenticated)
        }
    }

    /// Raises the security of the link by one step, with a pairing if there is no key for it.
    func secure() async throws {
        switch link {
        case .le(let connection): try await connection.secure(to: connection.security == .none ? .encrypted : .authenticated)
        case .classic(let connection): try await connection.secure(to: connection.linkSecurity == .none ? .unauthenticated : .authenticated)
        }
    }

    /// - Throws: an error over BR/EDR, where the value is relative to a range that suits the controller. Core Vol 4, Part E, 7.5.4.
    func readRSSI() async throws -> Int8 {
        guard let le else { throw CBError(.operationNotSupported) }
        return try await le.readRSSI()
    }

    /// Observer of the events of the link; its end is reported also if it has ended before.
    func observe(_ handler: @escaping (Event) -> Void, room: @escaping () -> Void) {
        if let reason = link.acl.disconnectReason {
            _ = link.acl.host.loop.schedule(after: .zero) { handler(.disconnected(reason)) }
        }
        switch link {
        case .le(let connection):
            connection.events.add { event in
                switch event {
                case .mtuChanged(let mtu): handler(.mtuChanged(mtu))
                case .paired(let result): handler(.paired(result))
                case .disconnected(let reason): handler(.disconnected(reason))
                default: break
                }
            }
            connection.writable.add(room)
        case .classic(let connection):
            connection.events.add { event in
                switch event {
                case .paired(let result): handler(.paired(result))
                case .disconnected(let reason): handler(.disconnected(reason))
                default: break
                }
            }
        }
    }
}
