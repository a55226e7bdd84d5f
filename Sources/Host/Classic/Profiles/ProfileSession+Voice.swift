import BBPackets

/// HFP's audio connection on a synchronous connection of the link.
extension ProfileSession {
    /// True if an audio connection is open or being opened.
    public var hasAudio: Bool { core.hasAudio }
    /// Number of HCI packets on the current or last audio connection.
    public var voicePacketsSent: Int { audio?.sent ?? 0 }
    public var voicePacketsReceived: Int { audio?.received ?? 0 }
    public var voicePacketsDoubtful: Int { audio?.doubtful ?? 0 }

    /// Closes the audio connection and waits until it has ended.
    public func endAudio() async throws {
        let last = audio
        perform(core.endAudio())
        try await last?.disconnect()
    }

    func synchronousSettings(for type: LinkType) -> SynchronousSettings? { isOver ? nil : core.synchronousSettings(for: type) }

    func openAudio(_ settings: [SynchronousSettings]) async throws {
        do {
            guard let connection else { throw HostError.misuse(.notConnected) }
            // AES-CCM does not protect SCO, so SCO settings are not used with it.
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
