import Mustache

/// The style sheet, the script and the templates of the pages, embedded in the program. Parts that repeat are built as strings by the types
/// beside this one.
enum PageFiles {
    static let style = text(PackageResources.page_css)
    /// Filters stored in the address, keyboard shortcuts, and copying of commands. Without it the page shows everything.
    static let script = text(PackageResources.page_js)

    private static let templates: [String: [UInt8]] = [
        "head": PackageResources.head_mustache, "attention": PackageResources.attention_mustache, "cases": PackageResources.cases_mustache,
        "throughput": PackageResources.throughput_mustache, "commands": PackageResources.commands_mustache,
        "coverage": PackageResources.coverage_mustache, "page": PackageResources.page_mustache,
        "throughput-page": PackageResources.throughput_page_mustache,
    ]

    /// Renders a template, which may include the others by name.
    static func render(_ name: String, _ fields: [String: Any]) throws -> String {
        let library = MustacheLibrary(templates: try templates.mapValues { try MustacheTemplate(string: text($0)) })
        return library.render(fields, withTemplate: name) ?? ""
    }

    /// An embedded file without the newline at its end.
    static func text(_ file: [UInt8]) -> String { String(decoding: file.dropLast(), as: UTF8.self) }
}
