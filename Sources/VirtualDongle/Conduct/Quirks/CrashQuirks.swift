import Misbehaviour

extension DongleQuirk {
    /// Crashes.
    static let crashQuirks: [DongleQuirk] = [
        DongleQuirk(
            "hardware-error", .milliseconds(0...60_000), standard: "100", knownOf: "QCA, Intel",
            "tells of an error of its hardware so long after the first connection, and nothing more",
            .rule { CrashInConnection(delay: $0.milliseconds, LastWords.hardwareError) }),
        DongleQuirk(
            "coredump", .milliseconds(0...60_000), standard: "100", knownOf: "Realtek",
            "announces a dump of its memory so long after the first connection, and says nothing more",
            .rule { CrashInConnection(delay: $0.milliseconds, LastWords.coredump) }),
        DongleQuirk(
            "acl-dump", .number(1...100_000), standard: "30", knownOf: "QCA WCN6855",
            "sends a dump of its memory as data of handle EDD after N commands, and nothing more",
            .rule { CrashAfterCommands(after: $0.number, LastWords.dump) }),
        DongleQuirk(
            "mute-after-commands", .number(0...100_000), standard: "10", knownOf: "CSR clones", "answers N commands and then nothing",
            .rule { CrashAfterCommands(after: $0.number) { _ in [] } }),
    ]
}
