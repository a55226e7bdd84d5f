import BBCases

/// An option that a command does not have, with the option of ours that does what its name says elsewhere.
struct UnknownOption {
    let text: String

    /// Options of other programs, by ours: the commands that have ours, and what to use.
    private static let known: [(names: [String], commands: [String], advice: String)] = [
        (["--loss", "--per", "--error-rate", "--packet-loss"], ["throughput"], "--packet-error-rate"),
        (["--jobs", "--parallel", "--workers"], ["run"], "cases run one after another; --shard 1/4 runs a part of them"),
        (["--output", "--out"], ["run", "merge"], "--report FOLDER or --json FILE"),
        (["--rerun", "--reruns", "--retries", "--repeat"], ["run"], "--retry"),
        (["--keyword", "--filter", "--only"], ["run"], "suites and cases are arguments: phy, 'gap-*'"),
        (["--duration", "--time"], ["throughput"], "--seconds"),
    ]

    /// - Parameter message: the parser's message; nil is returned unless it names an unknown option.
    init?(_ message: String, of command: String?) {
        guard message.hasPrefix("Unknown option '"), let name = message.split(separator: "'").dropFirst().first.map(String.init) else {
            return nil
        }
        if let row = Self.known.first(where: { $0.names.contains(name) && $0.commands.contains(command ?? "") }) {
            text = "Unknown option '\(name)'; \(row.advice.hasPrefix("--") ? "use " : "")\(row.advice)"
            return
        }
        // The parser suggests names that have little in common with the unknown one.
        guard let suggested = message.split(separator: "'").last(where: { $0.hasPrefix("--") }), suggested != name[...] else { return nil }
        guard Suggestion.text(for: name, among: [String(suggested)], mostChanges: max(1, name.count / 4)).isEmpty else { return nil }
        text = "Unknown option '\(name)'"
    }
}
