"""The product and its labels are in the results, and keep runs of different products apart."""

from support import run_bench

CASE = "accessory-gatt/device-name"


def test_a_run_is_continued_only_with_its_product(tmp_path):
    run = ["run", CASE, "--report", tmp_path / "report", "--accessory"]
    run_bench(*run, "heart-rate", "--peer", "Bluebench Heart Rate")
    refused = run_bench(*run, "keyboard", "--peer", "Bluebench Keyboard", "--resume", expected=2).stderr
    assert "another device" in refused, refused
    run_bench(*run, "heart-rate", "--peer", "Bluebench Heart Rate", "--resume")


def test_a_summary_has_product_and_labels():
    told = run_bench(
        "run", CASE, "--quiet", "--markdown", "-", "--accessory", "heart-rate", "--peer", "Bluebench Heart Rate", "--build", "7.1", "--label",
        "antenna=inside").stdout
    assert "product 'Bluebench Heart Rate', " in told and "build 7.1" in told and "antenna inside" in told, told
