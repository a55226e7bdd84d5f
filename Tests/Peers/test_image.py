"""The script that writes the container: what it writes is unpacked to the same files, and a damaged archive is refused."""

import importlib.machinery
import importlib.util
import io
import os
import stat
import tarfile

import pytest

from support import ROOT


@pytest.fixture
def image(monkeypatch):
    """The script, with a change of the root in place of a command in it."""
    loader = importlib.machinery.SourceFileLoader("image", str(ROOT / ".ci/image"))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("image", loader))
    loader.exec_module(module)
    return module


def change(root):
    (root / "usr/bin/bluebench").write_text("program")
    (root / "usr/bin/bluebench").chmod(0o755)
    (root / "etc/kept").write_text("new")
    (root / "etc/gone").unlink()
    (root / "usr/link").symlink_to("bin/bluebench")
    (root / "proc/left-out").write_text("")


@pytest.fixture
def archive(image, tmp_path, monkeypatch):
    root = tmp_path / "root"
    for folder in ("usr/bin", "etc", "proc", "tmp"):
        (root / folder).mkdir(parents=True)
    for name in ("kept", "gone", "same"):
        (root / "etc" / name).write_text("old")
    (root / "etc/same").chmod(0o640)
    monkeypatch.setattr(image.subprocess, "run", lambda command, **options: change(root))
    image.make(root, "", "1.0", tmp_path / "image.tar")
    return tmp_path / "image.tar"


def files(root):
    found = {}
    for folder, names, own in os.walk(root):
        for name in names + own:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(about.st_mode) else open(path).read() if stat.S_ISREG(about.st_mode) else None
            found[os.path.relpath(path, root)] = (about.st_mode, content)
    return found


def test_what_is_packed_is_unpacked(image, archive, tmp_path):
    image.unpack(archive, tmp_path / "out")
    expected = files(tmp_path / "root")
    del expected["proc/left-out"]
    assert files(tmp_path / "out") == expected and "etc/gone" not in expected


def test_the_same_files_give_the_same_archive(image, archive, tmp_path, monkeypatch):
    first = image.layer(image.entries(tmp_path / "root"))
    for path in (tmp_path / "root").rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    assert image.layer(image.entries(tmp_path / "root")) == first


DAMAGES = {
    "another octet": (lambda name, octets: octets[:-1] + b"~" if "blobs" in name else octets, "has another digest"),
    "no layout": (lambda name, octets: None if name == "oci-layout" else octets, "oci-layout is missing"),
    "a stranger": (lambda name, octets: octets, "a blob belongs to nothing"),
    "no blob": (lambda name, octets: None if "blobs" in name else octets, "is missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_archive_is_refused(image, archive, tmp_path, name):
    damage, expected = DAMAGES[name]
    with tarfile.open(archive) as whole, tarfile.open(tmp_path / "damaged.tar", "w") as copy:
        contents = [(entry.name, damage(entry.name, whole.extractfile(entry).read())) for entry in whole.getmembers()]
        for path, octets in [*contents, *([("blobs/sha256/0", b"")] if name == "a stranger" else [])]:
            if octets is not None:
                entry = tarfile.TarInfo(path)
                entry.size = len(octets)
                copy.addfile(entry, io.BytesIO(octets))
    with pytest.raises(SystemExit, match=expected):
        image.unpack(tmp_path / "damaged.tar", tmp_path / "out")
