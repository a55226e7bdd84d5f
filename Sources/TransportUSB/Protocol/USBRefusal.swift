#if canImport(Darwin)
    import Darwin
#endif

/// Systems on which dongles are not opened.
public enum USBRefusal {
    /// Reason for opening no dongle on a system; nil if they may be opened.
    ///
    /// - Parameters:
    ///   - system: `macOS`, `Linux`.
    ///   - version: major and minor.
    public static func reason(system: String, version: (major: Int, minor: Int), isForced: Bool) -> String? {
        guard system == "macOS", version.major == 26, !isForced else { return nil }
        return """
            macOS \(version.major).\(version.minor): claiming a Bluetooth dongle makes this system's kernel panic, so no dongle is opened; use a Linux \
            virtual machine that the dongle is passed to, or --force-usb at your own risk
            """
    }

    /// The reason for the current system.
    static func here(isForced: Bool) -> String? {
        #if canImport(Darwin)
            var text = [CChar](repeating: 0, count: 64)
            var size = text.count
            guard sysctlbyname("kern.osproductversion", &text, &size, nil, 0) == 0 else { return nil }
            let octets = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            let numbers = String(decoding: octets, as: UTF8.self).split(separator: ".").compactMap { Int($0) }
            return reason(system: "macOS", version: (numbers.first ?? 0, numbers.dropFirst().first ?? 0), isForced: isForced)
        #else
            return reason(system: "Linux", version: (0, 0), isForced: isForced)
        #endif
    }
}
