import Timing
import Transport

/// Where a server's controllers come from.
public protocol DongleBackend: AnyObject {
    /// How many controllers there are.
    var count: Int { get }
    /// Brings controller `index` up, fresh, on its end of a pipe. It opens the end, and is gone when the pipe closes.
    func attach(_ index: Int, to end: any HCITransport) throws
    /// The port of the dongle that controller `index` is in was reset.
    func portWasReset(_ index: Int)
    /// A program has opened the dongle that controller `index` is in, which was attached before.
    func wasOpened(_ index: Int)
}

extension DongleBackend {
    public func portWasReset(_ index: Int) {}
    public func wasOpened(_ index: Int) {}

    /// The host's end of a pipe to controller `index`, fresh.
    public func pipe(to index: Int, on loop: RunLoop) throws -> any HCITransport {
        let (host, controller) = InProcessTransport.pair(name: "virtual \(index)", on: loop)
        try attach(index, to: controller)
        return host
    }
}

/// What happens at a server, for the people who watch it.
public enum DongleEvent: Sendable, Equatable {
    case attached(controller: Int)
    case left(controller: Int, TransportError)
    /// Somebody else holds the controller.
    case refused(controller: Int)
    /// The controller could not be brought up, or a client broke its protocol.
    case failed(controller: Int, reason: String)
}
