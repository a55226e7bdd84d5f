import BBPackets

/// Loads an image into an Intel controller in its boot loader, starts it and writes its configuration.
struct IntelLoader: FirmwareProcedure {
    private enum State {
        case awaitingVersion
        case awaitingBootParameters(IntelVersionReport)
        case awaitingFiles(IntelVersionReport)
        case sending(Job, fragment: Int)
        /// The image is sent; the boot loader verifies it.
        case awaitingVerdict(Job)
        case awaitingBoot(Job)
        case configuring(Job, entry: Int)
        case awaitingNewVersion(Job)
        /// Being reset into the boot loader after a failure.
        case abandoning(FirmwareError)
        case ended
    }

    private struct Job {
        var report: IntelVersionReport
        var image: IntelImage
        var imagePath: String
        var companionPath: String?
        var configuration: [[UInt8]] = []
        /// The verification result may arrive before the answer to the last fragment.
        var isAccepted = false

        func step(_ fragment: Int) -> FirmwareStep { .download(fragment: fragment + 1, of: image.fragments.count) }
    }

    /// Requests the full TLV list from newer generations; older ones ignore the parameter.
    static let everything: [UInt8] = [0xFF]
    static let verdictTimeout = Microseconds.seconds(5)
    static let bootTimeout = Microseconds.seconds(3)
    static let resetTimeout = Microseconds.milliseconds(150)

    private var state = State.awaitingVersion

    mutating func start() -> [FirmwareAction] { [.ask(HCICommands.IntelReadVersion(requested: Self.everything))] }

    mutating func received(_ event: FirmwareEvent) -> [FirmwareAction] {
        switch state {
        case .awaitingVersion: return identify(event)
        case .awaitingBootParameters(let report):
            guard let parameters = event.returns(of: HCICommands.IntelReadBootParameters.self) else { return [] }
            guard parameters.status == .success else { return end(.fail(.refused(.bootParameters, parameters.status))) }
            var report = report
            report.acknowledges = parameters.limitedCommandComplete == 0
            return ask(for: report, deviceRevision: parameters.deviceRevision)
        case .awaitingFiles, .abandoning, .ended: return []
        case .sending(let job, let fragment): return sent(job, fragment, event)
        case .awaitingVerdict(let job): return judged(job, event)
        case .awaitingBoot(let job):
            guard case .vendor(let data) = event, data.first == 0x02 else { return [] }
            return [.useBulkPipe(false)] + configure(job, from: 0)
        case .configuring(let job, let entry):
            guard let status = event.status(of: HCICommands.IntelWriteDDC.opcode) else { return [] }
            guard status == .success else { return end(.fail(.refused(.configuration, status))) }
            return configure(job, from: entry + 1)
        case .awaitingNewVersion(let job): return conclude(job, event)
        }
    }

    mutating func found(_ image: FirmwareFile, _ companion: FirmwareFile?) -> [FirmwareAction] {
        guard case .awaitingFiles(let report) = state else { return [] }
        var layout = IntelImage.Layout.single
        if case .byParts = report.naming { layout = report.engine == 0 ? .firstOfTwo : .secondOfTwo }
        var path = image.path
        do throws(FirmwareImageError) {
            let parsed = try IntelImage(image.octets, layout)
            path = companion?.path ?? path
            let entries = try IntelImage.configuration(companion?.octets ?? [])
            let job = Job(
                report: report, image: parsed, imagePath: image.path, companionPath: companion?.path, configuration: entries)
            return [.useBulkPipe(true)] + send(job, 0)
        } catch {
            return end(.fail(.unusable(path: path, error)))
        }
    }

    mutating func timedOut() -> [FirmwareAction] {
        switch state {
        case .awaitingVersion: return end(.fail(.silent(.version)))
        case .awaitingBootParameters: return end(.fail(.silent(.bootParameters)))
        case .awaitingFiles, .ended: return []
        case .sending(let job, let fragment): return giveUp(.silent(job.step(fragment)))
        case .awaitingVerdict: return giveUp(.silent(.verification))
        case .awaitingBoot: return giveUp(.silent(.boot))
        case .configuring: return end(.fail(.silent(.configuration)))
        case .awaitingNewVersion: return end(.fail(.silent(.version)))
        case .abandoning(let error): return end(.fail(error))
        }
    }

    var abandonedFor: FirmwareError? {
        guard case .abandoning(let error) = state else { return nil }
        return error
    }

    // MARK: Steps

    private mutating func identify(_ event: FirmwareEvent) -> [FirmwareAction] {
        guard let answer = event.returns(of: HCICommands.IntelReadVersion.self) else { return [] }
        guard answer.status == .success else { return end(.fail(.refused(.version, answer.status))) }
        let report: IntelVersionReport
        do throws(FirmwareError) { report = try IntelVersionReport(answer.version) } catch { return end(.fail(error)) }
        switch report.mode {
        case .firmware: return end(.done(.running(chip: report.chip, version: report.build)))
        case .rom: return end(.done(.unpatched(chip: report.chip, note: "works from its ROM; patches for this generation are not loaded")))
        case .bootLoader:
            if case .byParts = report.naming { return ask(for: report, deviceRevision: 0) }
            state = .awaitingBootParameters(report)
            return [.ask(HCICommands.IntelReadBootParameters())]
        }
    }

    private mutating func ask(for report: IntelVersionReport, deviceRevision: UInt16) -> [FirmwareAction] {
        guard report.acknowledges, report.engine <= 1 else {
            return end(.fail(.unsupported("the boot loader of this \(report.chip) wants its firmware in a way that is not supported")))
        }
        state = .awaitingFiles(report)
        return [.read(report.need(deviceRevision: deviceRevision))]
    }

    private mutating func send(_ job: Job, _ fragment: Int) -> [FirmwareAction] {
        guard fragment < job.image.fragments.count else {
            guard !job.isAccepted else { return boot(job) }
            state = .awaitingVerdict(job)
            return [.wait(Self.verdictTimeout)]
        }
        state = .sending(job, fragment: fragment)
        let piece = job.image.fragments[fragment]
        return [.ask(HCICommands.IntelSecureSend(fragmentType: piece.kind, data: Array(job.image.octets[piece.range])))]
    }

    private mutating func sent(_ job: Job, _ fragment: Int, _ event: FirmwareEvent) -> [FirmwareAction] {
        if let verdict = Self.verdict(event) {
            guard verdict.isGood else { return giveUp(.refused(.verification, verdict.code)) }
            var job = job
            job.isAccepted = true
            state = .sending(job, fragment: fragment)
            return []
        }
        guard let status = event.status(of: HCICommands.IntelSecureSend.opcode) else { return [] }
        guard status == .success else { return giveUp(.refused(job.step(fragment), status)) }
        return send(job, fragment + 1)
    }

    private mutating func judged(_ job: Job, _ event: FirmwareEvent) -> [FirmwareAction] {
        guard let verdict = Self.verdict(event) else { return [] }
        guard verdict.isGood else { return giveUp(.refused(.verification, verdict.code)) }
        return boot(job)
    }

    private mutating func boot(_ job: Job) -> [FirmwareAction] {
        state = .awaitingBoot(job)
        let reset = HCICommands.IntelReset(
            resetType: 0, patchEnable: 1, ddcReload: 0, bootOption: 1, bootAddress: job.image.bootAddress)
        return [.ask(reset, timeout: Self.bootTimeout)]
    }

    private mutating func configure(_ job: Job, from entry: Int) -> [FirmwareAction] {
        guard entry < job.configuration.count else {
            state = .awaitingNewVersion(job)
            return start()
        }
        state = .configuring(job, entry: entry)
        return [.ask(HCICommands.IntelWriteDDC(entry: job.configuration[entry]))]
    }

    private mutating func conclude(_ job: Job, _ event: FirmwareEvent) -> [FirmwareAction] {
        guard let answer = event.returns(of: HCICommands.IntelReadVersion.self) else { return [] }
        guard answer.status == .success, let report = try? IntelVersionReport(answer.version), report.mode == .firmware else {
            return end(.fail(.notRunning(chip: job.report.chip)))
        }
        return end(.done(.loaded(chip: job.report.chip, file: job.imagePath, companion: job.companionPath, version: report.build)))
    }

    /// Resets the chip into its boot loader, so that the next start can load it again. There is no answer; the chip may leave the bus
    /// briefly.
    private mutating func giveUp(_ error: FirmwareError) -> [FirmwareAction] {
        let reset = HCICommands.IntelReset(resetType: 1, patchEnable: 1, ddcReload: 1, bootOption: 0, bootAddress: 0)
        state = .abandoning(error)
        return [.ask(reset, timeout: Self.resetTimeout)]
    }

    private mutating func end(_ action: FirmwareAction) -> [FirmwareAction] {
        state = .ended
        return [action]
    }

    private static func verdict(_ event: FirmwareEvent) -> (isGood: Bool, code: ErrorCode)? {
        guard case .vendor(let data) = event, data.first == 0x06,
            let result = try? Structures.IntelSecureSendResult(parameters: Array(data.dropFirst()))
        else { return nil }
        return (result.result == 0 && result.status == .success, result.status)
    }
}
