import BBPackets
import Foundation

/// The managers of a phone, and those of ended programs that the phone preserves for a restart.
struct PhonePrograms {
    private(set) var centrals: [CentralPort] = []
    private(set) var servers: [ServerPort] = []
    /// By restore identifier.
    private(set) var keptCentrals: [String: CentralPort] = [:]
    private(set) var keptServers: [String: ServerPort] = [:]
    /// Counts the ends of programs.
    var ends = 0
    /// The system has launched the program since its last end.
    var isLaunched = false

    mutating func add(_ port: CentralPort) { if !centrals.contains(where: { $0 === port }) { centrals.append(port) } }
    mutating func add(_ port: ServerPort) { if !servers.contains(where: { $0 === port }) { servers.append(port) } }
    mutating func remove(_ port: CentralPort) { centrals.removeAll { $0 === port } }
    mutating func remove(_ port: ServerPort) { servers.removeAll { $0 === port } }

    /// Restore identifiers of the managers that a program has to make when it is launched.
    var restoreIdentifiers: [String] { (Array(keptCentrals.keys) + Array(keptServers.keys)).sorted() }

    /// True if a running manager has this restore identifier.
    func isUsed(_ identifier: String) -> Bool {
        centrals.contains { $0.restoreIdentifier == identifier && !$0.isHeld }
            || servers.contains { $0.restoreIdentifier == identifier && !$0.isHeld }
    }

    mutating func take(central identifier: String) -> CentralPort? { keptCentrals.removeValue(forKey: identifier) }
    mutating func take(server identifier: String) -> ServerPort? { keptServers.removeValue(forKey: identifier) }
    mutating func keep(_ port: CentralPort) { port.restoreIdentifier.map { keptCentrals[$0] = port } }
    mutating func keep(_ port: ServerPort) { port.restoreIdentifier.map { keptServers[$0] = port } }

    /// The calls with which a preserved manager begins.
    func begin(_ port: CentralPort, _ phone: CBPhone) -> [(CBCentralManager) -> Void] {
        guard port.isHeld, port.isEnded else { return [] }
        port.isEnded = false
        let ready = Set(port.left.map(\.identifier).filter { phone.connecting.peer($0)?.isReady ?? false })
        let (left, scan) = (port.left, port.scan)
        port.left = []
        return [{ $0.restore(left, connected: ready, scan) }]
    }

    func begin(_ port: ServerPort, _ phone: CBPhone) -> [(CBPeripheralManager) -> Void] {
        guard port.isHeld, port.isEnded else { return [] }
        port.isEnded = false
        let (left, data) = (port.left, port.advertisementData)
        port.left = ([], [:])
        return [{ $0.restore(left.services, left.centrals, data) }]
    }
}

/// The life of the program on a phone. These calls belong to the thread of the bench, between its runs.
extension CBPhone {
    /// Ends the program, as the system does for lack of memory: its managers have no effect any more. Connections, scans, subscriptions,
    /// services and advertising of managers with a restore identifier stay; those of others end.
    public func endProgram() {
        programs.ends += 1
        programs.isLaunched = false
        for port in programs.centrals where !port.isEnded {
            let manager = port.manager
            let left = manager?.programEnded() ?? []
            port.manager = nil
            guard isPreserved(port, manager) else {
                detach(port)
                continue
            }
            (port.left, port.isEnded) = (left, true)
            preserve(port)
            programs.keep(port)
        }
        for port in programs.servers where !port.isEnded {
            let manager = port.manager
            let left = manager?.programEnded()
            port.manager = nil
            guard isPreserved(port, manager) else {
                detach(port)
                continue
            }
            (port.left, port.isEnded) = (left ?? ([], [:]), true)
            preserve(port)
            programs.keep(port)
        }
    }

    /// True if a manager has a restore identifier and is still there when its program ends.
    private func isPreserved<Manager>(_ port: ManagerPort<Manager>, _ manager: Manager?) -> Bool {
        guard let identifier = port.restoreIdentifier else { return false }
        if manager == nil {
            warn("the manager with the restore identifier \(identifier) was released before the program ended: it is not preserved")
        }
        return manager != nil
    }

    private func preserve<Manager>(_ port: ManagerPort<Manager>) {
        port.hold()
        port.onFirstWaiting = { [unowned self] in launch() }
    }

    /// Something has happened for an ended program: the system launches it, and gives it a limited time to make its managers again.
    private func launch() {
        guard !programs.isLaunched else { return }
        programs.isLaunched = true
        let (identifiers, ends) = (programs.restoreIdentifiers, programs.ends)
        loop.schedule(after: .zero) { [self] in
            isInBackground = true
            onLaunch?(identifiers)
        }
        loop.schedule(after: .seconds(min(launchTime, CBBench.longest))) { [self] in
            guard programs.ends == ends else { return }
            for identifier in identifiers { dropPreserved(identifier) }
        }
    }

    /// The user opens the program, unless the system has launched it since its end.
    func launchByUser() {
        guard !programs.isLaunched else { return }
        programs.isLaunched = true
        isInBackground = false
        onLaunch?(programs.restoreIdentifiers)
    }

    /// A manager that was not made again in time loses its actions.
    private func dropPreserved(_ identifier: String) {
        if let port = programs.take(central: identifier) { detach(port) }
        if let port = programs.take(server: identifier) { detach(port) }
    }
}

extension CBPhone {
    /// The port of a new central manager: that of a preserved one with the same restore identifier, if there is one.
    func centralPort(_ identifier: String?) -> CentralPort {
        guard let identifier, loop.mode == .virtual else { return CentralPort() }
        if let kept = programs.take(central: identifier) { return kept }
        return CentralPort(restoreIdentifier: isFree(identifier) ? identifier : nil)
    }

    func serverPort(_ identifier: String?) -> ServerPort {
        guard let identifier, loop.mode == .virtual else { return ServerPort() }
        if let kept = programs.take(server: identifier) { return kept }
        return ServerPort(restoreIdentifier: isFree(identifier) ? identifier : nil)
    }

    private func isFree(_ identifier: String) -> Bool {
        guard programs.isUsed(identifier) else { return true }
        misuse("two managers have the restore identifier \(identifier): the second one is not preserved")
        return false
    }
}
