import BBPackets
import BBTiming

/// The events of periodic advertising: AUX_SYNC_IND and its AUX_CHAIN_INDs at a fixed interval. Core Vol 6, Part B, 4.4.2.12.
final class PeriodicTrain: RadioActivity {
    /// Properties that do not change while the train runs.
    struct Course {
        var interval: Microseconds
        /// The start of the first event.
        var start: Microseconds
        var accessAddress: UInt32
        var crcInit: UInt32
        /// Actual drift of the sleep clock, in ppm.
        var drift: Int
        /// Advertised accuracy of the sleep clock, in ppm.
        var accuracy: Int
        var power: Int8
    }

    /// Advertising_Handle of the set.
    let handle: UInt8
    let course: Course
    /// Used from the next event on.
    var content: PeriodicContent
    private var channels: ChannelMap
    /// A channel map and the event from which it is used.
    private var change: (channels: ChannelMap, event: Int)?
    /// A channel map that follows once `change` is in use.
    private var wanted: ChannelMap?
    private let selection: ChannelSelectionAlgorithm2
    private let clock: AnchorClock
    private let radio: Radio
    private let quirks: ControllerQuirks
    private var random: RandomSource
    /// Number of the next event, or of the one under way; the low 16 bits are paEventCounter.
    private var event = 0
    private var missed = 0
    private var plan: [ExtendedEventPlan.Part] = []
    private var next = 0
    private var timer: AirTimer!

    /// Events in which a new channel map is announced before it is used, so that a sync that skips some hears of it.
    private static let eventsToInstant = 32

    private var loop: RunLoop { radio.air.loop }
    var priority: Int { RadioPriority.periodicAdvertising + missed }

    init(
        _ handle: UInt8, _ content: PeriodicContent, _ course: Course, channels: ChannelMap, radio: Radio, quirks: ControllerQuirks,
        random: RandomSource
    ) {
        self.handle = handle
        self.content = content
        self.course = course
        self.channels = channels
        self.radio = radio
        self.quirks = quirks
        self.random = random
        selection = ChannelSelectionAlgorithm2(accessAddress: course.accessAddress)
        clock = AnchorClock(first: course.start, interval: course.interval, drift: course.drift)
        timer = AirTimer(on: radio.air.loop) { [unowned self] in begin() }
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func start() { schedule() }

    /// Stops without further events.
    func stop() {
        timer.cancel()
        radio.forget(self)
    }

    /// Uses other channels from an instant on, which the events before it announce.
    func use(_ map: ChannelMap) {
        guard map.used.count >= 2 else { return }
        wanted = map
        announce()
    }

    /// An announced map is used at its instant before another one is announced.
    private func announce() {
        guard change == nil, let map = wanted else { return }
        wanted = nil
        if map != channels { change = (map, event + Self.eventsToInstant) }
    }

    private var update: PeriodicChannelMapUpdate? {
        change.map { PeriodicChannelMapUpdate(channels: $0.channels, instant: UInt16(truncatingIfNeeded: $0.event)) }
    }

    /// SyncInfo for a packet that starts at `start` and whose event ends at `end`: it names the first event after that.
    func syncInfo(from start: Microseconds, after end: Microseconds) -> SyncInfo {
        var named = event
        while clock.anchor(of: named) < end + minimumAuxiliaryFrameSpace { named += 1 }
        let error: Microseconds = quirks.periodic.contains(.misplacesTrain) ? 600 : .zero
        return SyncInfo(
            offset: SyncInfo.told(clock.anchor(of: named) - start - error), interval: course.interval,
            channels: change.map { named >= $0.event ? $0.channels : channels } ?? channels, clockAccuracy: course.accuracy,
            accessAddress: course.accessAddress, crcInit: course.crcInit,
            counter: UInt16(truncatingIfNeeded: named))
    }

    // MARK: Events

    private func schedule() {
        let start = clock.anchor(of: event)
        radio.reserve(self, at: start)
        timer.set(at: start)
    }

    private func begin() {
        radio.reserve(self, at: nil)
        if let change, event >= change.event {
            channels = change.channels
            self.change = nil
            announce()
        }
        guard radio.acquire(self) else {
            missed += 1
            return proceed()
        }
        plan = makePlan(at: loop.now)
        send(0)
    }

    private func proceed() {
        event += 1
        schedule()
    }

    private func makePlan(at start: Microseconds) -> [ExtendedEventPlan.Part] {
        let first = content.header(update)
        var parts: [ExtendedEventPlan.Part] = []
        for (index, piece) in content.pieces(update).enumerated() {
            var header = index == 0 ? first : ExtendedHeader()
            header.data = piece
            let channel =
                index == 0
                ? selection.channel(counter: UInt16(truncatingIfNeeded: event), map: channels)
                : ChannelIndex(channels.used[Int(random.next() % UInt64(channels.used.count))])
            if index > 0 {
                parts[index - 1].header.auxiliaryPointer = AuxiliaryPointer(
                    channel: channel.rawValue, offset: content.step, phy: content.phy)
            }
            parts.append(ExtendedEventPlan.Part(header: header, channel: channel, start: start + content.step * index))
        }
        return parts
    }

    private func send(_ index: Int) {
        next = index + 1
        let part = plan[index]
        let tuning = Tuning(channel: part.channel, phy: content.phy, accessAddress: course.accessAddress, crcInit: course.crcInit)
        let packet = LEPacket(
            part.header.pdu().air, tuning, phy: AirPHY(content.phy), kind: .auxiliary, power: course.power, crcOctets: quirks.crcOctets)
        radio.transmit(packet, at: part.start)
    }

    func transmitted(at end: Microseconds) {
        if next < plan.count { return send(next) }
        missed = 0
        radio.release(self)
        proceed()
    }

    func windowClosed() {}

    func preempted() {
        missed += 1
        proceed()
    }
}
