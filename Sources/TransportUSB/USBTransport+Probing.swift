import BBPackets
import BBTiming
import BBTransport

/// Requests below the packets under way, for cases about the USB side of a dongle.
struct USBProbing {
    private var requests: [Int: Promise<USBRequestResult>] = [:]
    private var nextID = 0
    private var selection: Promise<USBRequestResult>?

    mutating func begin(on loop: RunLoop) -> (id: Int, result: Promise<USBRequestResult>) {
        nextID += 1
        let result = Promise<USBRequestResult>(on: loop)
        requests[nextID] = result
        return (nextID, result)
    }

    mutating func ended(_ id: Int, _ result: USBRequestResult) { requests.removeValue(forKey: id)?.fulfil(result) }

    mutating func select(on loop: RunLoop) -> Promise<USBRequestResult> {
        let result = Promise<USBRequestResult>(on: loop)
        selection = result
        return result
    }

    /// Returns false if the mode was not selected by a case.
    mutating func settle(_ result: Result<Bool, USBModeRefusal>) -> Bool {
        guard let selection else { return false }
        self.selection = nil
        switch result {
        case .success: selection.fulfil(.done)
        case .failure(let refusal): selection.fulfil(refusal.result)
        }
        return true
    }

    mutating func fail(_ reason: TransportError) {
        for request in requests.values { request.fail(reason) }
        selection?.fail(reason)
        (requests, selection) = ([:], nil)
    }
}

extension USBTransport {
    /// Number of the controller's first interface.
    public var firstInterface: UInt8 { device?.layout.controlInterface ?? 0 }
    /// Figures of the transfers in Bulk Serialization mode.
    public var framing: USBFraming { (device?.oddities ?? account.oddities).framing }

    /// The class requests that carry commands in the legacy mode.
    public var addressing: USBCommandAddress {
        get { device?.addressing ?? USBCommandAddress() }
        set { device?.address(newValue == USBCommandAddress() ? nil : newValue) }
    }

    /// Reads nothing until a mode is selected; returns once no read is pending.
    public func holdInput() async throws {
        guard let device, !isEnded else { throw TransportError.lost(name) }
        let (id, result) = probing.begin(on: loop)
        device.holdInput(id)
        _ = try await result.value()
    }

    /// Selects a mode, and reads again; nil if the descriptors do not offer it.
    public func selectMode(serialised: Bool) async throws -> USBRequestResult? {
        guard let device, !isEnded else { throw TransportError.lost(name) }
        // Another setting of this number is no mode.
        if serialised, device.layout.serialised == nil { return nil }
        let result = probing.select(on: loop)
        device.select(serialised: serialised)
        return try await result.value()
    }

    /// Selects a setting of the voice interface by a control request; nil if there is no such interface.
    public func selectVoiceSetting(_ alternate: UInt8) async throws -> USBRequestResult? {
        guard let interface = device?.layout.voiceInterface else { return nil }
        return try await control([0x01, 11, alternate, 0, interface, 0, 0, 0], [])
    }

    /// Makes a control request.
    public func control(_ setup: [UInt8], _ data: [UInt8]) async throws -> USBRequestResult {
        guard let device, !isEnded, setup.count == 8 else { throw TransportError.lost(name) }
        let (id, result) = probing.begin(on: loop)
        device.control(USBControlRequest(id: id, setup: setup, data: data))
        return try await result.value()
    }
}

extension USBDevice {
    func address(_ addressing: USBCommandAddress?) { locked { self.addressing = addressing } }
}
