import ArgumentParser
import BBConformance
import BBProducts

/// The product's log.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Log of the product, in the report between the packets: serial:PATH[,SPEED], a file to follow, or a command to run.",
            valueName: "source"))
    var dutLog: String?
    @Option(
        help: ArgumentHelp(
            "Regular expression, as of grep -E, of a line that the product prints when it boots. Default: the banners of Zephyr, ESP-IDF and others.",
            valueName: "regex"))
    var bootLine: String?

    /// Rejects options without effect or with a wrong value.
    func check() throws {
        if Arguments.given("--boot-line"), dutLog == nil { throw CommandFailure(.usage, "--boot-line needs --dut-log") }
        _ = try log()
        _ = try source()
    }

    /// Returns the log, which is not read yet.
    func log() throws -> ProductLog {
        do { return try ProductLog(bootLine: bootLine) } catch {
            throw CommandFailure(.usage, "--boot-line \(bootLine ?? ""): \(error)")
        }
    }

    func source() throws -> LogSource? {
        guard let dutLog else { return nil }
        guard !dutLog.allSatisfy(\.isWhitespace) else { throw CommandFailure(.usage, "--dut-log takes serial:PATH, a file or a command") }
        do { return try LogSource(dutLog) } catch { throw CommandFailure(error) }
    }

    /// Starts reading the log for a run.
    func open(for runner: Runner) throws {
        guard let source = try source() else { return }
        let log = try log()
        log.open(source)
        runner.productLog = log
    }
}
