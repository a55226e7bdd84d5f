import BBCLibUSB
import BBPackets
import BBTiming
import BBTransport

/// Mode of a dongle and the change under way. Core Vol 4, Part B, 7.
struct USBModeState {
    private(set) var isSerialised = false
    /// The requested mode; nil if no change is requested.
    private(set) var wanted: Bool?
    /// Nothing is read until a mode is selected.
    var holdsInput = false
    /// The request to hold them that has no answer yet.
    var holdID: Int?
    /// Time at which outgoing transfers that a change waits for are cancelled; nil before the change begins.
    var deadline: Microseconds?
    /// Framing was lost, and this was reported.
    var hasLostFraming = false

    var mustChange: Bool { wanted != nil }

    mutating func want(_ isSerialised: Bool) { wanted = isSerialised }

    /// Records the result of a change. Another mode may have been requested meanwhile.
    mutating func settle(_ request: Bool, isSelected: Bool) {
        if isSelected { isSerialised = request }
        if wanted == request { wanted = nil }
        (deadline, hasLostFraming, holdsInput) = (nil, false, false)
    }
}

/// The reason why a dongle does not use a mode.
struct USBModeRefusal: Error, Sendable, CustomStringConvertible {
    /// The setting of the HCI interface that was not selected.
    var setting: UInt8
    var result: USBRequestResult
    /// The mode that the dongle is in.
    var isSerialised: Bool

    var description: String { "setting \(setting) of its HCI interface: \(result)" }
}

/// Statistics of the framing in Bulk Serialization mode.
public struct USBFraming: Sendable, Equatable {
    public var faults = 0
    public var firstFault: String?
    /// Packets that shared a transfer with the one before.
    public var joined = 0
    /// Packets that took several transfers.
    public var split = 0

    public init() {}

    public init(_ framer: SerialisedFramer) {
        (faults, firstFault) = (framer.faults, framer.firstFault.map { "\($0)" })
        (joined, split) = (framer.joined, framer.split)
    }
}

/// A control request under way.
struct USBControlRequest: Sendable {
    var id: Int
    var setup: [UInt8]
    var data: [UInt8]
}

/// The setting of the HCI interface. It changes only while none of the interface's transfers is pending.
extension USBDevice {
    /// Time for outgoing packets to be taken before a change of the mode.
    private static let timeToTake = Microseconds.seconds(1)

    /// Selects a mode; `USBNews.mode` reports the result. Packets that are sent meanwhile wait.
    func select(serialised: Bool) {
        locked { mode.want(serialised) }
        wake()
    }

    /// Cancels the reads; none is submitted until a mode is selected. `USBNews.control` reports that none is pending.
    func holdInput(_ id: Int) {
        locked { (mode.holdsInput, mode.holdID) = (true, id) }
        wake()
    }

    /// Makes a control request; `USBNews.control` reports the result.
    func control(_ request: USBControlRequest) {
        locked { controls.append(request) }
        wake()
    }

    // MARK: The thread

    /// Makes the control requests that wait.
    func makeControlRequests() {
        while let next = locked({ controls.popFirst() }) {
            let result = request(next.setup, next.data)
            locked { add(.control(id: next.id, result)) }
        }
    }

    /// Makes a control request and waits for its end.
    private func request(_ setup: [UInt8], _ octets: [UInt8] = []) -> USBRequestResult {
        var data = octets
        func number(_ at: Int) -> UInt16 { UInt16(setup[at]) | UInt16(setup[at + 1]) << 8 }
        let limit = USBRequestResult.limit(of: setup)
        let status = data.withUnsafeMutableBufferPointer {
            libusb_control_transfer(
                handle, setup[0], setup[1], number(2), number(4), $0.baseAddress, UInt16(clamping: $0.count),
                UInt32(limit.rawValue / 1_000))
        }
        return USBRequestResult(status, after: limit)
    }

    /// The reason why a setting was not selected. Some systems report every reason alike; a plain request of the same setting tells them
    /// apart.
    private func reason(of status: Int32, setting: UInt8) -> USBRequestResult {
        let former: UInt8 = locked { mode.isSerialised } ? 1 : 0
        func select(_ alternate: UInt8) -> USBRequestResult { request([0x01, 11, alternate, 0, layout.controlInterface, 0, 0, 0]) }
        let told = USBRequestResult(status, after: USBRequestResult.limit(of: [0x01]))
        guard case .failed = told else { return told }
        let again = select(setting)
        guard again.isDone else { return again }
        // The system does not know of this setting.
        _ = select(former)
        return told
    }

    /// Cancels the reads that are held.
    func cancelHeldInput() {
        let reads = locked {
            let reads = mode.holdsInput ? transfers.filter { $0.isInput && $0.isInFlight } : []
            if reads.isEmpty, let id = mode.holdID {
                mode.holdID = nil
                add(.control(id: id, .done))
            }
            return reads
        }
        for transfer in reads { libusb_cancel_transfer(transfer.transfer) }
    }

    /// Cancels what is pending for a change of the mode, outgoing packets only after some time; true if nothing is pending.
    func endTransfersForMode() -> Bool {
        let now = MonotonicClock.now()
        let pending = locked {
            let pending = transfers.filter(\.isInFlight)
            let isFirst = mode.deadline == nil
            let deadline = mode.deadline ?? now + Self.timeToTake
            mode.deadline = deadline
            return (all: pending, cancelled: pending.filter { $0.isInput ? isFirst : now >= deadline })
        }
        for transfer in pending.cancelled { libusb_cancel_transfer(transfer.transfer) }
        return pending.all.isEmpty
    }

    /// Selects the requested mode while no transfer is pending.
    func changeMode() {
        guard let wanted = locked({ mode.wanted }) else { return }
        locked { outputs.resumeReturned() }
        let setting: UInt8 = wanted ? 1 : 0
        let status = USBHandle.setAlternateSetting(setting, of: layout.controlInterface, on: handle)
        guard status != 0 else {
            restartReassembly()
            return locked {
                mode.settle(wanted, isSelected: true)
                outputs.changeMode(toSerialised: wanted)
                news.append(.mode(.success(wanted)))
            }
        }
        // The rest of a packet may still come: reassembly goes on.
        if libusb_error(status) == LIBUSB_ERROR_NO_DEVICE { return locked { lose(status) } }
        let result = reason(of: status, setting: setting)
        enableEndpoints(setting: locked { mode.isSerialised } ? 1 : 0)
        locked {
            mode.settle(wanted, isSelected: false)
            news.append(.mode(.failure(USBModeRefusal(setting: setting, result: result, isSerialised: mode.isSerialised))))
        }
    }

    /// Linux disables the endpoints of an interface before it requests a setting, and leaves them so where the device refuses it. Selects the
    /// present setting again; where the device refuses that, too, claims the interface again.
    private func enableEndpoints(setting: UInt8) {
        let interface = layout.controlInterface
        guard USBHandle.setAlternateSetting(setting, of: interface, on: handle) != 0, setting == 0 else { return }
        USBHandle.claimAgain(interface, on: handle)
    }

    func restartReassembly() {
        locked {
            events.restart()
            data.restart()
            framer.restart()
        }
    }

    /// Selects the mode again after a reset of the port, which ends it.
    func restoreMode() {
        guard locked({ mode.isSerialised }) else { return }
        let status = USBHandle.setAlternateSetting(1, of: layout.controlInterface, on: handle)
        guard status != 0 else { return }
        enableEndpoints(setting: 0)
        locked {
            mode.settle(false, isSelected: true)
            outputs.changeMode(toSerialised: false)
            let result = USBRequestResult(status, after: USBRequestResult.limit(of: [0x01]))
            news.append(.mode(.failure(USBModeRefusal(setting: 1, result: result, isSerialised: false))))
        }
    }

    /// Leaves the dongle in the legacy mode.
    func leaveMode() {
        guard locked({ mode.isSerialised && !closing.isLost }) else { return }
        _ = USBHandle.setAlternateSetting(0, of: layout.controlInterface, on: handle)
        locked {
            mode.settle(false, isSelected: true)
        }
    }

    /// Called with the lock held when an outgoing transfer was cancelled. A packet of which the dongle has taken nothing is sent after the
    /// change of the mode that the cancellation was for.
    func keepCancelled(_ transfer: USBTransfer) {
        guard mode.mustChange, !transfer.isHalted, let output = transfer.output else { return }
        if transfer.transfer.pointee.actual_length == 0 {
            outputs.putBack(output, transfer.role, sequence: transfer.sequence)
        } else {
            cutPackets += 1
        }
    }

    /// Called with the lock held.
    func receiveSerialised(_ read: UnsafeRawBufferPointer, of transfer: USBTransfer, at time: Microseconds) {
        framer.append(read, capacity: Int(transfer.transfer.pointee.length)) { add(.packet($0, time)) }
        guard framer.isLost, !mode.hasLostFraming else { return }
        mode.hasLostFraming = true
        news.append(.lostFraming(framer.firstFault.map { "\($0)" } ?? ""))
    }
}

extension USBRequestResult {
    /// - Parameter status: what libusb returns.
    init(_ status: Int32, after limit: Microseconds) {
        switch libusb_error(status) {
        case _ where status >= 0: self = .done
        case LIBUSB_ERROR_PIPE: self = .stalled
        case LIBUSB_ERROR_TIMEOUT: self = .unanswered(after: limit)
        default: self = .failed(usbText(status))
        }
    }
}
