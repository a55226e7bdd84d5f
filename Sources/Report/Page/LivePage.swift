/// The page of a running capture. It shares the style of the report, and asks the program for everything else.
public enum LivePage {
    public static let html = PageFiles.text(PackageResources.live_html)
    public static let style = PageFiles.style + "\n" + PageFiles.text(PackageResources.live_css)
    public static let script = PageFiles.text(PackageResources.live_js)
}
