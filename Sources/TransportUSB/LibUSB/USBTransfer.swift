import BBCLibUSB

/// A libusb transfer and its buffer.
///
/// `@unchecked Sendable`: owned by libusb between submission and completion, otherwise by the device that created it, under the device's
/// lock.
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
    /// The endpoint has halted; the transfer waits to be submitted again.
    var isHalted = false
    /// The transfer was submitted again after a stall.
    var wasResent = false
    /// The outgoing packet.
    var output: USBOutputs.Output?
    /// Position of the packet in the output order.
    var sequence = 0

    /// Returns nil if memory is exhausted.
    ///
    /// - Parameter frames: maximum number of isochronous packets.
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

    func prepareInput(_ layout: USBLayout, isSerialised: Bool) {
        let isEvents = role == .events
        let bulk = layout.bulk(isSerialised: isSerialised)
        transfer.pointee.endpoint = isEvents ? layout.events : bulk.input
        transfer.pointee.type = UInt8((isEvents ? LIBUSB_TRANSFER_TYPE_INTERRUPT : LIBUSB_TRANSFER_TYPE_BULK).rawValue)
        transfer.pointee.length = Int32(isEvents ? capacity : capacity / bulk.inputSize * bulk.inputSize)
    }

    /// Fills in a packet. Core Vol 4, Part B, 2.2.2: commands are class requests to the device, or to the interface of a composite device.
    func prepareOutput(_ octets: [UInt8], _ layout: USBLayout, toInterface: Bool, isSerialised: Bool) {
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
            transfer.pointee.endpoint = layout.bulk(isSerialised: isSerialised).output
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

    /// Sets the SETUP stage of a command.
    func address(_ addressing: USBCommandAddress, _ layout: USBLayout) {
        let length = Int(buffer[6]) | Int(buffer[7]) << 8
        let setup = addressing.setup(length: length, interface: layout.controlInterface)
        buffer.update(from: setup, count: setup.count)
    }

    /// Describes the isochronous packets, one per frame, stored contiguously in the buffer.
    func prepareVoice(_ setting: VoiceAlternate, frames: [Int]) {
        transfer.pointee.endpoint = role == .voiceIn ? setting.input : setting.output
        transfer.pointee.type = UInt8(LIBUSB_TRANSFER_TYPE_ISOCHRONOUS.rawValue)
        transfer.pointee.num_iso_packets = Int32(frames.count)
        transfer.pointee.length = Int32(frames.reduce(0, +))
        for (index, length) in frames.enumerated() {
            bluebench_iso_packet(transfer, Int32(index))?.pointee.length = UInt32(length)
        }
    }
}
