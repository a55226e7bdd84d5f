import BBPackets
import BBTiming

/// Data channels that a central considers usable by itself. Core Vol 6, Part B, 4.5.8.1.
final class AdaptiveChannels {
    private unowned let le: LEController
    private var timer: AirTimer!
    private var turn = 0

    init(_ le: LEController) {
        self.le = le
        timer = AirTimer(on: le.radio.air.loop) { [unowned self] in reassess() }
    }

    private var choices: ControllerChoices { le.configuration.choices }

    /// Bit n is channel n. With a period, a changing set of six channels is excluded.
    var usable: UInt64 {
        guard choices.channelMapPeriod > 0 else { return choices.channels }
        let bad = (0..<6).reduce(0) { $0 | UInt64(1) << UInt64((turn * 7 + $1) % 37) }
        return choices.channels & ~bad
    }

    /// Called when a link starts.
    func begin() {
        if choices.channelMapPeriod > 0, !timer.isSet { timer.set(at: le.radio.air.loop.now + choices.channelMapPeriod) }
    }

    func stop() { timer.cancel() }

    private func reassess() {
        turn += 1
        guard !le.links.isEmpty else { return }
        le.applyChannels()
        begin()
    }
}
