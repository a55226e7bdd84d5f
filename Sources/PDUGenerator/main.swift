import Foundation

// PDUGenerator OUTPUT-FOLDER DECLARATIONS-FOLDER FILE...: writes Swift for the declarations; a file is written only if its text changes.
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count > 2 else {
    FileHandle.standardError.write(Data("usage: PDUGenerator OUTPUT-FOLDER DECLARATIONS-FOLDER FILE...\n".utf8))
    exit(2)
}
let root = arguments[1]

do {
    var output = try OutputFolder(arguments[0])
    var loader = SchemaLoader()
    try loader.load(arguments.dropFirst(2).sorted().map { ($0, OutputName.stem(of: $0, under: root)) })
    let namedTypes = Dictionary(loader.namedTypes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var stems = Set(arguments.dropFirst(2).map { OutputName.stem(of: $0, under: root) })
    for layer in loader.layers {
        var emitter = CodecEmitter(layer: layer, namedTypes: namedTypes)
        try output.write(emitter.emit(), to: layer.stem + ".codec.swift")
        try output.write(DescriptionEmitter.emit(layer), to: layer.stem + ".description.swift")
        stems.remove(layer.stem)
    }
    for stem in stems.sorted() where stem != "NamedTypes" {
        try output.write("", to: stem + ".codec.swift")
        try output.write("", to: stem + ".description.swift")
    }
    try output.write(TypeEmitter.emit(loader.namedTypes), to: "NamedTypes.codec.swift")
    try output.write(DescriptionEmitter.emit(loader.namedTypes), to: "NamedTypes.description.swift")
    let messages = ["LLControl", "ATT", "SMP", "LMP", "L2CAPSignaling"].map { name in
        MessageEmitter.emit(loader.layers.filter { $0.name == name })
    }
    try output.write(messages.joined(separator: "\n"), to: "Messages.codec.swift")
    try output.write(DescriptionEmitter.index(loader.layers), to: "Index.description.swift")
    try output.removeOthers()
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}

/// The name of an output file: `HCI/Commands/LE.yaml` becomes `HCI_Commands_LE`; the plug-in uses the same rule.
enum OutputName {
    static func stem(of path: String, under root: String) -> String {
        var relative = path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
        while relative.hasPrefix("/") { relative.removeFirst() }
        if relative.hasSuffix(".yaml") { relative.removeLast(5) }
        return relative.replacingOccurrences(of: "/", with: "_")
    }
}
