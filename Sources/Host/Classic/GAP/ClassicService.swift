/// A service that peers may open connection-oriented channels to.
struct ClassicService {
    var settings: ClassicChannelSettings
    /// What the link has to be.
    var level: SecurityMode4Level
    var opened: (ClassicDataChannel, ClassicConnection) -> Void

    /// Service discovery alone goes without encryption in security mode 4. Core Vol 3, Part C, 5.2.2.2.
    static func leastLevel(_ psm: UInt16) -> SecurityMode4Level { psm == ClassicPSM.sdp ? .open : .unauthenticated }
}
