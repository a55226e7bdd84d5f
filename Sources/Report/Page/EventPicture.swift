import BBPackets
import BBThroughput

/// Connection events, one line per interval and link: packets of the central above, packets of the peripheral below.
struct EventPicture {
    private let timeline: EventTimeline

    init(_ timeline: EventTimeline) { self.timeline = timeline }

    var html: String {
        let span = max(1, timeline.interval.rawValue)
        let links = Set(timeline.packets.map(\.link)).sorted()
        let count = Int((timeline.packets.map(\.at.rawValue).max() ?? -1) / span) + 1
        return (0..<max(0, count)).flatMap { index in links.map { line(index, $0, of: links.count, span) } }.joined()
    }

    private func line(_ index: Int, _ link: Int, of links: Int, _ span: Int64) -> String {
        let begin = Int64(index) * span
        let packets = timeline.packets.filter { $0.link == link && (begin..<begin + span).contains($0.at.rawValue) }
        let busy = packets.reduce(0) { $0 + $1.length.rawValue }
        let (down, up) = (packets.count { $0.isFromCentral && $0.octets > 0 }, packets.count { !$0.isFromCentral && $0.octets > 0 })
        let name = "+\(HeatMap.figure(Double(begin) / 1_000)) ms" + (links > 1 ? ", link \(link)" : "")
        let words = "\(down) packets with data from the central, \(up) from the peripheral, \(packets.count - down - up) empty"
        return """
            <div class="bar" title="\(name): \(words)"><span class="name">\(name)</span>\
            <svg class="chart" viewBox="0 0 1000 17" preserveAspectRatio="none" role="img" aria-label="\(words)">\
            \(packets.map { box($0, begin, span) }.joined())</svg>\
            <span class="figure">\(down) ↓ \(up) ↑</span><span class="limit">on the air \(JUnit.decimal(Double(busy) / Double(span) * 100, places: 0)) %</span></div>
            """
    }

    private func box(_ packet: EventTimeline.Packet, _ begin: Int64, _ span: Int64) -> String {
        func place(_ time: Int64) -> String { JUnit.decimal(Double(time) / Double(span) * 1_000, places: 1) }
        let style = packet.octets > 0 ? "goodput" : "c-air"
        return #"<rect class="\#(style)" x="\#(place(packet.at.rawValue - begin))" y="\#(packet.isFromCentral ? 1 : 9)" "#
            + #"width="\#(place(packet.length.rawValue))" height="7"/>"#
    }
}
