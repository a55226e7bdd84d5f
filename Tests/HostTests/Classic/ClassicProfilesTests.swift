import BBPackets
import Testing

@testable import BBHost

/// All profiles of a link on both devices: channels are opened and closed in the order in which the profiles request it.
@Suite struct ClassicProfilesTests {
    private static let sbc = SBCParameters(
        SBCCapabilities([.hz44100, .jointStereo], [.blocks16, .subbands8, .loudness], bitpool: 2...53))

    /// The initiating role, with the steps of both devices.
    @Test(arguments: [ClassicProfiles.Role.phone, .accessory])
    func everythingComesUp(_ role: ClassicProfiles.Role) throws {
        let parameters = try #require(Self.sbc)
        var link = ProfileLink(role, role == .phone ? .accessory : .phone)
        link.perform(0) { $0.connect([.a2dp, .hfp, .avrcp]) }
        let found = [ClassicProfile.a2dp, .hfp, .avrcp].map { ProfileStep.found($0) }
        let audio: [ProfileStep] = [.configured(parameters), .mediaOpen, .streaming]
        let calls: [ProfileStep] = [.serviceLevelConnection, .codec(.mSBC), .audio(.mSBC, isExtended: true)]
        let control = ProfileStep.remoteControl(role == .phone ? .volume(0x40) : .playbackStatus(0))
        #expect(Set(link.steps[0]) == Set(found + audio + calls + [control, .finished]))
        #expect(link.steps[0].filter(audio.contains) == audio && link.steps[0].filter(calls.contains) == calls)
        #expect(link.steps[1].filter((audio + calls).contains).count == 6)
        #expect(link.ends.allSatisfy { $0.pending.isEmpty })
        #expect(link.ends.map { end in ProfileChannel.allCases.filter { end.number(of: $0) != nil }.count } == [4, 4])

        let phone = role == .phone ? 0 : 1
        link.run(until: .seconds(1))
        let sent = try #require(link.ends[phone].source?.packetCount)
        let sink = try #require(link.ends[1 - phone].sink)
        // Five frames fit into a packet of 672 octets.
        #expect(sent == (44_100 + 639) / 640)
        #expect(sink.packets == sent && sink.frames == 5 * sent && sink.lost == 0 && sink.malformed == 0)
        // One mSBC frame every 7.5 ms.
        for end in link.ends {
            let voice = try #require(end.voice)
            #expect(voice.framesSent == 134 && voice.framesReceived == 134 && voice.framesLost == 0 && voice.malformed == 0)
        }
        link.perform(phone) { $0.endAudio() }
        #expect(link.steps.allSatisfy { $0.last == .audioEnded(.mSBC) } && link.ends.allSatisfy { !$0.hasAudio })
    }

    /// Frames are found however the data is split, and a missing frame is counted.
    @Test(arguments: [1, 24, 30, 48, 60, 255]) func framesOfVoiceAreFound(_ size: Int) {
        var sender = HFPVoice(.mSBC)
        sender.start(at: 0)
        var stream: [UInt8] = [0, 0, 1]
        for number in 0..<40 {
            let frame = sender.expire(at: Microseconds(number * 7_500)).joined()
            if number != 17 { stream += frame }
        }
        var taker = HFPVoice(.mSBC)
        for start in stride(from: 0, to: stream.count, by: size) { taker.receive(Array(stream[start..<min(stream.count, start + size)])) }
        #expect(taker.framesReceived == 39 && taker.framesLost == 1 && taker.malformed == 0)
    }

    /// Parameter sets of HFP 1.8, 5.7.1, by codec and by both devices' features; a unit without a connection accepts none.
    @Test func settingsOfVoice() {
        #expect(SynchronousSettings.offers(of: .mSBC, hasS4: true).map(\.maxLatency) == [13, 8])
        #expect(SynchronousSettings.offers(of: .cvsd, hasS4: true).map(\.maxLatency) == [12, 10, 7, 0xFFFF])
        #expect(SynchronousSettings.offers(of: .cvsd, hasS4: false).map(\.packetTypes) == [0x0380, 0x03C8, 0x03C4])
        #expect(ClassicProfiles(.accessory).synchronousSettings(for: .eSCO) == nil)
        var phone = ClassicProfiles(.phone)
        #expect(phone.audioOpened(isExtended: true, at: 0) == [.closeAudio])
        #expect(phone.openAudio(.mSBC) == [.openAudio([.t2, .t1])] && phone.openAudio(.mSBC).isEmpty)
        #expect(phone.audioFailed("no") == [.step(.audioRefused("no"))] && phone.audioFailed("no").isEmpty && !phone.hasAudio)
    }

    @Test(arguments: ClassicProfile.allCases)
    func oneProfileComesUpAlone(_ profile: ClassicProfile) {
        var link = ProfileLink(.phone, .accessory)
        link.perform(0) { $0.connect([profile]) }
        #expect(link.steps[0].first == .found(profile) && link.steps[0].contains(.finished))
        #expect(link.steps[0].allSatisfy { if case .failed = $0 { false } else { true } })
    }

    /// Two phones have only AVRCP in common, without volume.
    @Test func whatIsMissingIsSaid() {
        var link = ProfileLink(.phone, .phone)
        link.perform(0) { $0.connect([.a2dp, .hfp, .avrcp]) }
        #expect(link.steps[0] == [.missing(.a2dp), .missing(.hfp), .found(.avrcp), .finished])
    }

    @Test(arguments: ProfileChannel.allCases)
    func refusedChannelsAreReported(_ refused: ProfileChannel) {
        var link = ProfileLink(.phone, .accessory)
        link.refused = refused
        link.perform(0) { $0.connect([.a2dp, .hfp, .avrcp]) }
        let failures = link.steps[0].filter { if case .failed = $0 { true } else { false } }
        #expect(failures.count == 1)
        #expect(link.steps[0].contains(.finished) && link.ends[0].pending.isEmpty)
    }

    /// The peer does not respond on a channel: each profile times out by itself.
    @Test(arguments: [ProfileChannel.serial, .signaling, .control])
    func silenceEnds(_ silent: ProfileChannel) {
        var link = ProfileLink(.phone, .accessory)
        link.silent = silent
        link.perform(0) { $0.connect([.a2dp, .hfp, .avrcp]) }
        #expect(!link.ends[0].pending.isEmpty)
        link.run(until: .seconds(100))
        #expect(link.steps[0].contains(.finished) && link.ends[0].pending.isEmpty)
    }

    @Test func discoveryThatFailsEndsEverything() {
        var profiles = ClassicProfiles(.phone)
        #expect(profiles.connect([.a2dp, .hfp]) == [.discover])
        #expect(profiles.discoveryFailed("gone") == [.step(.failed(.a2dp, "gone")), .step(.failed(.hfp, "gone")), .step(.finished)])
    }

    /// A profile that is not offered has no record, and its channels have no purpose.
    @Test(arguments: ClassicProfile.allCases)
    func whatIsOfferedIsAccepted(_ profile: ClassicProfile) {
        let profiles = ClassicProfiles(.accessory, offers: [profile])
        let records = ClassicProfiles.records(of: .accessory, [profile], serverChannel: 4)
        #expect(records.count == (profile == .avrcp ? 2 : 1))
        #expect(records.compactMap(\.rfcommChannel) == (profile == .hfp ? [4] : []))
        #expect(profiles.purpose(ofPSM: PSM.avdtp) == (profile == .a2dp ? .signaling : nil))
        #expect(profiles.purpose(ofPSM: PSM.avctp) == (profile == .avrcp ? .control : nil))
    }

    @Test func mediaThatIsGoneEndsTheStream() throws {
        var link = ProfileLink(.phone, .accessory)
        link.perform(0) { $0.connect([.a2dp]) }
        let media = try #require(link.ends[0].number(of: .media))
        link.perform(0) { $0.channelClosed(media, at: 0) }
        link.perform(1) { $0.channelClosed(media, at: 0) }
        #expect(link.steps.allSatisfy { $0.last == .streamEnded })
        #expect(link.ends[0].deadline == nil)
        // It can be set up again.
        let signaling = try #require(link.ends[0].number(of: .signaling))
        for end in 0..<2 { link.perform(end) { $0.channelClosed(signaling, at: 0) } }
        link.perform(0) { $0.connect([.a2dp]) }
        #expect(link.steps[0].last == .finished)
    }
}

/// Both ends of a link, with the channels between them.
private struct ProfileLink {
    var ends: [ClassicProfiles]
    var steps: [[ProfileStep]] = [[], []]
    var refused: ProfileChannel?
    var silent: ProfileChannel?
    private var next = 1
    private var now = Microseconds.zero

    init(_ one: ClassicProfiles.Role, _ other: ClassicProfiles.Role) { ends = [ClassicProfiles(one), ClassicProfiles(other)] }

    mutating func perform(_ end: Int, _ event: (inout ClassicProfiles) -> [ProfileAction]) {
        var mail = event(&ends[end]).map { (end, $0) }
        var left = 100_000
        while !mail.isEmpty, left > 0 {
            left -= 1
            let (from, action) = mail.removeFirst()
            mail += take(action, from)
        }
        #expect(left > 0)
    }

    private mutating func take(_ action: ProfileAction, _ from: Int) -> [(Int, ProfileAction)] {
        let to = 1 - from
        switch action {
        case .step(let step): steps[from].append(step)
        case .discover:
            let records = ClassicProfiles.records(of: ends[to].role, ends[to].offered, serverChannel: 3)
            return ends[from].discovered(records).map { (from, $0) }
        case .open(let purpose):
            let use = purpose.psm.map { ends[to].purpose(ofPSM: $0) } ?? (ends[from].peerServerChannel == 3 ? .serial : nil)
            guard purpose != refused, use == purpose else { return ends[from].channelFailed(purpose, at: now).map { (from, $0) } }
            let number = next
            next += 1
            let accepted = ends[to].channelAccepted(number, purpose, mtu: 672, at: now).map { (to, $0) }
            return accepted + ends[from].channelOpened(number, purpose, mtu: 672, at: now).map { (from, $0) }
        case .send(let number, let octets):
            if let silent, ends[to].channels[number]?.purpose == silent { return [] }
            return ends[to].receive(number, octets, at: now).map { (to, $0) }
        case .close(let number):
            let own = ends[from].channelClosed(number, at: now).map { (from, $0) }
            return own + ends[to].channelClosed(number, at: now).map { (to, $0) }
        case .openAudio(let settings):
            guard ends[to].synchronousSettings(for: .eSCO)?.voiceSetting == settings.first?.voiceSetting else {
                return ends[from].audioFailed("refused").map { (from, $0) }
            }
            return [to, from].flatMap { end in ends[end].audioOpened(isExtended: true, at: now).map { (end, $0) } }
        case .sendVoice(let octets): ends[to].receive(voice: octets)
        case .closeAudio: return [from, to].flatMap { end in ends[end].audioClosed().map { (end, $0) } }
        }
        return []
    }

    /// Handles everything that is due before a time, in order.
    mutating func run(until end: Microseconds) {
        for _ in 0..<10_000 {
            let due = ends.compactMap(\.deadline).min() ?? .never
            guard due < end else { break }
            now = max(now, due)
            for index in 0..<2 { perform(index) { [now] in $0.expire(at: now) } }
        }
        now = end
    }
}
