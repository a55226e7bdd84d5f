import BBPackets

/// Loads a patch into a Realtek chip: selects it by ROM version, sends it in fragments, resets the chip and reads the new version.
struct RealtekLoader: FirmwareProcedure {
    private enum State {
        case atStart
        case awaitingROMVersion(RealtekChip)
        case awaitingFiles(RealtekChip, romVersion: UInt8)
        case awaitingKey(RealtekChip, romVersion: UInt8, RealtekImage, Files)
        case downloading(Download)
        /// The first HCI_Reset of the new firmware may remain unanswered.
        case awaitingReset(Files, isRepeated: Bool)
        case awaitingNewVersion(Files)
        case ended
    }

    private struct Files {
        var chip: RealtekChip
        var image: FirmwareFile
        var companion: FirmwareFile?
    }

    private struct Download {
        var files: Files
        var payload: [UInt8]
        var fragment = 0

        /// A payload that fills its last fragment is followed by an empty one.
        var count: Int { payload.count / RealtekLoader.fragmentLength + 1 }
        var isLast: Bool { fragment == count - 1 }
        var step: FirmwareStep { .download(fragment: fragment + 1, of: count) }

        var command: HCICommands.RealtekDownload {
            let start = fragment * RealtekLoader.fragmentLength
            return HCICommands.RealtekDownload(
                index: RealtekLoader.index(of: fragment) | (isLast ? 0x80 : 0),
                data: Array(payload[start..<min(start + RealtekLoader.fragmentLength, payload.count)]))
        }
    }

    static let fragmentLength = 252
    /// Register with the key identifier of the signed parts.
    static let keyRegister = HCICommands.RealtekReadRegister(width: 0x10, address: 0xB000_ADA4)

    private let version: HCICommands.ReadLocalVersionInformation.Return
    private var state = State.atStart

    /// - Parameter version: version information of the dongle.
    init(_ version: HCICommands.ReadLocalVersionInformation.Return) { self.version = version }

    /// Fragment index: 0...127, then 1...127 repeatedly.
    static func index(of fragment: Int) -> UInt8 { UInt8(fragment < 0x80 ? fragment : (fragment - 1) % 0x7F + 1) }

    mutating func start() -> [FirmwareAction] {
        guard let chip = RealtekChip.find(version) else {
            return end(.done(.running(chip: "Realtek chip", version: Self.text(version))))
        }
        guard chip.hasROMVersion else {
            state = .awaitingFiles(chip, romVersion: 0)
            return [.read(chip.need)]
        }
        state = .awaitingROMVersion(chip)
        return [.ask(HCICommands.RealtekReadROMVersion())]
    }

    mutating func received(_ event: FirmwareEvent) -> [FirmwareAction] {
        switch state {
        case .atStart, .awaitingFiles, .ended: return []
        case .awaitingROMVersion(let chip):
            guard let answer = event.returns(of: HCICommands.RealtekReadROMVersion.self) else { return [] }
            guard answer.status == .success else { return end(.fail(.refused(.romVersion, answer.status))) }
            state = .awaitingFiles(chip, romVersion: answer.romVersion)
            return [.read(chip.need)]
        case .awaitingKey(_, let romVersion, let image, let files):
            guard let answer = event.returns(of: HCICommands.RealtekReadRegister.self) else { return [] }
            // A ROM without this register has no keys.
            return download(image, romVersion, key: answer.status == .success ? UInt8(answer.value & 0xFF) : 0, files)
        case .downloading(let download): return sent(download, event)
        case .awaitingReset(let files, _):
            guard let status = event.status(of: HCICommands.Reset.opcode) else { return [] }
            guard status == .success else { return end(.fail(.refused(.reset, status))) }
            state = .awaitingNewVersion(files)
            return [.ask(HCICommands.ReadLocalVersionInformation())]
        case .awaitingNewVersion(let files):
            guard let now = event.returns(of: HCICommands.ReadLocalVersionInformation.self) else { return [] }
            guard now.status == .success else { return end(.fail(.refused(.version, now.status))) }
            guard RealtekChip.find(now) == nil else { return end(.fail(.notRunning(chip: files.chip.name))) }
            return end(
                .done(
                    .loaded(
                        chip: files.chip.name, file: files.image.path, companion: files.companion?.path, version: Self.text(now))))
        }
    }

    mutating func found(_ image: FirmwareFile, _ companion: FirmwareFile?) -> [FirmwareAction] {
        guard case .awaitingFiles(let chip, let romVersion) = state else { return [] }
        let files = Files(chip: chip, image: image, companion: companion)
        do throws(FirmwareImageError) {
            let parsed = try RealtekImage(image.octets, for: chip)
            guard parsed.format == .sections else { return download(parsed, romVersion, key: 0, files) }
            state = .awaitingKey(chip, romVersion: romVersion, parsed, files)
            return [.ask(Self.keyRegister)]
        } catch {
            return end(.fail(.unusable(path: image.path, error)))
        }
    }

    mutating func timedOut() -> [FirmwareAction] {
        let step: FirmwareStep
        switch state {
        case .atStart, .awaitingFiles, .ended: return []
        case .awaitingROMVersion: step = .romVersion
        case .awaitingKey: step = .version
        case .downloading(let download): step = download.step
        case .awaitingReset(let files, isRepeated: false): return reset(files, isRepeated: true)
        case .awaitingReset: step = .reset
        case .awaitingNewVersion: step = .version
        }
        return end(.fail(.silent(step)))
    }

    /// Sends the patch, followed by the configuration. A chip with signed parts has its own configuration.
    private mutating func download(_ image: RealtekImage, _ romVersion: UInt8, key: UInt8, _ files: Files) -> [FirmwareAction] {
        var payload: [UInt8]
        do throws(FirmwareImageError) { payload = try image.payload(romVersion: romVersion, key: key) } catch {
            return end(.fail(.unusable(path: files.image.path, error)))
        }
        if key == 0, let companion = files.companion {
            do throws(FirmwareImageError) { try RealtekImage.checkConfiguration(companion.octets) } catch {
                return end(.fail(.unusable(path: companion.path, error)))
            }
            payload += companion.octets
        }
        let download = Download(files: files, payload: payload)
        state = .downloading(download)
        return [.ask(download.command)]
    }

    private mutating func sent(_ download: Download, _ event: FirmwareEvent) -> [FirmwareAction] {
        guard let status = event.status(of: HCICommands.RealtekDownload.opcode) else { return [] }
        guard status == .success else { return end(.fail(.refused(download.isLast ? .verification : download.step, status))) }
        guard !download.isLast else {
            return reset(download.files, isRepeated: false)
        }
        var next = download
        next.fragment += 1
        state = .downloading(next)
        return [.ask(next.command)]
    }

    private mutating func reset(_ files: Files, isRepeated: Bool) -> [FirmwareAction] {
        state = .awaitingReset(files, isRepeated: isRepeated)
        return [.ask(HCICommands.Reset())]
    }

    private mutating func end(_ action: FirmwareAction) -> [FirmwareAction] {
        state = .ended
        return [action]
    }

    /// Version of the running firmware, which replaces the ROM's.
    static func text(_ version: HCICommands.ReadLocalVersionInformation.Return) -> String {
        "0x" + hexadecimal(version.hciSubversion) + hexadecimal(version.lmpSubversion)
    }
}
