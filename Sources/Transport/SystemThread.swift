#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A thread of the system, for transports that must wait in calls of their own.
public final class SystemThread: @unchecked Sendable {
    // `@unchecked Sendable`: the handle is set before anyone else sees the object, and taken once.
    private let handle: UnsafeMutablePointer<pthread_t>
    private var isRunning = false

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that runs `body`.
    public init(_ body: @escaping @Sendable () -> Void) {
        handle = .allocate(capacity: 1)
        let box = Unmanaged.passRetained(Body(body))
        #if canImport(Glibc)
            let status = pthread_create(handle, nil, Self.entry, box.toOpaque())
        #else
            var started: pthread_t?
            let status = pthread_create(&started, nil, Self.entry, box.toOpaque())
            if let started { handle.initialize(to: started) }
        #endif
        isRunning = status == 0
        if status != 0 { box.release() }
    }

    deinit {
        if isRunning { pthread_detach(handle.pointee) }
        handle.deallocate()
    }

    /// Waits until the thread's body has returned. Call once, by one thread.
    public func join() {
        guard isRunning else { return }
        isRunning = false
        pthread_join(handle.pointee, nil)
    }

    #if canImport(Glibc)
        private static let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }
    #else
        private static let entry: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { context in
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }
    #endif
}
