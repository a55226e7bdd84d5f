import BBTiming
import Foundation

// Entry points of libFuzzer. FUZZ_TARGET names the target; FUZZ_SEEDS names a folder to write the target's seeds to, which ends the
// program. FUZZ_TARGET=all prints the names of the targets.

// FUZZ_RUNS is a number of inputs to run without the fuzzer's guidance.

private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    let names = FuzzTarget.all.map(\.name).joined(separator: " ")
    if name == "all" {
        print(names)
        exit(0)
    }
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        complain("FUZZ_TARGET is one of " + names)
        exit(2)
    }
    return target
}()

@_cdecl("LLVMFuzzerInitialize")
public func fuzzerInitialize(_: UnsafeMutablePointer<Int32>, _: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>)
    -> Int32
{
    guard let folder = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    do {
        for (index, seed) in target.seeds().enumerated() {
            try Data(seed).write(to: URL(fileURLWithPath: folder).appendingPathComponent("seed-\(index)"))
        }
    } catch {
        complain("\(error)")
        exit(3)
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzerTestOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    do {
        try target.run([UInt8](UnsafeBufferPointer(start: data, count: size)))
    } catch {
        // A broken promise rather than a problem of the fuzzer.
        complain("\(target.name): \(error)")
        abort()
    }
    return 0
}

@_cdecl("LLVMFuzzerCustomMutator")
public func fuzzerCustomMutator(_ data: UnsafeMutablePointer<UInt8>?, _ size: Int, _ room: Int, _ seed: UInt32) -> Int {
    guard let data else { return 0 }
    var random = RandomSource(seed: UInt64(seed))
    guard target.isFramed || target.isText, random.chance(0.8) else { return mutateBlindly(data, size, room) }
    var mutation = Mutation(target: target, random: random)
    let input = [UInt8](UnsafeBufferPointer(start: data, count: size))
    let result = target.isFramed ? mutation.changed(frames: input, room: room) : mutation.changed(whole: input, room: room)
    for (index, octet) in result.enumerated() { data[index] = octet }
    return result.count
}

@_silgen_name("LLVMFuzzerMutate")
private func mutateBlindly(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ room: Int) -> Int

/// Prints a line to standard error.
func complain(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

@main
struct Fuzz {
    static func main() {
        if let run = CountedRun(target, ProcessInfo.processInfo.environment) {
            do { try run.run() } catch {
                complain("\(target.name): \(error)")
                exit(1)
            }
            exit(0)
        }
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(runDriver(&count, &arguments, fuzzerTestOneInput))
    }
}
