import Packets
import Timing

/// The turns of an inquirer or a pager at the radio: ID packets go out in even slots, between the reservations of others, and after each train the radio
/// is offered to those that wait for it; whoever takes it has it for as long. Core Vol 2, Part B, 8.3.2 and 8.4.2.
final class TrainTurns {
    /// How long it takes to send a train once: 16 slots, in ticks.
    static let ticksPerTrain = 16 * 2

    private let clock: NativeClock
    private let radio: Radio
    /// The first tick of all.
    private(set) var firstTick = 0
    /// The tick in which the train under way began.
    private var trainStart = 0
    private var timer: AirTimer!

    private var loop: RunLoop { radio.air.loop }

    /// - Parameter isDue: the radio was given to others for a train, and is to be taken back.
    init(clock: NativeClock, radio: Radio, isDue: @escaping () -> Void) {
        self.clock = clock
        self.radio = radio
        timer = AirTimer(on: radio.air.loop, isDue)
    }

    func begin() {
        firstTick = (clock.tick(at: loop.now) + 4) & ~3
        trainStart = firstTick
    }

    func stop() { timer.cancel() }

    /// - Returns: the tick to go on with; nil when the radio is somebody else's: then the activity hears `radioIsFree()`.
    func takeRadio(for activity: any RadioActivity) -> Int? {
        guard radio.acquire(activity) else {
            radio.wait(activity)
            return nil
        }
        timer.cancel()
        radio.reserve(activity, at: nil)
        let now = max(clock.tick(at: loop.now), firstTick)
        if now - trainStart >= Self.ticksPerTrain { trainStart = now }
        return clock.start(of: now) < loop.now ? now + 1 : now
    }

    /// - Returns: the tick in which the activity's next ID packet goes out, `tick` at the earliest; nil when the radio is somebody else's for a train.
    func nextTick(from tick: Int, for activity: any RadioActivity) -> Int? {
        var tick = tick
        while true {
            if tick - trainStart >= Self.ticksPerTrain {
                guard let next = yieldRadio(at: tick, for: activity) else { return nil }
                tick = next
            }
            tick = tick & 2 == 0 ? tick : (tick | 1) + 1
            let start = clock.start(of: tick)
            let reservation = radio.nextReservation(besides: activity)
            guard start <= reservation, reservation < start + BREDRPacket.idAirTime else { return tick }
            tick += 1
        }
    }

    private func yieldRadio(at tick: Int, for activity: any RadioActivity) -> Int? {
        radio.release(activity)
        guard radio.owner != nil else {
            trainStart = tick
            return takeRadio(for: activity)
        }
        let next = clock.start(of: tick + Self.ticksPerTrain)
        timer.set(at: next)
        radio.reserve(activity, at: next)
        return nil
    }
}
