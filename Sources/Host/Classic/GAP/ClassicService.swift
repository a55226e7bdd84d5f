import BBL2CAP
import BBPackets

/// A service to which peers may open connection-oriented channels.
struct ClassicService {
    var settings: ClassicChannelSettings
    /// Required security level of the link.
    var level: SecurityMode4Level
    var opened: (ClassicDataChannel, ClassicConnection) -> Void

    /// Minimum security level: in security mode 4, only service discovery is allowed without encryption. Core Vol 3, Part C, 5.2.2.2.
    static func leastLevel(_ psm: UInt16) -> SecurityMode4Level { psm == PSM.sdp ? .open : .unauthenticated }
}
