#if os(Linux)
    import DequeModule
    import Glibc
    import BBPackets
    import BBTiming
    import BBTransport

    /// One open device node of one program. Its system calls arrive as messages of three words on a socket; its memory is read and written
    /// by messages in the other direction.
    final class UsbfsConnection: ByteStream.Sink {
        private enum Message {
            static let ioctl: UInt64 = 1
            static let done: UInt64 = 3
            static let readMemory: UInt64 = 5
            static let writeMemory: UInt64 = 6
            static let length = 24
        }

        private struct Pending {
            var urb: UsbfsURB
            var isIn: Bool
            /// Requested packet lengths of an isochronous request.
            var packetLengths: [Int]
        }

        private let stream: ByteStream
        private unowned let node: UsbfsNode
        /// The client's process, whose memory is read directly; nil if that is possible by messages only.
        private var client: ClientProcess?
        private var inbox: [UInt8] = []
        /// A pending read of the client's memory and its use.
        private var awaited: (count: Int, use: ([UInt8]) -> Void)?
        private var pending: [UInt32: Pending] = [:]
        private var completions = Deque<(Pending, USBCompletion, status: Int32)>()

        var hasCompletions: Bool { !completions.isEmpty }

        init(_ stream: ByteStream, node: UsbfsNode, accessesMemory: Bool) {
            self.stream = stream
            self.node = node
            client = accessesMemory ? stream.peerProcess.flatMap { ClientProcess($0) } : nil
        }

        deinit { stream.close() }

        func ended(_ reason: TransportError) {
            pending = [:]
            completions = []
            node.left(self)
        }

        func received(_ octets: UnsafeRawBufferPointer) {
            inbox.append(contentsOf: octets)
            var start = 0
            while true {
                if let (count, use) = awaited {
                    guard inbox.count - start >= count else { break }
                    let memory = Array(inbox[start..<start + count])
                    start += count
                    awaited = nil
                    use(memory)
                } else {
                    guard inbox.count - start >= Message.length else { break }
                    let words = (inbox.little(start, 8), inbox.little(start + 8, 8), inbox.little(start + 16, 8))
                    start += Message.length
                    take(words.0, words.1, words.2)
                }
            }
            inbox.removeFirst(start)
        }

        private func take(_ command: UInt64, _ request: UInt64, _ argument: UInt64) {
            guard command == Message.ioctl else { return done(-1, EIO) }
            guard let request = UsbfsRequest(rawValue: UInt32(truncatingIfNeeded: request)) else { return done(-1, ENOTTY) }
            perform(request, argument)
        }

        // MARK: Answers

        private func message(_ words: UInt64...) -> [UInt8] {
            var octets: [UInt8] = []
            octets.reserveCapacity(Message.length)
            for word in words { octets += [UInt8].little(word, 8) }
            return octets
        }

        private func done(_ result: Int64, _ error: Int32 = 0) {
            stream.send(message(Message.done, UInt64(bitPattern: result), UInt64(error)))
        }

        private func done(error: Int32) { done(error == 0 ? 0 : -1, error) }

        private func read(_ address: UInt64, _ count: Int, _ use: @escaping ([UInt8]) -> Void) {
            guard count > 0 else { return use([]) }
            if let client {
                if let memory = client.read(address, count) { return use(memory) }
                self.client = nil
            }
            awaited = (count, use)
            stream.send(message(Message.readMemory, address, UInt64(count)))
        }

        /// Writes to the client's memory, then ends its system call.
        private func done(_ result: Int64 = 0, writing writes: [ClientProcess.Write]) {
            var answer: [UInt8] = []
            if let client, !client.write(writes) { self.client = nil }
            if client == nil {
                for write in writes where !write.octets.isEmpty {
                    answer += message(Message.writeMemory, write.address, UInt64(write.octets.count)) + write.octets
                }
            }
            stream.send(answer + message(Message.done, UInt64(bitPattern: result), 0))
        }

        // MARK: Requests

        private func perform(_ request: UsbfsRequest, _ argument: UInt64) {
            if let activity = request.activity { node.onActivity?(activity) }
            switch request {
            case .reapURB, .reapURBNoDelay: return reap(into: argument)
            case _ where node.isGone: return done(error: ENODEV)
            case .submitURB: submit(argument)
            case .discardURB: discard(argument)
            case .claimInterface, .disconnectClaim:
                read(argument, 4) { [self] in
                    let error = node.claim(UInt32($0.little(0, 4)), by: self)
                    node.afterClaim { [weak self] in self?.done(error: error) }
                }
            case .releaseInterface: read(argument, 4) { [self] in done(error: node.release(UInt32($0.little(0, 4)), by: self)) }
            case .setInterface:
                read(argument, 8) { [self] in control([0x01, 11, $0[4], 0, $0[0], 0, 0, 0]) }
            case .setConfiguration: read(argument, 4) { [self] in control([0x00, 9, $0[0], 0, 0, 0, 0, 0]) }
            case .clearHalt: read(argument, 4) { [self] in control([0x02, 1, 0, 0, $0[0], 0, 0, 0]) }
            case .getDriver, .driver: done(error: ENODATA)
            case .getCapabilities:
                done(writing: [.init(address: argument, octets: .little(UInt64(usbfsCapabilities), 4))])
            case .getSpeed:
                let (full, high): (Int64, Int64) = (2, 3)
                done(node.dongle.descriptors.isHighSpeed ? high : full)
            case .reset: reset()
            }
        }

        /// Executes a control request that the kernel makes for the program.
        private func control(_ setup: [UInt8]) {
            let id = node.makeID(for: self)
            controls[id] = setup
            node.dongle.submit(USBRequest(id: id, endpoint: 0, isIn: false, setup: setup))
            guard controls[id] != nil else { return }
            node.loop.schedule(after: Self.kernelLimit) { [weak self] in
                guard let self, controls[id] != nil else { return }
                _ = node.cancel(id)
                controlEnded(id, error: ETIMEDOUT)
            }
        }

        private func controlEnded(_ id: UInt32, error: Int32) {
            guard let setup = controls.removeValue(forKey: id) else { return }
            guard setup.prefix(2) == [0x01, 11] else { return done(error: error) }
            // A device may stall the request for an interface that has one setting. USB 2.0, 9.4.10.
            let error = error == EPIPE && node.hasOneSetting(setup[4]) ? 0 : error
            node.settingEnded(of: setup[4], isSelected: error == 0)
            done(error: error)
        }

        /// SETUP stages of the requests that the kernel makes.
        private var controls: [UInt32: [UInt8]] = [:]
        /// Time after which Linux gives up a control request of its own.
        private static let kernelLimit = Microseconds.seconds(5)

        private func reset() {
            for id in pending.keys.sorted() where node.cancel(id) { finish(id, USBCompletion(id: id, status: .cancelled), status: -ENOENT) }
            node.wasReset()
            done(0)
        }

        private func submit(_ pointer: UInt64) {
            read(pointer, UsbfsURB.length) { [self] octets in
                guard let urb = UsbfsURB(octets, at: pointer), pending.count < 512 else { return done(error: EINVAL) }
                let isIn = urb.kind != .control && urb.endpoint & 0x80 != 0
                let packets = urb.packetCount * UsbfsURB.packetLength
                read(pointer &+ UInt64(UsbfsURB.length), packets) { [self] descriptors in
                    let lengths = (0..<urb.packetCount).map { Int(descriptors.little($0 * UsbfsURB.packetLength, 4)) }
                    read(urb.buffer, isIn ? 0 : urb.bufferLength) { [self] in start(urb, isIn: isIn, $0, packetLengths: lengths) }
                }
            }
        }

        private func start(_ urb: UsbfsURB, isIn: Bool, _ octets: [UInt8], packetLengths: [Int]) {
            let isControl = urb.kind == .control
            guard !isControl || octets.count >= 8 else { return done(error: EINVAL) }
            guard isControl || node.isEnabled(urb.endpoint) else { return done(error: ENOENT) }
            let isAnswered = isControl && octets[0] & 0x80 != 0
            let id = node.makeID(for: self)
            pending[id] = Pending(urb: urb, isIn: isIn || isAnswered, packetLengths: packetLengths)
            done(0)
            node.onActivity?(.submit(endpoint: urb.endpoint))
            node.dongle.submit(
                USBRequest(
                    id: id, endpoint: urb.endpoint & 0x0F, isIn: isIn || isAnswered, setup: isControl ? Array(octets.prefix(8)) : [],
                    data: isControl ? Array(octets.dropFirst(8)) : octets, length: urb.bufferLength - (isControl ? 8 : 0),
                    packetLengths: packetLengths))
        }

        private func discard(_ pointer: UInt64) {
            guard let id = pending.first(where: { $0.value.urb.pointer == pointer })?.key, node.cancel(id) else {
                return done(error: EINVAL)
            }
            done(0)
            finish(id, USBCompletion(id: id, status: .cancelled), status: -ENOENT)
        }

        // MARK: Completions

        func completed(_ completion: USBCompletion) {
            if controls[completion.id] != nil { return controlEnded(completion.id, error: completion.status == .success ? 0 : EPIPE) }
            finish(completion.id, completion, status: -completion.status.rawValue)
        }

        private func finish(_ id: UInt32, _ completion: USBCompletion, status: Int32) {
            guard let ended = pending.removeValue(forKey: id) else { return }
            completions.append((ended, completion, status))
            node.updateReadiness()
        }

        private func reap(into argument: UInt64) {
            guard let (ended, completion, status) = completions.popFirst() else { return done(error: node.isGone ? ENODEV : EAGAIN) }
            node.counters.reaped += 1
            done(
                writing: Self.writes(ended, completion, status: status) + [.init(address: argument, octets: .little(ended.urb.pointer, 8))])
            node.updateReadiness()
        }

        /// Writes that the kernel makes to a completed URB and its buffer. Addresses are the program's, and may wrap around.
        private static func writes(_ ended: Pending, _ completion: USBCompletion, status: Int32) -> [ClientProcess.Write] {
            let urb = ended.urb
            var writes: [ClientProcess.Write] = []
            let header: UInt64 = urb.kind == .control ? 8 : 0
            if ended.isIn, urb.kind == .isochronous {
                writes += scattered(ended, completion)
            } else if ended.isIn {
                writes.append(.init(address: urb.buffer &+ header, octets: completion.data))
            }
            writes.append(.init(address: urb.pointer &+ 4, octets: .little(UInt64(UInt32(bitPattern: status)), 4)))
            writes.append(.init(address: urb.pointer &+ 28, octets: .little(UInt64(completion.actualLength), 4)))
            for (index, moved) in completion.packetLengths.enumerated() {
                let place = urb.pointer &+ UInt64(UsbfsURB.length + index * UsbfsURB.packetLength + 4)
                writes.append(.init(address: place, octets: .little(UInt64(moved) | UInt64(completion.packetStatus(index)) << 32, 8)))
            }
            return writes
        }

        /// Places each isochronous packet at its offset in the buffer, whatever its actual length.
        private static func scattered(_ ended: Pending, _ completion: USBCompletion) -> [ClientProcess.Write] {
            var (place, taken) = (ended.urb.buffer, 0)
            return zip(ended.packetLengths, completion.packetLengths).map { asked, moved in
                defer {
                    place &+= UInt64(asked)
                    taken += moved
                }
                return .init(address: place, octets: Array(completion.data[taken..<taken + moved]))
            }
        }
    }
#endif
