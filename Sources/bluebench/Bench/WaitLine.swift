import BBPackets
import BBTiming

/// Displays what a command waits for after two seconds: a countdown on a terminal, one line elsewhere.
final class WaitLine {
    private let loop: RunLoop
    private let isSilent: Bool
    private var timer: BBTiming.Timer?
    private var isShown = false

    init(on loop: RunLoop, isSilent: Bool) {
        self.loop = loop
        self.isSilent = isSilent
    }

    func begin(_ text: String, until deadline: Microseconds) {
        end()
        guard !isSilent else { return }
        timer = loop.schedule(after: .seconds(2)) { [self] in show(text, until: deadline) }
    }

    func end() {
        if let timer { loop.cancel(timer) }
        timer = nil
        if isShown, Console.isTerminal { Console.write("\r\u{1B}[K") }
        isShown = false
    }

    private func show(_ text: String, until deadline: Microseconds) {
        let left = "\(text), \(Int(saturating: max(0, (deadline - loop.now).seconds).rounded(.up))) s left; Ctrl-C ends"
        if Console.isTerminal { Console.replaceLine(left) } else { Console.line(left) }
        isShown = true
        timer = Console.isTerminal ? loop.schedule(after: .seconds(1)) { [self] in show(text, until: deadline) } : nil
    }
}
