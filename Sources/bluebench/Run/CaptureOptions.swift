import ArgumentParser

/// The captures of a run.
struct CaptureOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the HCI packets of tester and DUT: .btsnoop, or .pcapng with the simulated air and a comment where a case begins, fails and ends.",
            valueName: "file"), completion: .file())
    var capture: String?
    @Option(
        help: ArgumentHelp("Write every transmission on the simulated air as pcapng, empty packets included.", valueName: "file"),
        completion: .file())
    var air: String?
    @Option(
        help: ArgumentHelp(
            "Write the keys of encrypted links on the simulated air, which `bluebench show --keylog` reads.", valueName: "file"),
        completion: .file())
    var keylog: String?
    @Flag(help: "Keep link keys in results and captures. Default: they are hidden.") var keys = false
}
