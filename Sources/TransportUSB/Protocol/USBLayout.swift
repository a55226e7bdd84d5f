/// Interfaces, endpoints and sizes used for HCI, from the descriptors of a dongle. Core Vol 4, Part B, 2.1.
struct USBLayout: Equatable {
    /// The bulk endpoints of a setting.
    struct BulkPair: Equatable {
        var input: UInt8
        var output: UInt8
        /// Maximum packet sizes in octets.
        var inputSize: Int
        var outputSize: Int
    }

    var controlInterface: UInt8
    /// The device has other functions besides Bluetooth: commands are addressed to the interface rather than the device.
    var isComposite: Bool
    var events: UInt8
    var eventSize: Int
    var dataIn: UInt8
    var dataOut: UInt8
    /// Maximum packet size of the bulk IN pipe in octets.
    var dataSize: Int
    /// Maximum packet size of the bulk OUT pipe in octets.
    var dataOutSize: Int
    /// Bulk endpoints of alternate setting 1 of the first interface, for Bulk Serialization mode; nil if it is not offered. Core Vol 4,
    /// Part B, 7.
    var serialised: BulkPair?
    var voiceInterface: UInt8?
    /// Alternate settings of the voice interface that have endpoints.
    var voiceSettings: [VoiceAlternate]

    /// Returns nil if the interface lacks an endpoint that HCI needs.
    init?(_ device: USBInterfaces, control: USBInterfaces.Interface) {
        guard let setting = control.settings.first else { return nil }
        let ends = setting.endpoints
        guard let events = ends.first(where: { $0.transfer == .interrupt && $0.isIn && $0.size > 0 }),
            let dataIn = ends.first(where: { $0.transfer == .bulk && $0.isIn && $0.size > 0 }),
            let dataOut = ends.first(where: { $0.transfer == .bulk && !$0.isIn && $0.size > 0 })
        else { return nil }
        controlInterface = control.number
        isComposite = device.isComposite
        (self.events, eventSize) = (events.address, events.size)
        (self.dataIn, dataSize) = (dataIn.address, dataIn.size)
        (self.dataOut, dataOutSize) = (dataOut.address, dataOut.size)
        serialised = control.settings.lazy.compactMap(Self.serialised).first
        let voice = Self.voice(device, after: control, kind: setting.kind)
        voiceInterface = voice?.number
        voiceSettings = voice.map { $0.settings.compactMap(Self.voiceSetting) } ?? []
    }

    /// The bulk endpoints of a mode. Only a dongle that offers Bulk Serialization mode has them for it.
    func bulk(isSerialised: Bool) -> BulkPair {
        let legacy = BulkPair(input: dataIn, output: dataOut, inputSize: dataSize, outputSize: dataOutSize)
        return isSerialised ? serialised ?? legacy : legacy
    }

    /// The setting has bulk endpoints only.
    private static func serialised(_ setting: USBInterfaces.Setting) -> BulkPair? {
        let ends = setting.endpoints
        guard setting.alternate == 1, setting.hasBulkPairOnly, let input = ends.first(where: \.isIn),
            let output = ends.first(where: { !$0.isIn })
        else { return nil }
        return BulkPair(input: input.address, output: output.address, inputSize: input.size, outputSize: output.size)
    }

    /// Finds the voice interface: it follows the control interface directly and has alternate settings. Other interfaces, such as those for
    /// diagnostics or firmware, are not used.
    private static func voice(_ device: USBInterfaces, after control: USBInterfaces.Interface, kind: USBInterfaces.Class)
        -> USBInterfaces.Interface?
    {
        device.interfaces.first { interface in
            guard interface.number == control.number &+ 1, interface.settings.count > 1 else { return false }
            let code = interface.settings[0].kind.code
            return code == USBInterfaces.Class.bluetooth.code || code == kind.code
        }
    }

    private static func voiceSetting(_ setting: USBInterfaces.Setting) -> VoiceAlternate? {
        let ends = setting.endpoints.filter { $0.transfer == .isochronous }
        guard let input = ends.first(where: \.isIn), let output = ends.first(where: { !$0.isIn }) else { return nil }
        let size = min(input.size, output.size)
        return size > 0
            ? VoiceAlternate(number: setting.alternate, frameSize: size, input: input.address, output: output.address) : nil
    }
}
