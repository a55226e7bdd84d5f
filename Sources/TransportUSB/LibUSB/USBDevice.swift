import BBCLibUSB
import BBPackets
import BBTiming
import BBTransport
import DequeModule

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An open dongle and the thread that serves its transfers.
///
/// `@unchecked Sendable`: mutable state is accessed only under `lock`; the reassembly and the work list only on the thread.
final class USBDevice: @unchecked Sendable {
    static let inputsPerPipe = 8
    static let outputsPerPipe = 8
    static let dataInSize = 1_088
    static let longestPacket = 4 + 0xFFFF
    static let mostQueued = 1_024

    let handle: OpaquePointer
    let layout: USBLayout
    let name: String
    let needsZeroLengthPackets: Bool
    private let library: USBLibrary
    private let onNews: @Sendable () -> Void
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    var transfers: [USBTransfer] = []
    var inFlight = 0
    var outputs = USBOutputs()
    var news = USBNewsQueue()
    var closing = Closing()
    var wantsReset = false
    var mode = USBModeState()
    var controls = Deque<USBControlRequest>()
    /// The requests that carry commands, if they are not the usual ones.
    var addressing: USBCommandAddress?
    private var lastSequence = 0
    /// True if commands are addressed to the interface, false for the device.
    var addressesInterface: Bool
    var recovery = USBRecovery()
    var voice = VoicePipe()

    var events = PipeReassembly(.event, longest: 257)
    var data = PipeReassembly(.acl, longest: USBDevice.longestPacket)
    var framer: SerialisedFramer
    private var thread: SystemThread?
    private var departure: USBDepartureWatch?

    /// The end of the device, from the first cause to the closed handle.
    struct Closing {
        /// True after the loss of the dongle or `close`: nothing is submitted any more.
        var hasBegun = false
        var isLost = false
        var resetsPort = false
        /// True once the handle is closed.
        var isFinished = false
    }

    /// Takes ownership of an open handle with claimed interfaces.
    init(_ opening: USBOpening, name: String, workarounds: USBWorkarounds, onNews: @escaping @Sendable () -> Void) {
        handle = opening.handle
        layout = opening.layout
        library = opening.library
        self.name = name
        needsZeroLengthPackets = workarounds.needsZeroLengthPackets
        addressesInterface = false
        framer = SerialisedFramer(from: .controller, packetSize: opening.layout.bulk(isSerialised: true).inputSize)
        self.onNews = onNews
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    func locked<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }

    // MARK: Called from the loop

    /// Starts the thread and the IN transfers.
    func start() {
        for role in [USBTransfer.Role.events, .dataIn] {
            let unit = max(layout.dataSize, layout.serialised?.inputSize ?? 0)
            let size = role == .events ? layout.eventSize : Self.dataInSize / unit * unit + unit
            for _ in 0..<Self.inputsPerPipe { USBTransfer(role, capacity: size, device: self).map { transfers.append($0) } }
        }
        departure = USBDepartureWatch(libusb_get_device(handle), library) { [unowned self] in locked { lose(.lost(name)) } }
        thread = SystemThread { [self] in serve() }
    }

    /// Queues a packet; false if the queue is full.
    ///
    /// - Parameter onBulk: sends a command on the bulk pipe in the legacy mode, too.
    func send(_ packet: HCIPacket, onBulk: Bool = false) -> Bool {
        locked {
            guard !closing.hasBegun, packet.bytes.count <= Self.longestPacket else { return true }
            guard outputs.append(packet, onBulk: onBulk || mode.isSerialised) else { return false }
            for role in USBOutputs.roles { feed(role) }
            return true
        }
    }

    /// Toggles the recipient of commands between device and interface.
    func changeRecipient() { locked { addressesInterface.toggle() } }

    /// Switches the bulk IN pipe between events, as from a boot loader, and data.
    func expectEventsOnBulk(_ expects: Bool) {
        locked { data = PipeReassembly(expects ? .event : .acl, longest: expects ? 257 : Self.longestPacket) }
    }

    /// Events since the last call.
    func takeNews() -> [USBNews] { locked { news.take() } }

    /// Number of times that a halted endpoint was cleared.
    var clearings: Int { locked { recovery.cleared } }
    /// Unusual behaviour of transfers.
    var oddities: USBOddities {
        locked {
            USBOddities(
                strayOctets: events.strayOctets + data.strayOctets, joinedEvents: events.joined, resentCommands: recovery.resentCommands,
                addressesInterface: addressesInterface, dataTransfersIn: dataTransfersIn, cutPackets: cutPackets,
                framing: USBFraming(framer))
        }
    }
    private var dataTransfersIn = 0
    /// Outgoing packets of which the dongle had taken a part when a change of the mode cut them off.
    var cutPackets = 0

    /// Resets the USB port once no transfer is pending; reported by `portWasReset`.
    func resetPort() {
        locked { wantsReset = true }
        wake()
    }

    /// Cancels every transfer and closes the handle once all have completed. Waits at most one second; transfers that never complete keep
    /// the handle open.
    ///
    /// - Parameter resettingPort: leaves the dongle as after plugging in.
    /// - Returns: number of transfers that did not complete.
    func close(resettingPort: Bool = false) -> Int {
        locked {
            closing.hasBegun = true
            closing.resetsPort = resettingPort
        }
        guard thread != nil else {
            release()
            return 0
        }
        wake()
        let deadline = MonotonicClock.now() + .seconds(1)
        while MonotonicClock.now() < deadline {
            if locked({ closing.isFinished }) {
                thread?.join()
                thread = nil
                return 0
            }
            usleep(500)
        }
        return locked { inFlight }
    }

    func wake() { libusb_interrupt_event_handler(library.context) }

    // MARK: Transfers (lock held)

    private func freeTransfer(_ role: USBTransfer.Role) -> USBTransfer? {
        if let free = transfers.first(where: { $0.role == role && !$0.isInFlight && !$0.isHalted }) { return free }
        guard transfers.count(where: { $0.role == role }) < Self.outputsPerPipe else { return nil }
        let capacity = 9 + (role == .command ? 258 : Self.longestPacket)
        guard let new = USBTransfer(role, capacity: capacity, device: self) else { return nil }
        transfers.append(new)
        return new
    }

    private func submitOutput(_ transfer: USBTransfer, _ output: USBOutputs.Output) {
        lastSequence += 1
        transfer.sequence = lastSequence
        transfer.wasResent = false
        transfer.output = output
        let octets = output.octets(isSerialised: mode.isSerialised)
        transfer.prepareOutput(
            transfer.role == .command ? Array(octets.prefix(258)) : octets, layout, toInterface: addressesInterface,
            isSerialised: mode.isSerialised)
        if transfer.role == .command, let addressing { transfer.address(addressing, layout) }
        submit(transfer)
        let size = layout.bulk(isSerialised: mode.isSerialised).outputSize
        guard needsZeroLengthPackets, transfer.role == .dataOut, !octets.isEmpty, octets.count.isMultiple(of: size) else { return }
        outputs.endWithEmptyTransfer()
    }

    func submit(_ transfer: USBTransfer) {
        guard !closing.hasBegun else { return }
        let status = libusb_submit_transfer(transfer.transfer)
        guard status == 0 else { return lose(status) }
        transfer.isInFlight = true
        inFlight += 1
        USBCount.add(to: USBCount.transfersSubmitted)
    }

    func lose(_ status: Int32) {
        lose(libusb_error(status) == LIBUSB_ERROR_NO_DEVICE ? .lost(name) : .lost("\(name) (\(usbText(status)))"))
    }

    func lose(_ reason: TransportError) {
        guard !closing.hasBegun else { return }
        closing.isLost = true
        closing.hasBegun = true
        news.append(.lost(reason))
    }

    func add(_ item: USBNews) {
        guard news.hasPlace() else { return lose(.overrun(dropped: news.dropped)) }
        news.append(item)
    }

    // MARK: The thread

    private func serve() {
        changeMode()
        locked {
            submitInputs()
            news.append(.listening)
        }
        var isCancelled = false
        var isVoiceCancelled = false
        while true {
            var timeout = timeval(tv_sec: 1, tv_usec: 0)
            let (isEnding, mustReset, left) = locked { (closing.hasBegun, wantsReset, inFlight) }
            announce()
            if isEnding || mustReset {
                if left == 0 {
                    if isEnding { break }
                    performReset()
                    isCancelled = false
                    continue
                }
                if !isCancelled { cancelAll() }
                isCancelled = true
                timeout = timeval(tv_sec: 0, tv_usec: 50_000)
            } else if locked({ voice.mustChange }) {
                if !isVoiceCancelled { cancelVoice() }
                isVoiceCancelled = !changeVoiceIfIdle()
                if !isVoiceCancelled { continue }
                timeout = timeval(tv_sec: 0, tv_usec: 50_000)
            } else if locked({ mode.mustChange }) {
                if endTransfersForMode() {
                    changeMode()
                    locked { resume() }
                    continue
                }
                timeout = timeval(tv_sec: 0, tv_usec: 50_000)
            }
            makeControlRequests()
            cancelHeldInput()
            announce()
            libusb_handle_events_timeout_completed(library.context, &timeout, nil)
            clearStalls()
        }
        release()
        announce()
    }

    /// Closes the handle, once.
    private func release() {
        guard !locked({ closing.isFinished }) else { return }
        if locked({ closing.resetsPort }) { libusb_reset_device(handle) }
        if let interface = layout.voiceInterface {
            if locked({ voice.current != nil && !closing.isLost }) { _ = USBHandle.setAlternateSetting(0, of: interface, on: handle) }
            libusb_release_interface(handle, Int32(interface))
        }
        leaveMode()
        libusb_release_interface(handle, Int32(layout.controlInterface))
        departure?.end()
        departure = nil
        USBHandle.close(handle)
        locked {
            transfers = []
            voice.changed(to: nil, of: self)
            closing.isFinished = true
        }
    }

    private func announce() {
        if locked({ news.mustAnnounce() }) { onNews() }
    }

    private func cancelAll() {
        for transfer in locked({ (transfers + voice.transfers).filter(\.isInFlight) }) { libusb_cancel_transfer(transfer.transfer) }
    }

    private func performReset() {
        let status = libusb_reset_device(handle)
        if status == 0 { restoreMode() }
        restartReassembly()
        locked {
            recovery.restart()
            wantsReset = false
            for transfer in transfers { transfer.isHalted = false }
            guard status == 0 else { return lose(status) }
            news.append(.portWasReset)
            voice.wanted = nil
            voice.changed(to: nil, of: self)
            resume()
        }
    }

    /// Submits the IN transfers of the mode and the packets that waited.
    private func resume() {
        submitInputs()
        for role in USBOutputs.roles { feed(role) }
    }

    private func submitInputs() {
        for transfer in transfers where transfer.isInput && !transfer.isInFlight && (transfer.role == .dataIn || !mode.isSerialised) {
            transfer.prepareInput(layout, isSerialised: mode.isSerialised)
            submit(transfer)
        }
    }

    /// No transfer is submitted before a reset of the port and a change of the mode.
    var isPaused: Bool { wantsReset || mode.mustChange }

    func feed(_ role: USBTransfer.Role) {
        while !closing.hasBegun, !isPaused, !recovery.halted.contains(role), outputs.has(role), let free = freeTransfer(role) {
            if let next = outputs.next(role) { submitOutput(free, next) }
        }
    }

    /// Called by libusb on the thread when a transfer has completed or failed.
    func completed(_ transfer: USBTransfer) {
        let time = MonotonicClock.now()
        let status = transfer.transfer.pointee.status
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        transfer.isInFlight = false
        inFlight -= 1
        USBCount.add(to: USBCount.transfersEnded)
        if transfer.isVoice { return voiceEnded(transfer, status, at: time) }
        switch status {
        case LIBUSB_TRANSFER_COMPLETED, LIBUSB_TRANSFER_TIMED_OUT:
            recovery.succeeded(transfer.role)
            if transfer.isInput { receive(transfer, at: time) }
            proceed(transfer)
        case LIBUSB_TRANSFER_CANCELLED:
            transfer.isHalted = recovery.halted.contains(transfer.role)
            // What came before the cancellation for a change of the mode does not come again.
            if transfer.isInput, mode.mustChange || mode.holdsInput, transfer.transfer.pointee.actual_length > 0 {
                receive(transfer, at: time)
            }
            if !transfer.isInput { keepCancelled(transfer) }
        case LIBUSB_TRANSFER_NO_DEVICE: lose(.lost(name))
        case LIBUSB_TRANSFER_STALL where transfer.role == .command: resend(transfer)
        case LIBUSB_TRANSFER_STALL:
            transfer.isHalted = true
            recovery.halted.insert(transfer.role)
        default: recover(transfer)
        }
    }

    /// Continues after a successful transfer.
    func proceed(_ transfer: USBTransfer) {
        if !transfer.isInput {
            feed(transfer.role)
        } else if !isPaused, !mode.holdsInput {
            submit(transfer)
        }
    }

    private func receive(_ transfer: USBTransfer, at time: Microseconds) {
        let piece = UnsafeRawBufferPointer(start: transfer.buffer, count: Int(transfer.transfer.pointee.actual_length))
        if transfer.role == .events {
            events.append(piece, isShort: !piece.count.isMultiple(of: layout.eventSize)) { add(.packet($0, time)) }
        } else {
            dataTransfersIn += piece.isEmpty ? 0 : 1
            guard !mode.isSerialised else { return receiveSerialised(piece, of: transfer, at: time) }
            data.append(piece, isShort: !piece.count.isMultiple(of: layout.dataSize)) { add(.packet($0, time)) }
        }
    }

    /// Continues after a transfer error: the current packet is lost. Gives up after too many consecutive errors.
    private func recover(_ transfer: USBTransfer) {
        if transfer.role == .events { events.restart() }
        if transfer.role == .dataIn {
            data.restart()
            framer.restart()
        }
        guard recovery.failed(transfer.role) <= USBRecovery.mostErrors else { return lose(.lost("\(name) (input/output errors)")) }
        proceed(transfer)
    }
}
