/// A manager as the loop of its phone sees it.
///
/// It outlasts a program that has ended: a manager with the same restore identifier takes it over, with all that the phone does for it.
class ManagerPort<Manager: CBManager> {
    weak var manager: Manager?
    /// Nil without state preservation.
    let restoreIdentifier: String?
    /// Calls that wait for the program, in order; nil while it runs.
    private var waiting: [(Manager) -> Void]?
    /// The program has ended, and another one may take over.
    var isEnded = false {
        didSet { if isEnded { program += 1 } }
    }
    /// Counts the programs. What one has asked for is not answered to the next.
    private(set) var program = 0
    /// Called with the first call that waits.
    var onFirstWaiting: (() -> Void)?

    /// More calls than these are dropped.
    private static var mostWaiting: Int { 256 }

    init(restoreIdentifier: String? = nil) { self.restoreIdentifier = restoreIdentifier }

    /// True while no program runs that could be called.
    var isHeld: Bool { waiting != nil }

    /// Calls the manager on its queue, if the program still has it; later if the program does not run.
    func deliver(_ body: @escaping (Manager) -> Void) {
        guard let held = waiting else { return call(body) }
        if held.count < Self.mostWaiting { waiting = held + [body] }
        if held.isEmpty { onFirstWaiting?() }
    }

    private func call(_ body: @escaping (Manager) -> Void) {
        guard let courier = manager?.courier else { return }
        manager?.phone.onCall?()
        courier.deliver { [self] in
            if let manager { body(manager) }
        }
    }

    /// The program is suspended or has ended: calls wait from now on.
    func hold() { waiting = waiting ?? [] }

    /// The program runs: makes the calls that have waited.
    ///
    /// - Parameter first: calls that come before those.
    func release(after first: [(Manager) -> Void] = []) {
        let held = waiting ?? []
        waiting = nil
        onFirstWaiting = nil
        for body in first + held { call(body) }
    }
}

/// A central manager as the loop sees it.
final class CentralPort: ManagerPort<CBCentralManager> {
    /// The connections of the phone that the manager is registered for.
    var events: ConnectionEventFilter?
    /// The request of the scan under way, for restoration.
    var scan: (services: [CBUUID]?, options: [String: Any])?
    /// Peripherals of the program that has ended.
    var left: [PeripheralRecord] = []

    /// Calls the manager with one of its peripherals, if the program still has both.
    func deliver(to identifier: UUID, _ body: @escaping (CBPeripheral) -> Void) {
        deliver { manager in
            if let peripheral = manager.held(identifier) { body(peripheral) }
        }
    }
}

/// A peripheral manager as the loop sees it.
final class ServerPort: ManagerPort<CBPeripheralManager> {
    /// The data that the manager advertises, for restoration.
    var advertisementData: [String: Any]?
    /// Services, centrals of the program that has ended.
    var left: (services: [CBMutableService], centrals: [UUID: CBCentral]) = ([], [:])
}
