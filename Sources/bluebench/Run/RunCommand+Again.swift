import Report

extension RunCommand {
    /// The options needed to repeat a case, quoted for a shell.
    var again: String {
        var words: [String] = []
        func add(_ name: String, _ value: String?) {
            if let value { words += [name, value] }
        }
        if cases != CaseFolder.standard { add("--cases", cases) }
        if tester != "virtual" { add("--tester", tester) }
        if subject != "virtual" { add("--subject", subject) }
        for name in [
            "--peer", "--device", "--tester-address", "--subject-address", "--subject-port", "--accessory", "--slack", "--profile",
            "--bonds",
        ] {
            add(name, Arguments.value(of: name))
        }
        for value in values { add("--set", value) }
        return RunFacts.shell(words)
    }
}
