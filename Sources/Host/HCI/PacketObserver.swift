import Packets
import Timing

/// Which way a packet crossed the host controller interface, seen from the host.
public enum PacketDirection: Sendable, Hashable {
    case sent
    case received
}

/// Sees every packet between host and controller, as it crosses, on the loop.
public typealias PacketObserver = (PacketDirection, HCIPacket, Microseconds) -> Void
