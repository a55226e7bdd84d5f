import Foundation

/// The input stream of a channel. Its events come in the run loop in which it is scheduled.
final class ChannelInputStream: InputStream {
    private let pipe: ChannelPipe
    private weak var listener: (any StreamDelegate)?
    private var status = Stream.Status.notOpen
    private var error: (any Error)?

    init(_ pipe: ChannelPipe) {
        self.pipe = pipe
        super.init(data: Data())
    }

    override var delegate: (any StreamDelegate)? {
        get { listener }
        set {
            listener = newValue
            pipe.inputChanged()
        }
    }
    override var streamStatus: Stream.Status { status == .open && pipe.hasEnded ? .atEnd : status }
    override var streamError: (any Error)? { error }
    override var hasBytesAvailable: Bool { pipe.hasOctets }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        pipe.openInput()
    }

    override func close() {
        guard status == .open else { return }
        status = .closed
        pipe.closeInput()
    }

    /// Waits for at least one octet. On the thread of a bench, where no time would pass, it fails with EAGAIN instead.
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard status == .open else { return -1 }
        let count = pipe.read(buffer, len)
        error = count < 0 ? pipe.refused("InputStream: read needs hasBytesAvailable") : nil
        return count
    }

    override func getBuffer(_ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>) -> Bool {
        false
    }

    override func schedule(in aRunLoop: Foundation.RunLoop, forMode mode: Foundation.RunLoop.Mode) {
        pipe.schedule(input: StreamPlace(aRunLoop, mode))
    }
    override func remove(from aRunLoop: Foundation.RunLoop, forMode mode: Foundation.RunLoop.Mode) { pipe.schedule(input: .nowhere) }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}

/// The output stream of a channel; it accepts as many octets as it has room for.
final class ChannelOutputStream: OutputStream {
    private let pipe: ChannelPipe
    private weak var listener: (any StreamDelegate)?
    private var status = Stream.Status.notOpen
    private var error: (any Error)?

    init(_ pipe: ChannelPipe) {
        self.pipe = pipe
        super.init(toMemory: ())
    }

    required init(toMemory: ()) { preconditionFailure("the streams of a channel are made by the channel") }

    override var delegate: (any StreamDelegate)? {
        get { listener }
        set {
            listener = newValue
            pipe.outputChanged()
        }
    }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { error }
    override var hasSpaceAvailable: Bool { status == .open && pipe.hasRoom }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        pipe.openOutput()
    }

    override func close() {
        guard status == .open else { return }
        status = .closed
        pipe.closeOutput()
    }

    /// Waits for room for at least one octet. On the thread of a bench, where no time would pass, it fails with EAGAIN instead.
    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard status == .open else { return -1 }
        let count = pipe.write(buffer, len)
        error = count < 0 ? pipe.refused("OutputStream: write needs hasSpaceAvailable") : nil
        return count
    }

    override func schedule(in aRunLoop: Foundation.RunLoop, forMode mode: Foundation.RunLoop.Mode) {
        pipe.schedule(output: StreamPlace(aRunLoop, mode))
    }
    override func remove(from aRunLoop: Foundation.RunLoop, forMode mode: Foundation.RunLoop.Mode) { pipe.schedule(output: .nowhere) }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}

/// The place in which the delegate of a stream is called.
enum StreamPlace {
    /// On a phone nowhere; here on the queue of the manager.
    case unscheduled
    /// The main run loop.
    case main
    /// The run loop of another thread.
    case runLoop(Carried<(loop: Foundation.RunLoop, mode: Foundation.RunLoop.Mode)>)
    /// Removed from its run loop.
    case nowhere

    init(_ loop: Foundation.RunLoop, _ mode: Foundation.RunLoop.Mode) {
        self = loop === Foundation.RunLoop.main ? .main : .runLoop(Carried((loop, mode)))
    }

    /// In virtual time a run loop of another thread than the main one is that of the bench.
    func deliver(by courier: Courier, _ body: @escaping () -> Void) {
        switch self {
        case .unscheduled: courier.deliver(body)
        case .main: Courier(queue: .main, program: courier.program).deliver(body)
        case .runLoop where courier.program != nil: Courier(queue: nil, program: courier.program).deliver(body)
        case .runLoop(let place):
            let carried = Carried(body)
            // A timer wakes the run loop.
            place.value.loop.add(Timer(timeInterval: 0, repeats: false) { _ in carried.value() }, forMode: place.value.mode)
        case .nowhere: break
        }
    }
}
