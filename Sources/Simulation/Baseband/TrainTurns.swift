import BBPackets
import BBTiming

/// Radio access of an inquirer or a pager: ID packets are sent in even slots between the reservations of others. After each train the radio
/// is offered to waiting activities for the duration of a train. Core Vol 2, Part B, 8.3.2 and 8.4.2.
final class TrainTurns {
    /// Duration of one train in ticks: 16 slots.
    static let ticksPerTrain = 16 * 2

    private let clock: NativeClock
    private let radio: Radio
    /// Tick of the first train.
    private(set) var firstTick = 0
    /// Tick in which the current train started.
    private var trainStart = 0
    private var timer: AirTimer!

    private var loop: RunLoop { radio.air.loop }

    /// - Parameter isDue: called when the radio should be taken back after a train's duration.
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

    /// Takes the radio back for the next train.
    ///
    /// - Returns: the tick to continue with; nil if another activity has the radio. `radioIsFree()` is then called later.
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

    /// Plans the next ID packet.
    ///
    /// - Returns: tick of the activity's next ID packet, at least `tick`; nil if the radio is given away for a train's duration.
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
