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
    let description: String
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
            var data = next.data
            func number(_ at: Int) -> UInt16 { UInt16(next.setup[at]) | UInt16(next.setup[at + 1]) << 8 }
            let status = data.withUnsafeMutableBufferPointer {
                libusb_control_transfer(
                    handle, next.setup[0], next.setup[1], number(2), number(4), $0.baseAddress, UInt16(clamping: $0.count), 1_000)
            }
            locked { add(.control(id: next.id, isDone: status >= 0)) }
        }
    }

    /// Cancels the reads that are held.
    func cancelHeldInput() {
        let reads = locked {
            let reads = mode.holdsInput ? transfers.filter { $0.isInput && $0.isInFlight } : []
            if reads.isEmpty, let id = mode.holdID {
                mode.holdID = nil
                add(.control(id: id, isDone: true))
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
        let status = USBHandle.setAlternateSetting(wanted ? 1 : 0, of: layout.controlInterface, on: handle)
        // After a refusal, the rest of a packet may still come.
        if status == 0 { restartReassembly() }
        locked {
            mode.settle(wanted, isSelected: status == 0)
            guard status != 0 else {
                outputs.changeMode(toSerialised: wanted)
                return news.append(.mode(.success(wanted)))
            }
            if libusb_error(status) == LIBUSB_ERROR_NO_DEVICE { return lose(status) }
            news.append(.mode(.failure(USBModeRefusal(description: "setting \(wanted ? 1 : 0) of its HCI interface: \(usbText(status))"))))
        }
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
        _ = USBHandle.setAlternateSetting(1, of: layout.controlInterface, on: handle)
    }

    /// Leaves the dongle in the legacy mode.
    func leaveMode() {
        guard locked({ mode.isSerialised && !closing.isLost }) else { return }
        _ = USBHandle.setAlternateSetting(0, of: layout.controlInterface, on: handle)
        locked {
            mode.settle(false, isSelected: true)
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
