"""Programs read and print whatever the locale."""

from make_results import valid_records, write_results
from workspace import call, command

# A terminal or batch system without a locale, and a Python that is not set to UTF-8.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_program_prints_and_reads_whatever_the_locale(tmp_path):
    results = write_results(tmp_path / "Größe 東京", valid_records([0], ["torch"]))
    done = call([*command("collect")[:2], "check", str(results)], **ASCII)
    assert "Traceback" not in done.stderr
    assert "1 records" in done.stdout
