import Foundation
import PackagePlugin

/// Runs PDUGenerator over the YAML files under the target's `PDUs` folder.
@main
struct GeneratePDUs: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) async throws -> [Command] {
        let root = target.directoryURL.appending(path: "PDUs", directoryHint: .isDirectory)
        guard let walk = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil) else { return [] }
        let inputs = walk.compactMap { $0 as? URL }.filter { $0.pathExtension == "yaml" }.sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL
        let generator = try context.tool(named: "PDUGenerator").url
        var stems = ["NamedTypes"] + inputs.map { stem(of: $0.path, under: root.path) }.filter { $0 != "NamedTypes" }
        stems.sort()
        var outputs = stems.flatMap { ["\($0).codec.swift", "\($0).description.swift"] }
        outputs += ["Messages.codec.swift", "Relations.codec.swift", "Index.description.swift"]
        return [
            .buildCommand(
                displayName: "Generate PDUs", executable: generator, arguments: [output.path, root.path] + inputs.map(\.path),
                inputFiles: inputs,
                outputFiles: outputs.map { output.appending(path: $0) })
        ]
    }

    private func stem(of path: String, under root: String) -> String {
        var relative = String(path.dropFirst(root.count))
        while relative.hasPrefix("/") { relative.removeFirst() }
        return String(relative.dropLast(".yaml".count)).replacing("/", with: "_")
    }
}
