import BBTiming
import BBTransport

/// The controllers that a server offers.
public protocol DongleBackend: AnyObject {
    /// Number of controllers.
    var count: Int { get }
    /// Starts controller `index` with cleared state on a pipe. It opens its end and is removed when the pipe closes.
    func attach(_ index: Int, to end: any HCITransport) throws
    /// The port of controller `index`'s dongle was reset.
    func portWasReset(_ index: Int)
    /// A program has opened controller `index`'s dongle, which was already attached.
    func wasOpened(_ index: Int)
}

extension DongleBackend {
    public func portWasReset(_ index: Int) {}
    public func wasOpened(_ index: Int) {}

    /// The host's end of a new pipe to controller `index`.
    public func pipe(to index: Int, on loop: RunLoop) throws -> any HCITransport {
        let (host, controller) = InProcessTransport.pair(name: "virtual \(index)", on: loop)
        try attach(index, to: controller)
        return host
    }
}

/// Events of a server, for display.
public enum DongleEvent: Sendable, Equatable {
    case attached(controller: Int)
    case left(controller: Int, TransportError)
    /// Another client uses the controller.
    case refused(controller: Int)
    /// The controller could not be started, or a client violated the protocol.
    case failed(controller: Int, reason: String)
}
