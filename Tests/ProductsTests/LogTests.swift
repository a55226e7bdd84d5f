import BBPackets
import Testing

@testable import BBProducts

/// Sources of a product's log, and its lines.
struct LogTests {
    @Test func aPatternThatIsNoneIsRefused() {
        #expect(throws: LinearPattern.Malformed.self) { try ProductLog(bootLine: "(") }
        #expect(throws: LinearPattern.Malformed.self) { try ProductLog(bootLine: "((((a{1,250}){1,250}){1,250}){1,250})") }
    }

    @Test(arguments: [
        ("serial:/dev/ttyACM0", LogSource.serial(path: "/dev/ttyACM0", speed: 115_200)),
        ("serial:/dev/ttyACM0,9600", .serial(path: "/dev/ttyACM0", speed: 9_600)), ("logs/dut.log", .file("logs/dut.log")),
        ("file:dut", .file("dut")), ("adb logcat -b /x", .command("adb logcat -b /x")), ("rtt", .command("rtt")),
        ("command:/usr/bin/rtt", .command("/usr/bin/rtt")),
    ])
    func aSourceIsReadFromItsText(_ text: String, _ source: LogSource) throws { #expect(try LogSource(text) == source) }

    @Test(arguments: [
        ("a\u{1B}[0mb", "ab"), ("\u{1B}[38;5;1mred", "red"), ("a\u{07}b", "a\\u{7}b"), ("\u{1B}c", "\\u{1B}c"),
        ("a\u{202E}b", "a\\u{202E}b"),
    ])
    func controlCharactersAreEscaped(_ line: String, _ text: String) { #expect(LogBuffer.clean(line.utf8) == text) }
}
