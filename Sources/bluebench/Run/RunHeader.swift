import BBConformance
import BBTiming

/// The first lines of a run in real time: its devices, their start, and the tolerance of windows.
enum RunHeader {
    static func lines(_ devices: [DeviceReport], _ setup: BenchSetup, isWall: Bool) -> [String] {
        guard isWall else { return [] }
        var lines = devices.map { device in
            device.side + String(repeating: " ", count: max(1, 9 - device.side.count)) + device.line
        }
        let slack = Int(saturating: setup.slack.milliseconds)
        lines.append(
            slack == 0
                ? "windows  as in the cases, on a wall clock (--slack 0)"
                : "windows  on a wall clock: a packet that must come may be \(slack) ms later than the case says (--slack)"
        )
        return lines
    }
}
