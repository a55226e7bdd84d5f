import Packets

/// What the USB side of a dongle needs beyond the specification. The defaults ask for nothing.
public struct USBWorkarounds: Sendable, Hashable {
    /// Waits for an empty packet after data that fills its last bulk packet.
    public var needsZeroLengthPackets = false
    /// Answers nothing on every second opening until its port is reset: the port is reset before the first HCI_Reset.
    public var resetsPortFirst = false
    /// Leaves the bus at HCI_Reset, or at a reset of its port, and comes back: expected, not a loss.
    public var reenumeratesAtReset = false
    /// Is in trouble when HCI_Reset is sent at the end.
    public var skipsResetAtClose = false
    /// Its bulk IN pipe brings nothing until the system has suspended the device once.
    public var suspendsFirst = false
    /// Its isochronous pipes crash it or fail: it carries no voice over USB.
    public var hasNoVoice = false
    /// Alternate settings of the voice interface that carry nothing, by number: a larger one is chosen.
    public var avoidedVoiceSettings: Set<UInt8> = []
    /// The alternate setting for voice coded by the host, where another than the usual ones works best.
    public var transparentVoiceSetting: UInt8?
    /// Lets go of the bus when the system suspends it: the system is asked not to.
    public var mustStayAwake = true

    public init() {}

    /// What a table sets by a name alone.
    public static let names: [String: WritableKeyPath<USBWorkarounds, Bool> & Sendable] = [
        "needs-zero-length-packets": \.needsZeroLengthPackets,
        "resets-port-first": \.resetsPortFirst,
        "reenumerates-at-reset": \.reenumeratesAtReset,
        "skips-reset-at-close": \.skipsResetAtClose,
        "suspends-first": \.suspendsFirst,
        "has-no-voice": \.hasNoVoice,
        "must-stay-awake": \.mustStayAwake,
    ]

    /// Sets the switch of that name; false when there is none.
    public mutating func set(_ name: String, to isOn: Bool = true) -> Bool {
        guard let path = Self.names[name] else { return false }
        self[keyPath: path] = isOn
        return true
    }

    /// The names of the switches that differ from the defaults, in order.
    public var namesInUse: [String] {
        let defaults = USBWorkarounds()
        return Self.names.filter { self[keyPath: $0.value] != defaults[keyPath: $0.value] }.keys.sorted()
    }
}
