import BBBench
import BBTiming
import BBTransport
import BBTransportUSB
import Foundation
import Synchronization

/// The phone of a program that has no bench: the device that the environment names, in wall time.
enum SystemPhone {
    /// `BLUEBENCH_DEVICE`: a selector such as `usb:1-2` or `tcp:localhost:6402`, as the command line takes it. `BLUEBENCH_PERSONA`: a phone
    /// by its name, or a file. Without a device that works, the state of the managers is unsupported.
    static let shared: Carried<CBPhone> = {
        let text = ProcessInfo.processInfo.environment["BLUEBENCH_DEVICE"]
        let opened = Mutex<Carried<CBPhone>?>(nil)
        let isOpen = DispatchSemaphore(value: 0)
        while true {
            _ = SystemThread {
                let loop = PhoneLoop(mode: .wall, watchesDescriptors: true)
                let phone = open(text, on: loop)
                opened.withLock { $0 = phone }
                isOpen.signal()
                _ = try? loop.run { while true { try await loop.sleep(for: .seconds(3_600)) } }
            }
            isOpen.wait()
            if let phone = opened.withLock({ $0 }) { return phone }
        }
    }()

    private static func open(_ text: String?, on loop: PhoneLoop) -> Carried<CBPhone> {
        var reason = "there is no device: set BLUEBENCH_DEVICE=usb:BUS-PORT or tcp:HOST:PORT, or use a CBBench"
        if let text {
            let firmware = FirmwareFolders(ProcessInfo.processInfo.environment[FirmwareFolders.variable])
            do {
                var traits = CBPhoneTraits()
                traits.persona = try ProcessInfo.processInfo.environment["BLUEBENCH_PERSONA"].map(persona)
                let device = try DeviceOpener(firmware: firmware).open(try DeviceSelector(text), on: loop)
                let phone = CBPhone(name: "bluebench", seed: 0, traits: traits) { device.host(on: loop, database: $0) }
                phone.start()
                atexit { SystemPhone.leave() }
                return Carried(phone)
            } catch {
                reason = "\(text): \(error)"
            }
        }
        let phone = CBPhone(name: "bluebench", seed: 0) {
            PhoneHost(loop: loop, transport: InProcessTransport.pair(on: loop).host, database: $0)
        }
        phone.failed(reason)
        return Carried(phone)
    }

    /// A persona by its name, or of a file.
    private static func persona(_ text: String) throws -> CBPhonePersona {
        text.hasSuffix(".yaml") ? try CBPhonePersona(contentsOf: text) : try CBPhonePersona(named: text)
    }

    /// Time for `leave()`; the host itself takes at most one second.
    private static let limit = DispatchTimeInterval.milliseconds(1_500)

    /// Ends the links and the advertising of the program, and gives the device back to the system.
    private static func leave() {
        let phone = shared
        guard !phone.value.loop.isOnLoop else { return }
        let hasLeft = DispatchSemaphore(value: 0)
        phone.value.loop.post {
            _ = phone.value.loop.start {
                phone.value.leaves()
                await phone.value.host.leave()
                hasLeft.signal()
            }
        }
        _ = hasLeft.wait(timeout: .now() + limit)
    }
}
