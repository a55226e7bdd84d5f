import ArgumentParser
import BBHCI
import BBPackets
import BBSessions

/// Argument values that several commands use.
enum Arguments {
    /// Returns true if an option is on the command line, even with its default value.
    static func given(_ option: String) -> Bool { CommandLine.arguments.contains { $0 == option || $0.hasPrefix(option + "=") } }

    /// Reads a UUID such as `180D`, or in full.
    static func uuid(_ text: String) throws -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else {
            throw ValidationError("'\(text)' is not a UUID: use four hexadecimal digits, as 2A37, or all 32")
        }
        return uuid
    }

    /// Returns an option's value on the command line, the last one if there are several.
    static func value(of option: String) -> String? { values(of: option).last }

    static func values(of option: String) -> [String] {
        let arguments = CommandLine.arguments
        return arguments.indices.compactMap { index in
            if arguments[index].hasPrefix(option + "=") { return String(arguments[index].dropFirst(option.count + 1)) }
            return arguments[index] == option && index + 1 < arguments.count ? arguments[index + 1] : nil
        }
    }

    /// Returns the arguments with negative numbers joined to their options, because the parser takes `-5` for an option. The code of
    /// `explain -110` goes behind `--`.
    static func tied(_ arguments: some Sequence<String>) -> [String] {
        var codes: [String] = []
        let tied: [String] = arguments.reduce(into: []) { tied, argument in
            let second = argument.dropFirst().first
            let isNegative = argument.hasPrefix("-") && (second == "." || second?.isNumber == true)
            if isNegative, let option = tied.last, option.hasPrefix("--"), option.count > 2, !option.contains("=") {
                tied[tied.count - 1] = option + "=" + argument
            } else if isNegative, tied.first == ExplainCommand.configuration.commandName {
                codes.append(argument)
            } else {
                tied.append(argument)
            }
        }
        return codes.isEmpty ? tied : tied + ["--"] + codes
    }

    /// Reads integers in a range, in decimal or as `0x80`.
    static func whole<Number: FixedWidthInteger & Sendable>(_ range: ClosedRange<Number>) -> @Sendable (String) throws -> Number {
        { text in
            let number = text.hasPrefix("0x") ? Number(text.dropFirst(2), radix: 16) : Number(text)
            guard let number, range.contains(number) else {
                let most = Int(exactly: range.upperBound) == .max ? " or more" : " to \(range.upperBound)"
                throw ValidationError("a whole number, \(range.lowerBound)\(most)")
            }
            return number
        }
    }

    static let loopbackPort: @Sendable (String) throws -> UInt16 = { text in
        guard let port = LoopbackSocket.port(text) else { throw ValidationError("a port of this machine, such as 8080 or 127.0.0.1:8080") }
        return port
    }

    static let seed: @Sendable (String) throws -> UInt64 = { text in
        guard let seed = UInt64(text) else { throw ValidationError("a whole number, 0 to \(UInt64.max)") }
        return seed
    }

    static let ownAddress: @Sendable (String) throws -> OwnAddress = { text in
        guard let address = OwnAddress(text) else {
            throw ValidationError("auto, random, or a static address, whose two upper bits are set: C0:B1:BE:00:00:01")
        }
        return address
    }

    static let rate: @Sendable (String) throws -> Double = { text in
        guard let rate = Double(text), 0...1 ~= rate else { throw ValidationError("0 to 1") }
        return rate
    }

    /// Reads a distance in metres.
    static let distance: @Sendable (String) throws -> Double = { text in
        guard let metres = Double(text), 0.1...10_000 ~= metres else { throw ValidationError("0.1 to 10000 metres") }
        return metres
    }

    /// Reads a time in seconds.
    static let seconds: @Sendable (String) throws -> Double = { text in
        guard let seconds = Double(text), seconds > 0, seconds <= 86_400 else {
            throw ValidationError("a time in seconds, more than 0 and at most 86400")
        }
        return seconds
    }

    /// Reads a connection interval in ms. Core Vol 4, Part E, 7.8.12.
    static let interval: @Sendable (String) throws -> Double = { text in
        guard let milliseconds = Double(text), (7.5...4_000).contains(milliseconds), (milliseconds / 1.25).rounded() * 1.25 == milliseconds
        else {
            throw ValidationError("a multiple of 1.25 ms, 7.5 to 4000")
        }
        return milliseconds
    }

    /// Reads `1m,2m,coded` as a mask.
    static func phys(_ text: String) throws -> PHYs {
        let names: [Substring: PHYs] = ["1m": .le1M, "2m": .le2M, "coded": .leCoded]
        return try text.lowercased().split(separator: ",").reduce(into: PHYs(rawValue: 0)) { mask, name in
            guard let phy = names[name] else { throw CommandFailure(.usage, "unknown PHY '\(name)': use 1m, 2m or coded") }
            mask.formUnion(phy)
        }
    }
}

extension ArgumentHelp {
    private static let selectors = "Device: usb:VID:PID[/SERIAL], usb:BUS-PORT, tcp:HOST:PORT, unix:PATH or serial:PATH"
    static let device = ArgumentHelp("\(selectors).")

    static func device(_ further: String) -> ArgumentHelp { ArgumentHelp("\(selectors); \(further).") }
}
