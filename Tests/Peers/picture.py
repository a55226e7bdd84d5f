"""Makes the picture of the report in README.md: `BLUEBENCH=... python Tests/Peers/picture.py docs/report.png`."""

import shutil
import sys

from browsing import cases_with_faults, chromium, opened, report_of
from support import ROOT

WIDTH, HEIGHT = 900, 920


def main(path):
    folder = ROOT / "build" / "picture"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    cases_with_faults(folder / "cases")
    report = report_of(folder / "report", "build/picture/cases")
    with chromium() as browser, opened(browser, report, "#?q=wrong-field", width=WIDTH, color_scheme="light") as page:
        # The displayed case, from its verdict to its first packets.
        page.set_viewport_size({"width": WIDTH, "height": 4 * HEIGHT})
        top = page.locator('[id="phy/wrong-field"]').bounding_box()["y"] - 10
        page.screenshot(path=path, clip={"x": 0, "y": top, "width": WIDTH, "height": HEIGHT})


if __name__ == "__main__":
    main(sys.argv[1])
