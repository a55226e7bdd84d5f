import Capture
import Packets
import Timing

/// A simulated piece of the world: one air, and the virtual controllers in it. Runs on one loop, as a synchronous chain of events.
public final class Simulation {
    let loop: RunLoop
    let air: Air
    let seed: UInt64
    var ports: [ControllerID: ControllerPort] = [:]
    var neighbours: [Neighbour] = []

    /// - Parameter seed: fixes every random choice.
    public init(loop: RunLoop, seed: UInt64) {
        self.loop = loop
        self.seed = seed
        air = Air(loop: loop, seed: seed)
    }

    /// Logs every transmission from now on; nil ends it.
    ///
    /// - Parameter sink: called on the loop, at the start of each packet, with the time of its first bit.
    public func logAir(to sink: ((AnyAirFrame, Microseconds) -> Void)?) { air.log = sink }

    /// Tells from now on the key with which a central starts encryption, before the first packet that is encrypted; nil ends it.
    ///
    /// - Parameter sink: takes the link's access address and the long term key, in the order of sessions.
    public func logKeys(to sink: ((_ accessAddress: UInt32, _ longTermKey: UInt128) -> Void)?) { air.keyLog = sink }

    /// Whether no controller has anything under way, and none of their radios is used, as after a reset of each.
    public var isAtRest: Bool { ports.values.compactMap(\.controller).allSatisfy { $0.isIdle && $0.radio.isAtRest } }

    /// Packets sent on the air so far.
    public var transmissions: Int { air.transmissions }
}

/// Names a controller of a simulation.
public struct ControllerID: Sendable, Hashable {
    public let rawValue: Int
}
