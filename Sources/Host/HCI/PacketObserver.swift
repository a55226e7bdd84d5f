import BBPackets
import BBTiming

/// Direction of a packet on the HCI, as seen from the host.
public enum PacketDirection: Sendable, Hashable {
    case sent
    case received
}

/// Called on the loop with every packet between host and controller.
public typealias PacketObserver = (PacketDirection, HCIPacket, Microseconds) -> Void
