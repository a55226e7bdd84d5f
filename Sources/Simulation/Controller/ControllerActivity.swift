import BBPackets

/// An activity that runs until it is stopped: advertising, scan, test, inquiry or link.
protocol ControllerActivity: AnyObject {
    /// Stops it at once without further callbacks.
    func stop()
}

extension Advertiser: ControllerActivity {}
extension Scanner: ControllerActivity {}
extension Initiator: ControllerActivity {}
extension DirectTest: ControllerActivity {}
extension PeriodicTrain: ControllerActivity {}
extension PeriodicSync: ControllerActivity {}
extension Inquirer: ControllerActivity {}
extension InquiryScanner: ControllerActivity {}
extension Pager: ControllerActivity {}
extension PageScanner: ControllerActivity {}
extension LinkEnd {
    func stop() { connection.abandon() }
}

/// Running activities of one kind.
final class Activities<Kind: ControllerActivity> {
    private(set) var running: [Kind] = []

    var first: Kind? { running.first }

    func add(_ activity: Kind) { running.append(activity) }

    /// Removes an activity that has ended by itself.
    func remove(_ activity: Kind) { running.removeAll { $0 === activity } }

    func stop(_ activity: Kind) {
        activity.stop()
        remove(activity)
    }
}

/// A link with a connection handle: LE, BR/EDR or synchronous. Core Vol 4, Part E, 5.3.1.
protocol HandleHolder: ControllerActivity {
    var handle: ConnectionHandle { get }
    /// False while the link is set up: its handle is in use, and commands with it are refused.
    var isKnownToHost: Bool { get }
}

extension HandleHolder {
    var isKnownToHost: Bool { true }
}

/// Running activities of any kind: Reset stops them, and they determine if a controller is idle.
protocol ActivityGroup: AnyObject {
    var isEmpty: Bool { get }
    func stopAll()
}

extension Activities: ActivityGroup {
    var isEmpty: Bool { running.isEmpty }

    func stopAll() {
        for activity in running { activity.stop() }
        running.removeAll()
    }
}
