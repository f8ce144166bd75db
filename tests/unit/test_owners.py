"""Whose a folder is."""

import os

from privileged import needs_root

from paragone.base.owners import is_own


def test_a_folder_of_the_user_is_own_and_stays_empty(tmp_path):
    assert is_own(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_another_user_is_not(tmp_path):
    needs_root("gives a folder to another user")
    os.chown(tmp_path, 1002, -1)
    assert not is_own(tmp_path)


def test_a_folder_that_takes_no_file_is_not(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    assert not is_own(tmp_path)
