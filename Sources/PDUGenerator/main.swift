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
    let relations = try RelationIndex(loader.files, layers: loader.layers)
    for file in loader.files {
        try output.write(CodecEmitter(file: file, namedTypes: namedTypes, relations: relations).emit(), to: file.stem + ".codec.swift")
        try output.write(DescriptionEmitter.emit(file), to: file.stem + ".description.swift")
        stems.remove(file.stem)
    }
    for stem in stems.sorted() where stem != "NamedTypes" && stem != "Layers" {
        try output.write("", to: stem + ".codec.swift")
        try output.write("", to: stem + ".description.swift")
    }
    try output.write(TypeEmitter.emit(loader.namedTypes), to: "NamedTypes.codec.swift")
    try output.write(DescriptionEmitter.emit(loader.namedTypes), to: "NamedTypes.description.swift")
    try output.write(LayerEmitter.emit(loader.layers, declared: Set(loader.files.map(\.name))), to: "Layers.codec.swift")
    try output.write("", to: "Layers.description.swift")
    let messages = loader.layers.filter(\.header.hasMessage).map { layer in
        MessageEmitter.emit(loader.files.filter { $0.name == layer.name })
    }
    try output.write(messages.joined(separator: "\n"), to: "Messages.codec.swift")
    try output.write(RelationEmitter(relations).emit(), to: "Relations.codec.swift")
    try output.write(DescriptionEmitter.index(loader.files), to: "Index.description.swift")
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
