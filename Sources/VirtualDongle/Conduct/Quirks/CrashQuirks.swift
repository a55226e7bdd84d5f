import BBMisbehaviour

extension DongleQuirk {
    /// Crashes of a controller.
    static let crashQuirks: [DongleQuirk] = [
        DongleQuirk(
            "hardware-error", .milliseconds(0...60_000), standard: "100", knownOf: "QCA, Intel",
            "sends Hardware_Error this long after the first connection, and nothing after it",
            .rule { CrashInConnection(delay: $0.milliseconds, LastWords.hardwareError) }),
        DongleQuirk(
            "coredump", .milliseconds(0...60_000), standard: "100", knownOf: "Realtek",
            "announces a memory dump this long after the first connection, and sends nothing after it",
            .rule { CrashInConnection(delay: $0.milliseconds, LastWords.coredump) }),
        DongleQuirk(
            "acl-dump", .number(1...100_000), standard: "30", knownOf: "QCA WCN6855",
            "sends a memory dump as ACL data with handle 0xEDD after N commands, and nothing after it",
            .rule { CrashAfterCommands(after: $0.number, LastWords.dump) }),
        DongleQuirk(
            "mute-after-commands", .number(0...100_000), standard: "10", knownOf: "CSR clones", "answers N commands and then nothing",
            .rule { CrashAfterCommands(after: $0.number) { _ in [] } }),
    ]
}
