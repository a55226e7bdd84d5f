import BBPackets
import BBTiming

/// The log of the product during a run. A boot banner in the middle of a case shows that the product has restarted.
public final class ProductLog {
    let buffer: LogBuffer
    private var reader: LogReader?
    private let bootLines: [LinearPattern]
    private var excerpt = LogExcerpt()
    private var restarts: [LogExcerpt.Line] = []
    private var restartBefore: String?
    private var isInCase = false
    /// Remarks about the log itself, such as its end.
    public private(set) var remarks: [String] = []

    /// A product that was reset by a command may print its banner this long after it.
    private static let bootTime = Microseconds.seconds(5)

    /// The banners of Zephyr, MCUboot, ESP-IDF, U-Boot, NuttX and Linux.
    public static let standardBootLines = [
        #"\*\*\* Booting "#, #"Starting bootloader"#, #"^ESP-ROM:"#, #"^rst:0x[0-9a-f]+ \("#, #"^ets [A-Z][a-z]{2} +\d"#, #"^U-Boot \d"#,
        #"^NuttShell \("#, #"Linux version \d"#,
    ]

    /// - Parameter bootLine: a regular expression for the product's banner; nil for `standardBootLines`.
    public init(bootLine: String? = nil) throws(LinearPattern.Malformed) {
        bootLines = try (bootLine.map { [$0] } ?? Self.standardBootLines).map { text throws(LinearPattern.Malformed) in
            try LinearPattern(text)
        }
        buffer = LogBuffer()
    }

    /// Starts reading. Problems with the log are remarks of the run, and do not end it.
    public func open(_ source: LogSource) { reader = LogReader(source, into: buffer) }

    public func close() {
        reader?.stop()
        reader = nil
        remarks += buffer.takeRemarks()
    }

    /// Discards lines from before the case.
    ///
    /// - Parameter commandEnd: the end of the last command that may have reset the product.
    package func beginCase(after commandEnd: Microseconds?) {
        (excerpt, restarts, restartBefore) = (LogExcerpt(), [], nil)
        isInCase = true
        restartBefore = buffer.take().lines.last { isBanner($0, after: commandEnd) }?.text
    }

    /// Reads the lines that have arrived. In virtual time they have the current time of the loop, in real time that of their arrival.
    package func read(on loop: RunLoop, after commandEnd: Microseconds?) {
        guard isInCase else { return }
        let (lines, dropped) = buffer.take()
        for line in lines {
            let time = loop.mode == .wall ? line.arrived - loop.origin : loop.now
            let row = LogExcerpt.Line(milliseconds: time.milliseconds, text: line.text)
            excerpt.add(row)
            if isBanner(line, after: commandEnd) { restarts.append(row) }
        }
        excerpt.drop(dropped)
    }

    private func isBanner(_ line: LogBuffer.Line, after commandEnd: Microseconds?) -> Bool {
        if let commandEnd, line.arrived < commandEnd + Self.bootTime { return false }
        return bootLines.contains { $0.matches(line.text) }
    }

    /// The log of a case.
    package struct CaseEnd {
        /// The lines; nil if there are none.
        package var excerpt: LogExcerpt?
        /// Remarks about the log itself.
        package var remarks: [String] = []
        /// The banner of a restart before the case.
        package var restartBefore: String?
        /// The banners in the case.
        package var restarts: [LogExcerpt.Line] = []
    }

    /// Ends a case and returns its log.
    package func endCase() -> CaseEnd {
        isInCase = false
        let news = buffer.takeRemarks()
        remarks += news
        return CaseEnd(
            excerpt: excerpt.lines.isEmpty && excerpt.omitted == 0 ? nil : excerpt, remarks: news, restartBefore: restartBefore,
            restarts: restarts)
    }
}
