import BBPackets

/// Workarounds for the USB side of a dongle. By default none is needed.
public struct USBWorkarounds: Sendable, Hashable {
    /// Needs a zero-length packet after data that fills its last bulk packet.
    public var needsZeroLengthPackets = false
    /// Does not answer on every second opening until its port is reset. The port is reset before the first HCI_Reset.
    public var resetsPortFirst = false
    /// Re-enumerates after HCI_Reset or a port reset; this is expected and not treated as a loss.
    public var reenumeratesAtReset = false
    /// Fails if HCI_Reset is sent before closing.
    public var skipsResetAtClose = false
    /// Its bulk IN pipe delivers nothing until the system has suspended the device once.
    public var suspendsFirst = false
    /// Its isochronous pipes crash it or fail; no voice over USB.
    public var hasNoVoice = false
    /// Numbers of alternate settings of the voice interface that carry no data; a larger one is used instead.
    public var avoidedVoiceSettings: Set<UInt8> = []
    /// Alternate setting for transparent voice, if not one of the default ones.
    public var transparentVoiceSetting: UInt8?
    /// Its Bulk Serialization mode fails; the legacy mode is used.
    public var avoidsSerialisedMode = false
    /// Leaves the bus when the system suspends it; autosuspend is turned off.
    public var mustStayAwake = true

    public init() {}

    /// Boolean workarounds that a table sets by name.
    public static let names: [String: WritableKeyPath<USBWorkarounds, Bool> & Sendable] = [
        "needs-zero-length-packets": \.needsZeroLengthPackets,
        "resets-port-first": \.resetsPortFirst,
        "reenumerates-at-reset": \.reenumeratesAtReset,
        "skips-reset-at-close": \.skipsResetAtClose,
        "suspends-first": \.suspendsFirst,
        "has-no-voice": \.hasNoVoice,
        "must-stay-awake": \.mustStayAwake,
        "avoids-serialised-mode": \.avoidsSerialisedMode,
    ]

    /// Sets a workaround by name; false if the name is unknown.
    public mutating func set(_ name: String, to isOn: Bool = true) -> Bool {
        guard let path = Self.names[name] else { return false }
        self[keyPath: path] = isOn
        return true
    }

    /// Names of the workarounds that differ from the default, in order.
    public var namesInUse: [String] {
        let defaults = USBWorkarounds()
        return Self.names.filter { self[keyPath: $0.value] != defaults[keyPath: $0.value] }.keys.sorted()
    }
}
