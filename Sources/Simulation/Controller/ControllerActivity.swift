/// Something that goes on until it is stopped: advertising, a scan, a test, an inquiry, a link.
protocol ControllerActivity: AnyObject {
    /// Ends it at once; nothing more is heard of it.
    func stop()
}

extension Advertiser: ControllerActivity {}
extension Scanner: ControllerActivity {}
extension Initiator: ControllerActivity {}
extension DirectTest: ControllerActivity {}
extension Inquirer: ControllerActivity {}
extension InquiryScanner: ControllerActivity {}
extension Pager: ControllerActivity {}
extension PageScanner: ControllerActivity {}
extension LinkEnd {
    func stop() { connection.abandon() }
}

/// What is under way of one kind.
final class Activities<Kind: ControllerActivity> {
    private(set) var running: [Kind] = []

    var first: Kind? { running.first }

    func add(_ activity: Kind) { running.append(activity) }

    /// For one that has ended by itself.
    func remove(_ activity: Kind) { running.removeAll { $0 === activity } }

    func stop(_ activity: Kind) {
        activity.stop()
        remove(activity)
    }
}

/// Whatever the kind: what Reset ends, and what decides whether a controller is idle.
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
