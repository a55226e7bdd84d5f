import Packets

/// HFP's audio connection on a synchronous connection of the link.
extension ProfileSession {
    /// Whether there is one, or will be.
    public var hasAudio: Bool { core.hasAudio }
    /// Packets of HCI on the present audio connection, or the last one.
    public var voicePacketsSent: Int { audio?.sent ?? 0 }
    public var voicePacketsReceived: Int { audio?.received ?? 0 }
    public var voicePacketsDoubtful: Int { audio?.doubtful ?? 0 }

    /// Ends it, and waits until it has ended.
    public func endAudio() async throws {
        let last = audio
        perform(core.endAudio())
        try await last?.disconnect()
    }

    func synchronousSettings(for type: LinkType) -> SynchronousSettings? { isOver ? nil : core.synchronousSettings(for: type) }

    func openAudio(_ settings: [SynchronousSettings]) async throws {
        do {
            guard let connection else { throw HostError.misuse(.notConnected) }
            // AES-CCM does not protect SCO, so there is none beside it.
            try await connection.openSynchronous(connection.usesAESCCM ? settings.filter(\.allowsESCO) : settings)
        } catch let error as HostError {
            perform(core.audioFailed("\(error)"))
        }
    }

    func opened(_ connection: SynchronousConnection) {
        guard !isOver else { return }
        audio = connection
        connection.onReceive = { [unowned self] octets in
            core.receive(voice: octets)
        }
        connection.onEnd = { [unowned self] in
            voice = core.voice
            perform(core.audioClosed())
        }
        perform(core.audioOpened(isExtended: connection.isExtended, at: loop.now))
    }
}
