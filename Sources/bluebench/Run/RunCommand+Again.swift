import Report

extension RunCommand {
    /// The options needed to repeat a case, quoted for a shell.
    var again: String {
        var words: [String] = []
        func add(_ name: String, _ value: String?) {
            if let value { words += [name, value] }
        }
        if selection.cases != CaseFolder.standard { add("--cases", selection.cases) }
        let groups = [BenchOptions.optionNames, BondOptions.optionNames, CommandOptions.optionNames, LogOptions.optionNames]
        for name in groups.joined() { add(name, Arguments.value(of: name)) }
        if sharing.virtualTime { words.append("--virtual-time") }
        add("--client-timeout", sharing.clientTimeout.map(String.init))
        for value in selection.set { add("--set", value) }
        return RunFacts.shell(words)
    }
}
