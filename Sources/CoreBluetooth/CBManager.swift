// Programs that import Core Bluetooth see Foundation through it.
@_exported import Foundation

public enum CBManagerState: Int, Sendable, Hashable {
    case unknown = 0
    case resetting = 1
    case unsupported = 2
    case unauthorized = 3
    case poweredOff = 4
    case poweredOn = 5
}

@available(*, deprecated, renamed: "CBManagerState")
public enum CBCentralManagerState: Int, Sendable {
    case unknown = 0
    case resetting = 1
    case unsupported = 2
    case unauthorized = 3
    case poweredOff = 4
    case poweredOn = 5
}

@available(*, deprecated, renamed: "CBManagerState")
public enum CBPeripheralManagerState: Int, Sendable {
    case unknown = 0
    case resetting = 1
    case unsupported = 2
    case unauthorized = 3
    case poweredOff = 4
    case poweredOn = 5
}

public enum CBManagerAuthorization: Int, Sendable, Hashable {
    case notDetermined = 0
    case restricted = 1
    case denied = 2
    case allowedAlways = 3
}

#if os(Linux)
    /// Seconds since 1 January 2001.
    public typealias CFAbsoluteTime = Double
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }
#endif

/// The common part of both managers. A manager belongs to its queue: its delegate is called there, and the program calls it there.
open class CBManager: NSObject {
    /// Updated together with `...DidUpdateState`.
    open internal(set) var state = CBManagerState.unknown
    let phone: CBPhone
    let courier: Courier

    init(queue: DispatchQueue?) {
        phone = CBBench.currentPhone
        courier = Courier(queue: queue, program: phone.program)
        super.init()
    }

    /// The permission that the user of the current phone has given.
    public class var authorization: CBManagerAuthorization { CBBench.currentPhone.authorization }
    open var authorization: CBManagerAuthorization { phone.authorization }

    /// True if a command has an effect now; otherwise it is dropped and the misuse is reported, as Core Bluetooth does.
    func isReady(for command: StaticString) -> Bool {
        if state == .poweredOn { return true }
        phone.misuse("<\(type(of: self))> can only accept this command while in the powered on state: \(command)")
        return false
    }
}

/// Calls the program on its queue.
struct Courier {
    let queue: DispatchQueue?
    /// Nil in wall time.
    let program: ProgramQueues?

    /// In virtual time the call is made at once and awaited, so that it takes no time; in wall time it is queued.
    func deliver(_ body: @escaping () -> Void) {
        if let program { return program.call(body, on: queue) }
        let carried = Carried(body)
        (queue ?? .main).async { carried.value() }
    }
}

/// Carries a closure or object between the loop of a phone and the queue of a manager.
///
/// `@unchecked Sendable`: what belongs to the queue is used in deliveries only, what belongs to the loop in `CBPhone.enter` only.
struct Carried<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
