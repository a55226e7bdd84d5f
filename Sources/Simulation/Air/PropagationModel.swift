import BBPackets
import BBTiming

/// Path loss and seeded packet loss between radios, per link and per channel.
final class PropagationModel {
    /// One direction between two radios on one channel; nil matches all.
    struct Path: Hashable {
        var source: Int?
        var destination: Int?
        var channel: RadioChannel?
    }

    struct Loss {
        /// Probability, 0...1, that a packet arrives with a bad CRC.
        var corrupted = 0.0
        /// Probability, 0...1, that a packet is not detected at all.
        var unnoticed = 0.0
    }

    enum Outcome {
        case received
        case corrupted
        case unnoticed
    }

    /// Default path loss in dB, for paths without an entry of their own.
    var pathLoss = 50
    /// Receiver sensitivity in dBm: weaker packets are not detected.
    var sensitivity = -97

    private var random: RandomSource
    private var losses: [Path: Loss] = [:]
    private var pathLosses: [Path: Int] = [:]

    init(seed: UInt64) { random = RandomSource(seed: seed, label: "fading") }

    func setLoss(_ loss: Loss, on path: Path) { losses[path] = loss }
    func setPathLoss(_ decibels: Int, on path: Path) { pathLosses[path] = decibels }

    func rssi(of transmission: Transmission, at radio: Radio) -> Int8 {
        let loss = pathLosses.isEmpty ? nil : lookUp(pathLosses, transmission, radio)
        return Int8(clamping: Int(transmission.power) - (loss ?? pathLoss))
    }

    func outcome(of transmission: Transmission, at radio: Radio, rssi: Int8) -> Outcome {
        guard Int(rssi) >= sensitivity else { return .unnoticed }
        guard !losses.isEmpty, let loss = lookUp(losses, transmission, radio) else { return .received }
        if random.chance(loss.unnoticed) { return .unnoticed }
        return random.chance(loss.corrupted) ? .corrupted : .received
    }

    /// The value of the most specific matching entry.
    private func lookUp<Value>(_ table: [Path: Value], _ transmission: Transmission, _ radio: Radio) -> Value? {
        let (source, destination) = (transmission.source.identifier, radio.identifier)
        let channel = transmission.tuning.channel
        return table[Path(source: source, destination: destination, channel: channel)] ?? table[
            Path(source: source, destination: destination)]
            ?? table[Path(channel: channel)] ?? table[Path(source: source)] ?? table[Path(destination: destination)] ?? table[Path()]
    }
}
