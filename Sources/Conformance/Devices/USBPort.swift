import BBBench
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB
import BBVirtualDongle

/// The USB side of a device, below its packets. Core Vol 4, Part B.
protocol USBPort: AnyObject {
    /// Its descriptors; nil if they do not offer HCI.
    var shape: USBShape? { get }
    var isSerialised: Bool { get }
    /// Figures of the transfers of Bulk Serialization mode since the opening.
    var framing: USBFraming { get }
    /// Recipient and bRequest of the commands that follow.
    var addressing: USBCommandAddress { get set }
    /// Reads nothing until a mode is selected.
    func holdInput() async throws
    /// Selects a mode and reads again; nil if the descriptors do not offer it.
    func selectMode(serialised: Bool) async throws -> USBRequestResult?
    /// Selects a setting of the voice interface; nil if there is none.
    func selectVoice(_ alternate: UInt8) async throws -> USBRequestResult?
    /// Makes a class request to the control endpoint.
    func command(_ octets: [UInt8]) async throws -> USBRequestResult
    /// The case has ended.
    func release()
}

extension USBPort {
    /// The words of `needs:` that hold.
    var features: [String] {
        guard let shape else { return [] }
        return ["USB"] + (shape.offersSerialisedMode ? ["USB_Serialised"] : []) + (shape.isComposite ? ["USB_Composite"] : [])
            + (shape.voiceSizes.isEmpty ? [] : ["USB_Voice"])
    }
}

/// A dongle of this machine.
final class DonglePort: USBPort {
    private let dongle: USBTransport

    init(_ dongle: USBTransport) {
        self.dongle = dongle
        dongle.managesVoice = false
    }

    var shape: USBShape? { dongle.description.shape }
    var isSerialised: Bool { dongle.isSerialised }
    var framing: USBFraming { dongle.framing }
    var addressing: USBCommandAddress {
        get { dongle.addressing }
        set { dongle.addressing = newValue }
    }

    func release() { dongle.managesVoice = true }
    func holdInput() async throws { try await dongle.holdInput() }
    func selectMode(serialised: Bool) async throws -> USBRequestResult? { try await dongle.selectMode(serialised: serialised) }
    func selectVoice(_ alternate: UInt8) async throws -> USBRequestResult? { try await dongle.selectVoiceSetting(alternate) }
    func command(_ octets: [UInt8]) async throws -> USBRequestResult {
        try await dongle.control(dongle.addressing.setup(length: octets.count, interface: dongle.firstInterface), octets)
    }
}
