import BBHost
import BBPackets
import BBTiming
import Foundation
import Synchronization

/// The peers that a phone knows: identifiers, names, services and links. Usable from any thread, as `retrieve...` functions answer at
/// once.
final class PeerRecords: Sendable {
    private struct Record {
        var identity: PeerIdentity
        /// Local name of the advertising data.
        var name: String?
        /// Device Name of the Generic Access service. Core Vol 3, Part C, 12.1.
        var deviceName: String?
        var services: Set<BluetoothUUID> = []
        var readsNotifications = false
        var usesExtendedAdvertising = false
    }

    private struct State {
        var records: [UUID: Record] = [:]
        var identifiers: [PeerIdentity: UUID] = [:]
        /// In the order of the connections.
        var connected: [UUID] = []
        /// Nil for identifiers of the system's generator.
        var random: RandomSource?
    }

    private let state: Mutex<State>

    /// - Parameter seed: determines the identifiers in virtual time; nil for those of the system's generator.
    init(seed: UInt64?) {
        state = Mutex(State(random: seed.map { RandomSource(seed: $0, label: "identifiers of peers") }))
    }

    /// The identifier of a peer, made when the peer is first seen.
    func identifier(of peer: PeerIdentity) -> UUID {
        state.withLock { state in
            if let known = state.identifiers[peer] { return known }
            let made = Self.made(&state.random)
            state.identifiers[peer] = made
            state.records[made] = Record(identity: peer)
            return made
        }
    }

    private static func made(_ random: inout RandomSource?) -> UUID {
        guard var source = random else { return UUID() }
        let words = (source.next(), source.next())
        random = source
        func octet(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> (8 * UInt64(index))) }
        let (a, b) = words
        // Version 4, variant 1: RFC 9562, 5.4.
        return UUID(
            uuid: (
                octet(a, 0), octet(a, 1), octet(a, 2), octet(a, 3), octet(a, 4), octet(a, 5), octet(a, 6) & 0x0F | 0x40, octet(a, 7),
                octet(b, 0) & 0x3F | 0x80, octet(b, 1), octet(b, 2), octet(b, 3), octet(b, 4), octet(b, 5), octet(b, 6), octet(b, 7)
            ))
    }

    /// A bond tells under which identity a peer is found from now on; its identifier stays.
    func paired(_ identifier: UUID, as identity: PeerIdentity) {
        state.withLock { state in
            state.records[identifier]?.identity = identity
            state.identifiers[identity] = identifier
        }
    }

    /// The device gets another identifier when it is seen again.
    func forget(_ identifier: UUID) {
        state.withLock { state in
            state.records[identifier] = nil
            for peer in state.identifiers.filter({ $0.value == identifier }).keys { state.identifiers[peer] = nil }
        }
    }

    func permit(_ isPermitted: Bool, _ identifier: UUID) { state.withLock { $0.records[identifier]?.readsNotifications = isPermitted } }
    func readsNotifications(_ identifier: UUID) -> Bool { state.withLock { $0.records[identifier]?.readsNotifications ?? false } }

    func knows(_ identifier: UUID) -> Bool { state.withLock { $0.records[identifier] != nil } }
    func identity(of identifier: UUID) -> PeerIdentity? { state.withLock { $0.records[identifier]?.identity } }
    /// The Device Name if it is known, otherwise the advertised name.
    func name(of identifier: UUID) -> String? {
        state.withLock { state in state.records[identifier].flatMap { $0.deviceName ?? $0.name } }
    }
    func deviceNamed(_ name: String, _ identifier: UUID) { state.withLock { $0.records[identifier]?.deviceName = name } }
    func named(_ name: String, _ identifier: UUID) { state.withLock { $0.records[identifier]?.name = name } }

    func extended(_ identifier: UUID) { state.withLock { $0.records[identifier]?.usesExtendedAdvertising = true } }
    func isExtended(_ identifier: UUID) -> Bool { state.withLock { $0.records[identifier]?.usesExtendedAdvertising ?? false } }

    func learned(_ services: [BluetoothUUID], of identifier: UUID) {
        state.withLock { $0.records[identifier]?.services.formUnion(services) }
    }

    func has(_ services: Set<BluetoothUUID>, _ identifier: UUID) -> Bool {
        state.withLock { !($0.records[identifier]?.services.isDisjoint(with: services) ?? true) }
    }

    /// - Returns: true if this is a change.
    func connection(of identifier: UUID, isUp: Bool) -> Bool {
        state.withLock { state in
            guard state.connected.contains(identifier) != isUp else { return false }
            if isUp { state.connected.append(identifier) } else { state.connected.removeAll { $0 == identifier } }
            return true
        }
    }

    /// Connected peers with one of the services.
    func connected(with services: Set<BluetoothUUID>) -> [UUID] {
        state.withLock { state in state.connected.filter { !(state.records[$0]?.services.isDisjoint(with: services) ?? true) } }
    }
}
