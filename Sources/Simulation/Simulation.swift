import BBPackets
import BBTiming
import BBTraffic

/// A simulated radio environment: one air and the virtual controllers on it. Runs synchronously on one loop.
public final class Simulation {
    let loop: RunLoop
    let air: Air
    let seed: UInt64
    var ports: [ControllerID: ControllerPort] = [:]
    /// Receives the address of the controller and the opcode, for each command that a controller does not know. Concerns controllers that
    /// are added afterwards.
    public var onUnknownCommand: ((DeviceAddress, UInt16) -> Void)?

    /// - Parameter seed: determines every random choice.
    public init(loop: RunLoop, seed: UInt64) {
        self.loop = loop
        self.seed = seed
        air = Air(loop: loop, seed: seed)
    }

    /// The controllers of neighbours may have links, which refer to their radio.
    deinit { for port in ports.values { port.controller.powerOff() } }

    /// Logs every transmission from now on; nil stops it.
    ///
    /// - Parameter sink: called on the loop at the start of each packet, with the time of its first bit.
    public func logAir(to sink: ((AnyAirFrame, Microseconds) -> Void)?) { air.log = sink }

    /// Reports the key with which a central starts encryption, before the first encrypted packet; nil stops it.
    ///
    /// - Parameter sink: receives the link's access address and the long term key, once per session.
    public func logKeys(to sink: ((_ accessAddress: UInt32, _ longTermKey: UInt128) -> Void)?) { air.keyLog = sink }

    /// True if no controller has an operation under way and no radio is in use, as after a reset of each.
    public var isAtRest: Bool { ports.values.compactMap(\.controller).allSatisfy { $0.isIdle && $0.radio.isAtRest } }

    /// Number of packets sent on the air so far.
    public var transmissions: Int { air.transmissions }
}

/// Identifies a controller of a simulation.
public struct ControllerID: Sendable, Hashable {
    public let rawValue: Int
}
