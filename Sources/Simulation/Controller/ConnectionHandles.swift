import BBPackets

/// Links of one kind, each with a connection handle.
protocol HandleGroup: ActivityGroup {
    /// The link with a handle, if there is one.
    func holder(of handle: ConnectionHandle) -> (any HandleHolder)?
}

extension Activities: HandleGroup where Kind: HandleHolder {
    func holder(of handle: ConnectionHandle) -> (any HandleHolder)? { running.first { $0.handle == handle } }
}

/// The connection handles of a controller. A kind of link takes part by its group. Core Vol 4, Part E, 5.3.1.
struct ConnectionHandles {
    private let groups: [any HandleGroup]
    private var last: UInt16

    /// - Parameter first: the first handle that is given out; the others follow in order.
    init(_ groups: [any HandleGroup], first: UInt16) {
        self.groups = groups
        last = first - 1
    }

    /// A handle that no link has.
    mutating func make() -> ConnectionHandle {
        repeat { last = last % 0x0EFF + 1 } while isInUse(ConnectionHandle(last))
        return ConnectionHandle(last)
    }

    private func isInUse(_ handle: ConnectionHandle) -> Bool { groups.contains { $0.holder(of: handle) != nil } }

    /// True if the host can name the handle in a command.
    func isKnown(_ handle: ConnectionHandle) -> Bool { groups.contains { $0.holder(of: handle)?.isKnownToHost == true } }
}
