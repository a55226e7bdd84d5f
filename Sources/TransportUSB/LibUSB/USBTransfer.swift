import CLibUSB

/// One libusb transfer with its buffer.
///
/// `@unchecked Sendable`: between submission and completion libusb owns it; otherwise the device that made it, under the device's lock.
final class USBTransfer: @unchecked Sendable {
    enum Role {
        case events
        case dataIn
        case command
        case dataOut
        case voiceIn
        case voiceOut
    }

    let role: Role
    let transfer: UnsafeMutablePointer<libusb_transfer>
    let buffer: UnsafeMutablePointer<UInt8>
    let capacity: Int
    unowned let device: USBDevice
    var isInFlight = false
    /// Its endpoint has halted; it waits to be submitted again.
    var isHalted = false
    /// A stall has met it, and it was submitted once more.
    var wasResent = false
    /// The place of its packet among those that go out.
    var sequence = 0

    /// Nil when memory is exhausted.
    ///
    /// - Parameter frames: the most isochronous packets it will have.
    init?(_ role: Role, capacity: Int, device: USBDevice, frames: Int = 0) {
        guard let transfer = libusb_alloc_transfer(Int32(frames)) else { return nil }
        self.role = role
        self.transfer = transfer
        self.capacity = capacity
        self.device = device
        buffer = .allocate(capacity: capacity)
        USBCount.add(to: USBCount.transfersAllocated)
        transfer.pointee.dev_handle = device.handle
        transfer.pointee.buffer = buffer
        transfer.pointee.timeout = 0
        transfer.pointee.user_data = Unmanaged.passUnretained(self).toOpaque()
        transfer.pointee.callback = { transfer in
            guard let transfer, let context = transfer.pointee.user_data else { return }
            let this = Unmanaged<USBTransfer>.fromOpaque(context).takeUnretainedValue()
            this.device.completed(this)
        }
    }

    deinit {
        libusb_free_transfer(transfer)
        USBCount.add(-1, to: USBCount.transfersAllocated)
        buffer.deallocate()
    }

    var isInput: Bool { role == .events || role == .dataIn }
    var isVoice: Bool { role == .voiceIn || role == .voiceOut }

    func prepareInput(_ layout: USBLayout) {
        let isEvents = role == .events
        transfer.pointee.endpoint = isEvents ? layout.events : layout.dataIn
        transfer.pointee.type = UInt8((isEvents ? LIBUSB_TRANSFER_TYPE_INTERRUPT : LIBUSB_TRANSFER_TYPE_BULK).rawValue)
        transfer.pointee.length = Int32(capacity)
    }

    /// Fills in a packet. Core Vol 4, Part B, 2.2.2: commands are class requests to the device, or to the interface of a composite one.
    func prepareOutput(_ octets: [UInt8], _ layout: USBLayout, toInterface: Bool) {
        var offset = 0
        if role == .command {
            let setup: [UInt8] = [
                0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: octets.count), UInt8(truncatingIfNeeded: octets.count >> 8),
            ]
            buffer.update(from: setup, count: setup.count)
            address(toInterface: toInterface, layout)
            offset = setup.count
            transfer.pointee.endpoint = 0
            transfer.pointee.type = UInt8(LIBUSB_TRANSFER_TYPE_CONTROL.rawValue)
        } else {
            transfer.pointee.endpoint = layout.dataOut
            transfer.pointee.type = UInt8(LIBUSB_TRANSFER_TYPE_BULK.rawValue)
        }
        (buffer + offset).update(from: octets, count: octets.count)
        transfer.pointee.length = Int32(offset + octets.count)
    }

    /// Sets bmRequestType and wIndex of a command.
    func address(toInterface: Bool, _ layout: USBLayout) {
        buffer[0] = toInterface ? 0x21 : 0x20
        buffer[4] = toInterface ? layout.controlInterface : 0
    }

    /// Describes the isochronous packets, one a frame. They lie in the buffer one after another.
    func prepareVoice(_ setting: VoiceSetting, frames: [Int]) {
        transfer.pointee.endpoint = role == .voiceIn ? setting.input : setting.output
        transfer.pointee.type = UInt8(LIBUSB_TRANSFER_TYPE_ISOCHRONOUS.rawValue)
        transfer.pointee.num_iso_packets = Int32(frames.count)
        transfer.pointee.length = Int32(frames.reduce(0, +))
        for (index, length) in frames.enumerated() {
            bluebench_iso_packet(transfer, Int32(index))?.pointee.length = UInt32(length)
        }
    }
}
