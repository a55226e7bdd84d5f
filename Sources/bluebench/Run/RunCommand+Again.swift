import BBReport
import BBSessions

extension RunCommand {
    /// The options needed to repeat a case, quoted for a shell.
    var again: String {
        var words: [String] = []
        func add(_ name: String, _ value: String?) {
            if let value { words += [name, value] }
        }
        add("--config", Arguments.value(of: "--config"))
        if selection.cases != CaseFolder.standard { add("--cases", selection.cases) }
        for name in [BenchOptions.names, CommandOptions.names, LogOptions.names].joined() where Arguments.given(name.text) {
            if name.isFlag { words.append(name.text) } else { add(name.text, Arguments.value(of: name.text)) }
        }
        for value in selection.set { add("--set", value) }
        return RunFacts.shell(words)
    }
}
