import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A system thread, for transports that block in system calls.
public final class SystemThread: Sendable {
    /// Nil after `join`, and if the thread could not be started.
    private let handle: Mutex<pthread_t?>

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that runs `body`.
    public init(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Body(body))
        #if canImport(Glibc)
            var started = pthread_t()
        #else
            var started: pthread_t?
        #endif
        let status = pthread_create(&started, nil, Self.entry, box.toOpaque())
        if status != 0 { box.release() }
        handle = Mutex(status == 0 ? started : nil)
    }

    deinit {
        if let handle = handle.withLock({ $0 }) { pthread_detach(handle) }
    }

    /// Waits until the thread has ended.
    public func join() {
        if let handle = handle.withLock({ $0.take() }) { pthread_join(handle, nil) }
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
