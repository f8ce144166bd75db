"""Archives that lead elsewhere, link or are bombs are refused before anything is made of them."""

import gzip
import stat
import zipfile

import numpy as np
import pytest

from paragone.base.errors import UserError
from paragone.data import archives


def made(path, name="cat/1.jpg", mode=stat.S_IFREG | 0o644, content=b"x", times=1):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(times):
            about = zipfile.ZipInfo(name if times == 1 else f"{number}-{name}")
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = mode << 16
            archive.writestr(about, content)
    return path


def test_harmless_files_pass(tmp_path):
    archives.check(made(tmp_path / "a.zip"))
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(bytes(10**6))
    archives.check(tmp_path / "a.gz")
    np.savez_compressed(tmp_path / "a.npz", zeros=np.zeros(10**6))
    archives.check(tmp_path / "a.npz")
    (tmp_path / "text").write_text("no archive")
    archives.check(tmp_path / "text")


ARCHIVES = pytest.mark.injects(
    "3 data", "archives that lead out, link, or are bombs", "made zip and gzip files"
)


@ARCHIVES
@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "a\\..\\evil"])
def test_a_name_that_leads_out_is_refused(tmp_path, name):
    with pytest.raises(UserError, match="leads out of the archive"):
        archives.check(made(tmp_path / "a.zip", name))


@ARCHIVES
def test_a_link_is_refused(tmp_path):
    with pytest.raises(UserError, match="is a link"):
        archives.check(made(tmp_path / "a.zip", mode=stat.S_IFLNK | 0o777, content=b"/etc/passwd"))


@ARCHIVES
def test_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST", 2**20)
    content = bytes(2**20)
    with pytest.raises(UserError, match="a bomb"):
        archives.check(made(tmp_path / "a.zip", content=content, times=4))
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(content * 4)
    with pytest.raises(UserError, match="a bomb"):
        archives.check(tmp_path / "a.gz")
