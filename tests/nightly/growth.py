"""What a long call holds, second by second: looked at from outside, and drawn."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from subprocess import Popen
from typing import NamedTuple

import matplotlib as mpl
import psutil
import seaborn as sns
from matplotlib.figure import Figure

from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame

POINTS = 60  # of each curve: the most within so many equal parts


class Sample(NamedTuple):
    """One look; all but the first two are to stay as they are."""

    runs: int  # done by then
    state: float  # MB of .snakemake
    memory: float  # MB of Snakemake's process, as are descriptors and threads
    descriptors: int
    threads: int
    processes: int  # that it has started, and theirs
    ports: int  # on which any of them listens
    temporary: int  # files and folders in TMPDIR


LABELS = Sample(
    runs="Runs done",
    state="Size of .snakemake (MB)",
    memory="Memory (MB)",
    descriptors="File descriptors",
    threads="Threads",
    processes="Processes below it",
    ports="Ports listened on",
    temporary="Temporary files",
)
STEADY = Sample._fields[2:]


def size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # deleted since it was listed
            continue
    return found


def listens(process: psutil.Process) -> int:
    """The ports on which a process listens; none if it has ended."""
    try:
        return sum(one.status == psutil.CONN_LISTEN for one in process.net_connections(kind="inet"))
    except psutil.Error:
        return 0


def looked_at(run: Popen, folder: Path, temporary: Path) -> list[Sample]:
    """Look each second at a call of Snakemake in a folder, until it has ended."""
    seen, process = [], psutil.Process(run.pid)
    while run.poll() is None:
        try:
            family = process.children(recursive=True)
            sample = Sample(
                runs=len(list(folder.glob("results/runs/*/record.json"))),
                state=size(folder / ".snakemake") / 1e6,
                memory=process.memory_info().rss / 1e6,
                descriptors=process.num_fds(),
                threads=process.num_threads(),
                processes=len(family),
                ports=sum(map(listens, [process, *family])),
                temporary=len(list(temporary.rglob("*"))),
            )
            seen.append(sample)
        except psutil.Error:  # it ends
            pass
        time.sleep(1)
    return seen


def quarters(seen: Sequence[Sample]) -> tuple[Sample, Sample]:
    """The medians of the second quarter and of the last one, by runs done."""
    most = max(one.runs for one in seen)
    second = [one for one in seen if most / 4 <= one.runs < most / 2]
    last = [one for one in seen if one.runs >= most * 3 / 4]
    one, two = (Sample(*map(median, zip(*part, strict=True))) for part in (second, last))
    return one, two


def draw(seen: list[Sample], states: list[float], to: Path) -> None:
    """Each quantity over the runs done in one call, and `.snakemake` after each call that followed."""
    figure = Figure()
    panels = figure.subplots(2, 4)
    runs, calls = max(one.runs for one in seen), len(states)
    part = max(len(seen) // POINTS, 1)
    parts = [seen[at : at + part] for at in range(0, len(seen), part)]
    at = [each[-1].runs for each in parts]
    for axes, name in zip(panels.flat, [*STEADY, "state"], strict=False):
        most = [max(getattr(one, name) for one in each) for each in parts]
        axes.plot(at, most, color="#0072B2", linewidth=0.8)
        axes.set(title=getattr(LABELS, name), xlabel=LABELS.runs, xlim=(0, runs))
    after = panels.flat[7]
    after.plot(range(1, calls + 1), states, color="#D55E00", marker="o")
    after.set(title=LABELS.state, xlabel="Calls after it", xlim=(0, calls + 1))
    for axes in panels.flat:
        axes.set_ylim(0, max(1.1 * axes.dataLim.ymax, 1))
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.grid(axis="y")
        sns.despine(ax=axes)
    remarks = [
        f"n = {len(seen):,} looks, about one a second, at one call of {runs} runs: the most in each of "
        f"{len(parts)} equal parts of it. Memory, descriptors and threads are of Snakemake's process; ports "
        f"are of it and of all below it. Last panel: n = {calls} calls, each of which found one run missing."
    ]
    title = f"What {runs} runs in one call, and {calls} calls after it, hold and leave"
    frame = Frame(style.DOUBLE, 3.0, title, None, remarks, figure=figure)
    with mpl.rc_context({"svg.fonttype": "none"}):  # text as text: half the bytes
        style.save(frame.figure, [to])
