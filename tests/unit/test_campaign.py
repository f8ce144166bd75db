"""The table of faults: what was injected now is counted, all else stands as it was written."""

from types import SimpleNamespace

from campaign import Table

KILLED = ("1 kills", "a trainer killed", "SIGKILL, n times")
FULL_DISK = ("2 disk and memory", "a full disk", "a tmpfs")


def counted(table: Table, fault: tuple[str, str, str], outcome: str, **properties: object) -> None:
    """One test that injects a fault has ended so."""
    report = SimpleNamespace(
        user_properties=[("injects", (*fault, "nothing", 1)), *properties.items()],
        when="call",
        outcome=outcome,
        failed=outcome == "failed",
        skipped=outcome == "skipped",
        longrepr=("file", 1, "Skipped: needs root"),
        nodeid="tests/x.py::test_x",
    )
    table.pytest_runtest_logreport(report)


def rows(table: Table) -> list[str]:
    return [line for line in table.markdown("x").splitlines() if " | " in line][2:]


def test_faults_of_tests_that_passed_are_counted():
    table = Table()
    counted(table, KILLED, "passed", times=1200, seen="3 of them late")
    counted(table, KILLED, "passed")
    counted(table, FULL_DISK, "skipped")
    assert rows(table) == [
        "| **1 kills** | | | | |",
        "| a trainer killed | SIGKILL, n times | 1,201 | nothing | survived; 3 of them late |",
        "| **2 disk and memory** | | | | |",
        "| a full disk | a tmpfs | 0 | nothing | not run: needs root |",
    ]


def test_rows_of_calls_before_are_kept_and_those_of_now_replace_them():
    before, now = Table(), Table()
    counted(before, KILLED, "passed", times=1200)
    counted(before, FULL_DISK, "failed")
    failed = "| a full disk | a tmpfs | 0 | nothing | **FAILED**: test_x |"
    assert rows(before)[-1] == failed
    counted(now, KILLED, "passed", times=7)
    now.keep(before.markdown(""))
    assert rows(now)[1] == "| a trainer killed | SIGKILL, n times | 7 | nothing | survived |"
    assert rows(now)[-1] == failed
    assert "7 faults, 1 kinds not survived" in now.markdown("x")
