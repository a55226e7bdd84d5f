import ArgumentParser

/// The amount and colour of a run's lines on the terminal.
struct TerminalOptions: ParsableArguments {
    @Flag(help: "Print only cases that need attention, and the summary.") var quiet = false
    @OptionGroup var colour: ColourOption
}
