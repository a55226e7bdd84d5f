#if os(Linux)
    import Glibc
    import BBPackets
    import BBTiming
    import BBTransport

    /// Emulates Linux's usbfs for programs under umockdev's preload library: unmodified libusb programs find virtual dongles in a folder.
    ///
    /// Start such a program with `UMOCKDEV_DIR` set to the folder and with the library in `LD_PRELOAD`.
    public final class UsbfsServer {
        /// Counters of a dongle, for tests.
        public struct Counters: Sendable, Equatable {
            public var submitted = 0
            public var reaped = 0
            public var openHandles = 0
            public var pending = 0
        }

        /// Resources that programs had not released when they closed a plugged-in dongle or exited.
        public struct LeftBehind: Sendable, Equatable {
            public var pending = 0
            public var claims = 0
        }

        /// An action of a program on a dongle.
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
        /// Called before each action of a program; it may unplug the dongle.
        public var onActivity: ((_ index: Int, Activity) -> Void)?
        /// Called when a program resets the port of a dongle, or claims the HCI interface.
        public var onPortReset: ((_ index: Int) -> Void)?
        public var onOpened: ((_ index: Int) -> Void)?
        /// Time from the claim of an interface to its answer.
        public var claimDelay = Microseconds.zero
        /// Called when a dongle that left the bus by itself cannot return.
        public var onTrouble: ((String) -> Void)?
        public private(set) var leftBehind = LeftBehind()
        private let tree: UsbfsTree
        private let uevents: UsbfsUevents
        private let loop: RunLoop
        private var nodes: [Int: UsbfsNode] = [:]
        private var places: [Int: UsbfsTree.Place] = [:]
        private var lastDeviceNumber = 1
        /// Unplugged dongles that programs still have open, or may be about to use.
        private var gone: [Int: [UsbfsNode]] = [:]
        /// Number of unplugged dongles of a port that still accept connections: a program may have opened the device node and not yet
        /// connected, and the preload library aborts it if its connection is refused or reset.
        private static let lingering = 8
        private var descriptors: [DongleDescriptors]
        private let describe: (String) -> DongleDescriptors
        private let makePipe: (Int) throws -> any HCITransport
        private var conducts: [Int: USBConduct]

        /// - Parameters:
        ///   - folder: an empty folder with a short path, since it is part of socket names.
        ///   - serialNumbers: one dongle each, on ports 1, 2 and so on of bus 1.
        ///   - conducts: USB behaviour of the dongles, by index.
        ///   - describe: returns the descriptors of a dongle with a serial number.
        ///   - makePipe: returns the host's end of a new controller's pipe for the dongle with an index.
        public init(
            folder: String, serialNumbers: [String], on loop: RunLoop, conducts: [Int: USBConduct] = [:],
            describe: @escaping (String) -> DongleDescriptors = { DongleDescriptors(serialNumber: $0) },
            makePipe: @escaping (_ index: Int) throws -> any HCITransport
        ) throws {
            root = folder
            tree = UsbfsTree(root: folder)
            uevents = UsbfsUevents(root: folder)
            count = serialNumbers.count
            self.loop = loop
            self.conducts = conducts
            self.makePipe = makePipe
            self.describe = describe
            descriptors = serialNumbers.map(describe)
            for index in serialNumbers.indices { try plug(index) }
        }

        /// Plugs in a dongle with a new controller and a new device number.
        ///
        /// - Parameter serialNumber: serial number of another dongle in the same port; nil for the previous one.
        public func plug(_ index: Int, serialNumber: String? = nil) throws {
            guard nodes[index] == nil else { return }
            if let serialNumber { descriptors[index] = describe(serialNumber) }
            retireOldNodes(of: index)
            let place = UsbfsTree.Place(index: index, deviceNumber: try freeDeviceNumber())
            try tree.makeNode(place)
            let dongle = try USBDongle(
                descriptors: descriptors[index], pipe: try makePipe(index), loop: loop, conduct: conducts[index] ?? USBConduct())
            let node = try UsbfsNode(dongle, node: tree.nodePath(place), socket: tree.socketPath(place), on: loop)
            node.onActivity = { [weak self] in self?.note($0, index) }
            node.onOpened = { [weak self] in self?.onOpened?(index) }
            node.claimDelay = { [weak self] in self?.claimDelay ?? .zero }
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

        private func retireOldNodes(of index: Int) {
            let nodes = gone[index] ?? []
            gone[index] = nodes.dropLast(Self.lingering).filter { !$0.retire() } + nodes.suffix(Self.lingering)
        }

        /// Time off the bus of a dongle that leaves and returns.
        public static let absence = Microseconds.milliseconds(300)

        private func left(_ index: Int, comesBackAs next: DongleDescriptors?) {
            unplug(index)
            guard let next else { return }
            descriptors[index] = next
            conducts[index]?.leaving = nil
            loop.schedule(after: Self.absence) { [weak self] in
                do { try self?.plug(index) } catch { self?.onTrouble?("dongle \(index) does not come back: \(error)") }
            }
        }

        private func note(_ activity: Activity, _ index: Int) {
            if activity == .open, let place = places[index], tree.allowsSuspension(place) { nodes[index]?.dongle.suspend() }
            onActivity?(index, activity)
        }

        /// The next free device number, ascending and wrapping around to 2.
        private func freeDeviceNumber() throws -> Int {
            let taken = Set(places.values.map(\.deviceNumber))
            for _ in 0..<126 {
                lastDeviceNumber = lastDeviceNumber >= 127 ? 2 : lastDeviceNumber + 1
                if !taken.contains(lastDeviceNumber) { return lastDeviceNumber }
            }
            throw UsbfsTree.Failure(description: "the bus is full")
        }

        /// Unplugs a dongle: pending and later requests fail with "no device".
        public func unplug(_ index: Int) {
            guard let node = nodes.removeValue(forKey: index), let place = places.removeValue(forKey: index) else { return }
            tree.unplug(place)
            node.unplug()
            uevents.send(.remove, place)
            gone[index, default: []].append(node)
        }

        /// Sends the udev event of an unplug, which a program may receive while the device still answers.
        public func announceDeparture(_ index: Int) {
            if let place = places[index] { uevents.send(.remove, place) }
        }

        /// Suspends and resumes a dongle, as the kernel does with an unused one.
        public func suspend(_ index: Int) { nodes[index]?.dongle.suspend() }

        /// Packets carried by a plugged-in dongle.
        public func traffic(_ index: Int) -> USBTraffic { nodes[index]?.dongle.traffic ?? USBTraffic() }

        /// One line with the packets carried by a dongle and the resources that programs have not released.
        public func account(of index: Int) -> String {
            let (traffic, counters) = (traffic(index), counters(index))
            return "data \(traffic.dataOut) out \(traffic.dataIn) in, voice \(traffic.voiceOut) out \(traffic.voiceIn) in, "
                + "\(nodes[index]?.dongle.dropped ?? 0) dropped, \(counters.openHandles) handles open, \(counters.pending) requests pending"
        }

        /// Alternate setting of the voice interface.
        public func voiceAlternate(_ index: Int) -> UInt8 { nodes[index]?.dongle.voiceAlternate ?? 0 }

        /// True if the dongle is in Bulk Serialization mode.
        public func isSerialised(_ index: Int) -> Bool { nodes[index]?.dongle.isSerialised ?? false }
        /// Number of changes of the dongle's mode by programs.
        public func modeSwitches(_ index: Int) -> Int { nodes[index]?.dongle.modeSwitches ?? 0 }

        public func counters(_ index: Int) -> Counters { nodes[index]?.counters ?? Counters() }

        public func stop() {
            for index in nodes.keys.sorted() { unplug(index) }
            for node in gone.values.joined() { node.retire() }
            gone = [:]
        }
    }

    /// A device node: its dongle and the programs that have it open.
    final class UsbfsNode {
        let dongle: USBDongle
        private(set) var isGone = false
        var counters = UsbfsServer.Counters()
        var onActivity: ((UsbfsServer.Activity) -> Void)?
        var onOpened: (() -> Void)?
        var claimDelay: () -> Microseconds = { .zero }
        var onLeftBehind: ((UsbfsServer.LeftBehind) -> Void)?
        /// False to ask programs for their memory by messages only.
        var accessesMemory = true
        let loop: RunLoop
        private let listener: SocketListener
        private let fifo: Int32
        private var isWritable = true
        private var connections: [ObjectIdentifier: UsbfsConnection] = [:]
        private var claims: [UInt32: ObjectIdentifier] = [:]
        private var owners: [UInt32: UsbfsConnection] = [:]
        /// Connections that have claimed the HCI interface.
        private var openers: Set<ObjectIdentifier> = []
        /// Interfaces whose endpoints take no transfers: their last setting was not selected.
        private var disabled: Set<UInt8> = []
        private var nextID: UInt32 = 1

        init(_ dongle: USBDongle, node: String, socket: String, on loop: RunLoop) throws {
            self.dongle = dongle
            self.loop = loop
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

        @discardableResult
        func accept(_ stream: ByteStream) -> UsbfsConnection {
            let connection = UsbfsConnection(stream, node: self, accessesMemory: accessesMemory)
            connections[ObjectIdentifier(connection)] = connection
            counters.openHandles += 1
            onActivity?(.open)
            do { try stream.open(connection) } catch { left(connection) }
            return connection
        }

        func left(_ connection: UsbfsConnection) {
            guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
            counters.openHandles -= 1
            var leaving = UsbfsServer.LeftBehind()
            leaving.pending = owners.count { $0.value === connection }
            leaving.claims = claims.count { $0.value == ObjectIdentifier(connection) }
            if !isGone, leaving != UsbfsServer.LeftBehind() { onLeftBehind?(leaving) }
            let released = claims.filter { $0.value == ObjectIdentifier(connection) }.keys.sorted()
            claims = claims.filter { $0.value != ObjectIdentifier(connection) }
            openers.remove(ObjectIdentifier(connection))
            for id in owners.filter({ $0.value === connection }).keys.sorted() {
                dongle.cancel(id)
                owners[id] = nil
            }
            counters.pending = owners.count
            for interface in released { becameFree(interface) }
            updateReadiness()
        }

        private func becameFree(_ interface: UInt32) {
            disabled.remove(UInt8(truncatingIfNeeded: interface))
            if !isGone { dongle.wasReleased(interface: UInt8(truncatingIfNeeded: interface)) }
        }

        /// Linux disables the endpoints of an interface before it requests a setting, and enables them once that is selected, or when the
        /// interface is released.
        func settingEnded(of interface: UInt8, isSelected: Bool) {
            if isSelected { disabled.remove(interface) } else { disabled.insert(interface) }
        }

        func hasOneSetting(_ interface: UInt8) -> Bool {
            switch interface {
            case dongle.descriptors.firstInterface: !dongle.descriptors.offersSerialisedMode
            case dongle.descriptors.voiceInterface: false
            default: true
            }
        }

        func isEnabled(_ endpoint: UInt8) -> Bool {
            guard !disabled.isEmpty else { return true }
            let isVoice = endpoint & 0x0F == dongle.descriptors.endpoints.voice
            return !disabled.contains(isVoice ? dongle.descriptors.voiceInterface ?? 0 : dongle.descriptors.firstInterface)
        }

        func wasReset() {
            disabled = []
            dongle.reset()
        }

        func unplug() {
            isGone = true
            dongle.unplug()
            updateReadiness()
        }

        /// Makes room for a new node; true if no program has this one open.
        @discardableResult
        func retire() -> Bool {
            listener.stop()
            return connections.isEmpty
        }

        // MARK: Called by connections

        /// Calls `answer` after the time that a claim takes.
        func afterClaim(_ answer: @escaping () -> Void) {
            let delay = claimDelay()
            if delay == .zero { answer() } else { loop.schedule(after: delay, answer) }
        }

        /// Returns zero or an error number.
        func claim(_ interface: UInt32, by connection: UsbfsConnection) -> Int32 {
            guard interface < UInt32(dongle.descriptors.interfaceClasses.count) else { return EINVAL }
            if let holder = claims[interface] { return holder == ObjectIdentifier(connection) ? 0 : EBUSY }
            claims[interface] = ObjectIdentifier(connection)
            // Claiming again after a port reset does not count as another opening.
            if interface == UInt32(dongle.descriptors.firstInterface), openers.insert(ObjectIdentifier(connection)).inserted { onOpened?() }
            return 0
        }

        func release(_ interface: UInt32, by connection: UsbfsConnection) -> Int32 {
            guard claims[interface] == ObjectIdentifier(connection) else { return EINVAL }
            claims[interface] = nil
            becameFree(interface)
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

        /// Empties the FIFO if there is a completion to reap and fills it otherwise: usbfs reports a completion as "ready for output" in poll.
        func updateReadiness() {
            let mustBeWritable = isGone || connections.values.contains { $0.hasCompletions }
            guard mustBeWritable != isWritable else { return }
            isWritable = mustBeWritable
            var octet: UInt8 = 0
            if mustBeWritable { _ = read(fifo, &octet, 1) } else { _ = write(fifo, &octet, 1) }
        }
    }
#endif
