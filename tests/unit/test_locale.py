"""Programs read and print whatever the locale."""

from workspace import call, command, refused

# A terminal or batch system without a locale, and a Python that is not set to UTF-8.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_program_prints_whatever_the_locale(tmp_path):
    folder = tmp_path / "Größe 東京"
    files = {kind: folder / kind for kind in ("all_runs", "all_runs_parquet", "all_epochs")}
    line = command("collect", type="join", runs=[folder / "lacking"], epochs=[], **files)
    refused(call(line, **ASCII), "lacking: not a table")
