#if os(Linux)
    import Glibc
    import Packets
    import Timing
    import Transport

    /// Plays Linux's usbfs for programs that run under umockdev's preload library: unmodified libusb programs find virtual dongles in a folder.
    ///
    /// Start such a program with `UMOCKDEV_DIR` set to the folder and the library in `LD_PRELOAD`.
    public final class UsbfsServer {
        /// What a dongle of the tree is for the test that made it.
        public struct Counters: Sendable, Equatable {
            public var submitted = 0
            public var reaped = 0
            public var openHandles = 0
            public var pending = 0
        }

        /// What programs had not given back when they closed a dongle that was still plugged in, or died with it open.
        public struct LeftBehind: Sendable, Equatable {
            public var pending = 0
            public var claims = 0
        }

        /// Something that a program does with a dongle.
        public enum Activity: Sendable, Equatable {
            case open
            case claim
            case release
            case submit(endpoint: UInt8)
            case discard
            case reap
            case other
        }

        public let root: String
        public let count: Int
        /// Told of all that programs do, before it is done; it may pull the dongle out.
        public var onActivity: ((_ index: Int, Activity) -> Void)?
        /// Told when a program resets the port of a dongle, and when one takes the interface of HCI.
        public var onPortReset: ((_ index: Int) -> Void)?
        public var onOpened: ((_ index: Int) -> Void)?
        /// Told when a dongle that left the bus by itself cannot come back.
        public var onTrouble: ((String) -> Void)?
        public private(set) var leftBehind = LeftBehind()
        private let tree: UsbfsTree
        private let uevents: UsbfsUevents
        private let loop: RunLoop
        private var nodes: [Int: UsbfsNode] = [:]
        private var places: [Int: UsbfsTree.Place] = [:]
        private var lastDeviceNumber = 1
        /// Dongles that were pulled out live on for the programs that still hold them.
        private var gone: [Int: [UsbfsNode]] = [:]
        private var descriptors: [DongleDescriptors]
        private let describe: (String) -> DongleDescriptors
        private let makePipe: (Int) throws -> any HCITransport
        /// What is wrong with the dongle that is plugged in next, by index.
        public var faults: [Int: USBDongleFaults]

        /// - Parameters:
        ///   - folder: an empty folder; its path is short, as it carries the names of sockets.
        ///   - serialNumbers: one dongle each, on ports 1, 2 and so on of bus 1.
        ///   - faults: what is wrong with the dongles, by index.
        ///   - describe: the descriptors of a dongle with a serial number.
        ///   - makePipe: gives the host's end of a fresh controller's pipe for the dongle of that index.
        public init(
            folder: String, serialNumbers: [String], on loop: RunLoop, faults: [Int: USBDongleFaults] = [:],
            describe: @escaping (String) -> DongleDescriptors = { DongleDescriptors(serialNumber: $0) },
            makePipe: @escaping (_ index: Int) throws -> any HCITransport
        ) throws {
            root = folder
            tree = UsbfsTree(root: folder)
            uevents = UsbfsUevents(root: folder)
            count = serialNumbers.count
            self.loop = loop
            self.faults = faults
            self.makePipe = makePipe
            self.describe = describe
            descriptors = serialNumbers.map(describe)
            for index in serialNumbers.indices { try plug(index) }
        }

        /// Plugs a dongle in, with a fresh controller and a new device number.
        ///
        /// - Parameter serialNumber: of another dongle in the same port; the one before when nil.
        public func plug(_ index: Int, serialNumber: String? = nil) throws {
            guard nodes[index] == nil else { return }
            if let serialNumber { descriptors[index] = describe(serialNumber) }
            gone[index]?.removeAll { $0.retire() }
            let place = UsbfsTree.Place(index: index, deviceNumber: try freeDeviceNumber())
            try tree.makeNode(place)
            let dongle = try USBDongle(
                descriptors: descriptors[index], pipe: try makePipe(index), loop: loop, faults: faults[index] ?? USBDongleFaults())
            let node = try UsbfsNode(dongle, node: tree.nodePath(place), socket: tree.socketPath(place), on: loop)
            node.onActivity = { [weak self] in self?.note($0, index) }
            node.onOpened = { [weak self] in self?.onOpened?(index) }
            dongle.onPortReset = { [weak self] in self?.onPortReset?(index) }
            dongle.onLeaving = { [weak self] in self?.left(index, comesBackAs: $0) }
            node.onLeftBehind = { [weak self] in
                self?.leftBehind.pending += $0.pending
                self?.leftBehind.claims += $0.claims
            }
            try tree.plug(place, descriptors[index])
            nodes[index] = node
            places[index] = place
            uevents.send(.add, place)
        }

        /// How long a dongle is away that leaves the bus and comes back.
        public static let absence = Microseconds.milliseconds(300)

        private func left(_ index: Int, comesBackAs next: DongleDescriptors?) {
            unplug(index)
            guard let next else { return }
            descriptors[index] = next
            faults[index]?.conduct.leaving = nil
            loop.schedule(after: Self.absence) { [weak self] in
                do { try self?.plug(index) } catch { self?.onTrouble?("dongle \(index) does not come back: \(error)") }
            }
        }

        private func note(_ activity: Activity, _ index: Int) {
            if activity == .open, let place = places[index], tree.allowsSuspension(place) { nodes[index]?.dongle.suspend() }
            onActivity?(index, activity)
        }

        /// Device numbers go up and start again at 2, past those in use.
        private func freeDeviceNumber() throws -> Int {
            let taken = Set(places.values.map(\.deviceNumber))
            for _ in 0..<126 {
                lastDeviceNumber = lastDeviceNumber >= 127 ? 2 : lastDeviceNumber + 1
                if !taken.contains(lastDeviceNumber) { return lastDeviceNumber }
            }
            throw UsbfsTree.Failure(description: "the bus is full")
        }

        /// Pulls a dongle out: what is pending ends with "no device", and so does everything asked later.
        public func unplug(_ index: Int) {
            guard let node = nodes.removeValue(forKey: index), let place = places.removeValue(forKey: index) else { return }
            tree.unplug(place)
            node.unplug()
            uevents.send(.remove, place)
            gone[index, default: []].append(node)
        }

        /// Puts a dongle to sleep and wakes it, as the kernel does with one that nobody uses.
        public func suspend(_ index: Int) { nodes[index]?.dongle.suspend() }

        /// What a dongle that is plugged in has carried.
        public func traffic(_ index: Int) -> USBTraffic { nodes[index]?.dongle.traffic ?? USBTraffic() }

        /// What a dongle has carried, and what programs have not given back, in a line.
        public func account(of index: Int) -> String {
            let (traffic, counters) = (traffic(index), counters(index))
            return "data \(traffic.dataOut) out \(traffic.dataIn) in, voice \(traffic.voiceOut) out \(traffic.voiceIn) in, "
                + "\(nodes[index]?.dongle.dropped ?? 0) dropped, \(counters.openHandles) handles open, \(counters.pending) requests pending"
        }

        /// The alternate setting of its voice interface.
        public func voiceAlternate(_ index: Int) -> UInt8 { nodes[index]?.dongle.voiceAlternate ?? 0 }

        public func counters(_ index: Int) -> Counters { nodes[index]?.counters ?? Counters() }

        public func stop() {
            for index in nodes.keys.sorted() { unplug(index) }
            for node in gone.values.joined() { node.retire() }
            gone = [:]
        }
    }

    /// One device node: the dongle behind it and the programs that have it open.
    final class UsbfsNode {
        let dongle: USBDongle
        private(set) var isGone = false
        var counters = UsbfsServer.Counters()
        var onActivity: ((UsbfsServer.Activity) -> Void)?
        var onOpened: (() -> Void)?
        var onLeftBehind: ((UsbfsServer.LeftBehind) -> Void)?
        private let listener: SocketListener
        private let fifo: Int32
        private var isWritable = true
        private var connections: [ObjectIdentifier: UsbfsConnection] = [:]
        private var claims: [UInt32: ObjectIdentifier] = [:]
        private var owners: [UInt32: UsbfsConnection] = [:]
        /// The connections that have claimed the interface of HCI once.
        private var openers: Set<ObjectIdentifier> = []
        private var nextID: UInt32 = 1

        init(_ dongle: USBDongle, node: String, socket: String, on loop: RunLoop) throws {
            self.dongle = dongle
            fifo = open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard fifo >= 0 else { throw UsbfsTree.Failure(description: "cannot open \(node): \(String(cString: strerror(errno)))") }
            let setPipeSize: Int32 = 1031
            _ = fcntl(fifo, setPipeSize, 4096)
            listener = try SocketListener(.unix(path: socket), on: loop)
            dongle.complete = { [weak self] in self?.completed($0) }
            updateReadiness()
            listener.start { [weak self] stream in self?.accept(stream) }
        }

        deinit { close(fifo) }

        private func accept(_ stream: ByteStream) {
            let connection = UsbfsConnection(stream, node: self)
            connections[ObjectIdentifier(connection)] = connection
            counters.openHandles += 1
            onActivity?(.open)
            do { try stream.open(connection) } catch { left(connection) }
        }

        func left(_ connection: UsbfsConnection) {
            guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
            counters.openHandles -= 1
            var leaving = UsbfsServer.LeftBehind()
            leaving.pending = owners.count { $0.value === connection }
            leaving.claims = claims.count { $0.value == ObjectIdentifier(connection) }
            if !isGone, leaving != UsbfsServer.LeftBehind() { onLeftBehind?(leaving) }
            claims = claims.filter { $0.value != ObjectIdentifier(connection) }
            openers.remove(ObjectIdentifier(connection))
            for id in owners.filter({ $0.value === connection }).keys.sorted() {
                dongle.cancel(id)
                owners[id] = nil
            }
            counters.pending = owners.count
            updateReadiness()
        }

        func unplug() {
            isGone = true
            dongle.unplug()
            updateReadiness()
        }

        /// Makes room for a new node in this one's place; true when no program holds this one any more.
        @discardableResult
        func retire() -> Bool {
            listener.stop()
            return connections.isEmpty
        }

        // MARK: For connections

        /// Zero, or the error number.
        func claim(_ interface: UInt32, by connection: UsbfsConnection) -> Int32 {
            guard interface < UInt32(dongle.descriptors.interfaceClasses.count) else { return EINVAL }
            if let holder = claims[interface] { return holder == ObjectIdentifier(connection) ? 0 : EBUSY }
            claims[interface] = ObjectIdentifier(connection)
            // A program claims anew what it had before a reset of the port: it has not opened the dongle again.
            if interface == UInt32(dongle.descriptors.firstInterface), openers.insert(ObjectIdentifier(connection)).inserted { onOpened?() }
            return 0
        }

        func release(_ interface: UInt32, by connection: UsbfsConnection) -> Int32 {
            guard claims[interface] == ObjectIdentifier(connection) else { return EINVAL }
            claims[interface] = nil
            return 0
        }

        func makeID(for connection: UsbfsConnection) -> UInt32 {
            defer { nextID &+= 1 }
            owners[nextID] = connection
            counters.submitted += 1
            counters.pending = owners.count
            return nextID
        }

        func cancel(_ id: UInt32) -> Bool {
            guard dongle.cancel(id) else { return false }
            owners[id] = nil
            counters.pending = owners.count
            return true
        }

        private func completed(_ completion: USBCompletion) {
            let owner = owners.removeValue(forKey: completion.id)
            counters.pending = owners.count
            owner?.completed(completion)
        }

        /// A program's poll for output succeeds while the pipe is empty: that is how usbfs says that there is something to reap.
        func updateReadiness() {
            let mustBeWritable = isGone || connections.values.contains { $0.hasCompletions }
            guard mustBeWritable != isWritable else { return }
            isWritable = mustBeWritable
            var octet: UInt8 = 0
            if mustBeWritable { _ = read(fifo, &octet, 1) } else { _ = write(fifo, &octet, 1) }
        }
    }
#endif
