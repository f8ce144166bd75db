"""The plan of one call: the runs, measurements, figures and tables that a config asks for, and their files.

Rules ask it for names of files, which begin with the path variable `<results>`, and for jobs of programs.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from paragone.base import plugins
from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError
from paragone.base.processes import tuning_variables
from paragone.config import environments
from paragone.config.datasets import STATES, block_of, checksums, local_files, state_of_files
from paragone.config.engines import Exhibit, first_steps
from paragone.config.expand import expand, probes_of, products, timed_in_turn, with_reference
from paragone.config.narrow import narrow
from paragone.config.numbers import numbers_of
from paragone.config.papers import Paper, with_papers
from paragone.config.questions import cell, scales, schedule
from paragone.config.run_spec import Backend, Spec
from paragone.config.schema import BackendBlock, PageSection
from paragone.config.validate import validate
from paragone.plan.code import code_of, loaded_names
from paragone.plan.exhibits import EXHIBITS, FIGURES, FORMATS, PRODUCTS, PUBLISHED, TABLES, rows

Exhibits = list[tuple[str, str, Exhibit]]  # kind, name and declaration of figures and tables

# The record of a question's contests, and that of both times of one that was taken up again.
RECORD, AGAIN = "record.json", "again.json"


class Plan:
    """What a config asks for: `runs` by name, those of each of the `experiments`, matrix `products` by
    backend, the `sections` with a folder of figures and tables, and these themselves (`exhibits`).

    config: the whole config; it is validated, and narrowed to what `only` and `frameworks` leave.
    project: the checkout. by_conda: whether Snakemake gives each job the environment of its rule.
    `notices`: sentences on what was left out. Raises `UserError` that names the key.
    """

    def __init__(self, config: dict[str, Any], project: Path, *, by_conda: bool = False) -> None:
        self._project, self._by_conda = project, by_conda
        self.papers = with_papers(config, project)
        self.from_records = bool(config.get("records_only"))
        plugins.use(config["plugins"], drawing=self.from_records)
        self.config = validate(config)
        self.left_out = narrow(self.config)
        self.config.backends |= environments.variants(self.config)
        self.notices = [f"left out: {sentence}" for sentence in self.left_out]
        if not self.from_records and (names := ", ".join(tuning_variables())):
            self.notices.append(
                f"frameworks are started without these variables of the shell: {names}; to measure with one, "
                "name it in tuned.variables of a backend"
            )
        self.experiments = {name: expand(self.config, name) for name in self.config.experiments}
        self.runs = {spec.name: spec for specs in self.experiments.values() for spec in specs}
        # What contests decide, by name; and of each experiment all that time a cell of it.
        self.timed = {
            question.name: question
            for name, specs in self.experiments.items()
            for question in timed_in_turn(self.config, name, specs)
        }
        timed = self.timed.values()
        cells = {name: {*map(cell, specs)} for name, specs in self.experiments.items()}
        self.questions_of = {
            name: [question for question in timed if {*map(cell, question.variants)} & cells[name]]
            for name in self.experiments
        }
        self.products = products(self.config)
        tables = {
            "device_matmul": self.config.matmul,
            "accelerator_reference": self.config.accelerator_reference,
        }
        if taken := sorted(tables.keys() & self.experiments.keys()):
            raise UserError(
                f"experiments.{taken[0]}: is a section of every config; choose another name"
            )
        self.sections: dict[str, PageSection] = {**self.config.experiments, **tables}
        self._check_scaling()
        self.reads: dict[str, Callable[[str], list[str]]] = {
            "runs": lambda section: [f"<results>/tables/{section}/runs.parquet"],
            "epochs": lambda section: [f"<results>/tables/{section}/epochs.parquet"],
            "predictions": lambda section: [
                f"<results>/runs/{run}/predictions.npz" for run in self.runs_of(section)
            ],
            "rounds": lambda section: [f"<results>/tables/{section}/rounds.parquet"],
            PRODUCTS: lambda _: ["<results>/tables/device_matmul/matmul.parquet"],
            PUBLISHED: lambda section: [
                str(path) for paper in self._paper_of[section] for path in paper.files
            ],
        }
        papers = {name: paper for paper in self.papers for name in paper.published}
        # The paper with the numbers that each section is compared with, if there is one.
        self._paper_of: dict[str, list[Paper]] = {
            name: [numbers_of(papers, block.published, f"published of {name}")]
            if block.published
            else []
            for name, block in self.sections.items()
        }
        self.exhibits = {kind: self._exhibits(kind) for kind in EXHIBITS}
        # The place of each timed job among these jobs, from 1 on. The primary experiment is measured first.
        self._order = [*dict.fromkeys([self.primary, *self.experiments])]
        ordered = {name: self.experiments[name] for name in self._order}
        trained = schedule(ordered, self.config.seed)
        timed_jobs = dict.fromkeys(self._timed_jobs(trained))
        self.turns = {name: number for number, name in enumerate(timed_jobs, start=1)}
        # What the parity gate compares, by workload and backend; the reference is a backend, too.
        backends = dict.fromkeys(["reference", *(spec.backend.name for spec in self.runs.values())])
        self.probes = {
            (spec.workload.name, name): spec
            for name in backends
            for spec in probes_of(self.config, name, self.runs.values())
        }
        # What the reference computes of the first steps of a run; None where a framework's draws decide them.
        self.expected = {spec.name: first_steps(spec) for spec in self.runs.values()}
        # The same by the name of what is computed, which runs that must agree share.
        self.references = {spec.name: spec for spec in self.expected.values() if spec}

    @property
    def primary(self) -> str:
        """The experiment that the report is about."""
        return self.config.primary.experiment

    def _timed_jobs(self, trained: dict[str, list[str]]) -> Iterator[str]:
        """The timed jobs in their order: of each experiment its contests, by name of the question, then its
        runs. Matrix products, by backend, follow each experiment that is drawn with them, and come last."""
        for name, runs in trained.items():
            yield from (question.name for question in self.questions_of[name])
            yield from runs
            if PRODUCTS in self.read_by(name, self.exhibits_of(name)):
                yield from self.products
        yield from self.products

    def notices_of_jobs(self, since: float) -> list[str]:
        """What jobs noticed about data, models and fonts, in logs written after this time, each once."""
        logs = Path(self.config.pathvars.results, "logs")
        lines = (
            line
            for pattern in ("data/**/serialize.log", "parity/*.log", "exhibits/*.log", "paper.log")
            for path in sorted(logs.glob(pattern))
            if path.stat().st_mtime >= since
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
            if line.startswith("notice: ")
        )
        return [*dict.fromkeys(lines)]

    def path(self, name: str | Path) -> str:
        """A file of the checkout, relative to the working directory: a moved checkout is no change."""
        return os.path.relpath(self._project / name)

    def code(self, program: str, group: str, *specs: Spec) -> list[str]:
        """The path of a program, and the digest of the code of its group and of what plugins add to it for
        some specifications, see `code_of`."""
        return code_of(program, group, *loaded_names(*specs))

    def environment(self, backend: str) -> str:
        """The conda file of the jobs of a backend, or of the parity gate's reference, as seen from `rules/`.

        That of the workflow where a job starts its workers with the Python of an environment that is made.
        """
        block = with_reference(self.config.backends)[backend]
        name = "workflow" if self._is_made(block) else block.environment
        return plugins.environment(name) or f"../envs/{name}.yaml"

    def environment_of(self, spec: Spec) -> str:
        """The conda file of what the parity gate compares, as seen from `rules/`."""
        return self.environment(self._home(spec.backend))

    def pythons(self, *backends: Backend, every: bool = False) -> list[str]:
        """The files that name the Python of each of these backends that is not the Python of their job.

        `every`: of a job that starts variants, by conda each with the Python of its own.
        """
        blocks, every = with_reference(self.config.backends), every and self._by_conda
        homes = sorted({self._home(backend) for backend in backends})
        homes = [name for name in homes if every or self._is_made(blocks[name])]
        return [f"<results>/environments/{name}.json" for name in homes]

    def environment_job(self, backend: str) -> dict[str, Any]:
        """What decides the environment of a backend: the keys of the job of `make_environment.py`."""
        block = with_reference(self.config.backends)[backend]
        name, job = block.environment, {"backend": backend}
        if not self._is_made(block):
            return job
        if environments.is_path(name) and Path(name).is_dir():
            return {**job, "folder": name}
        of = "workflow" if environments.is_path(name) else name
        lists = {"requirements": environments.requirements(block), "pins": environments.pins(of)}
        return {**job, **lists, "conda": environments.base(of) if self._by_conda else []}

    def _home(self, backend: Backend) -> str:
        """The backend in whose environment one runs: another of the same engine for the parity gate's."""
        blocks = self.config.backends
        alike = (name for name, block in blocks.items() if block.engine == backend.engine)
        return backend.name if backend.name in blocks else next(alike, "reference")

    def _is_made(self, block: BackendBlock) -> bool:
        """Return whether the backend has an environment of its own, which is made or the user's."""
        separate = self.config.environments == "separate" and not self._by_conda
        return bool(separate or block.versions or environments.is_path(block.environment))

    def dataset(self, name: str) -> dict[str, Any]:
        """The block of a data set."""
        return block_of(self.config.datasets, name, "datasets")

    def state_of_data(self, dataset: str) -> str:
        """Return a text that changes when the content of the user's files of a data set does.

        It is the state, see `state_of_files`, of what was fetched. A file beside source.json lists states of
        the same content, so that files are read only in a new one. Files that are gone are no change.
        """
        block = self.dataset(dataset)
        if self.config.data.source == "synthetic" or "path" not in block:
            return ""
        state = state_of_files(block)
        folder = Path(self.config.pathvars.results, "data", dataset)
        try:
            states = json.loads((folder / STATES).read_bytes())
            if state not in states:
                fetched = checksums(json.loads((folder / "source.json").read_bytes())["files"])
                if (files := local_files(block["path"])) and checksums(files) != fetched:
                    return state
                with suppress(OSError):  # of results that only another user may change
                    write_json([*states, state], folder / STATES)
            return str(states[0])
        except (OSError, ValueError):
            return state

    def models_on(self, dataset: str) -> list[str]:
        """The names of the models that are trained on a data set, sorted."""
        specs = (spec for spec in self.runs.values() if spec.workload.dataset == dataset)
        return sorted({spec.workload.model_name for spec in specs})

    def probed(self, wildcards: Any) -> Spec:
        """What the parity gate computes: of a workload by a backend, or the first steps of a `name`."""
        if name := wildcards.get("name"):
            return self.references[name]
        return self.probes[wildcards.workload, wildcards.backend]

    def manifest(self, spec: Spec) -> str:
        """The manifest of a specification's data set."""
        return f"<results>/data/{spec.workload.dataset}/manifest.json"

    def weights(self, spec: Spec) -> list[str]:
        """The description of the published weights that a specification starts from, if it does."""
        is_pretrained = spec.workload.initializer == "imagenet"
        return [f"<results>/weights/{spec.workload.model_name}.json"] if is_pretrained else []

    def first_steps(self, *specs: Spec) -> list[str]:
        """The files that the first steps of some runs are compared with, as far as there are some."""
        expected = (self.expected[spec.name] for spec in specs)
        return sorted(
            {f"<results>/parity/first_steps/{spec.name}.npz" for spec in expected if spec}
        )

    def code_of_data(self, program: str, dataset: str) -> list[str]:
        """Return the code of a program that fetches or serializes a data set."""
        block = self.dataset(dataset)
        names = [block["form"]]
        builder = block.get("builder")
        if plugins.file_of(f"data/builders/{builder}.py"):  # else TensorFlow Datasets has it
            names.append(builder)
        return code_of(program, "data", *names)

    def timings(self, *experiments: str, again: bool = True) -> list[str]:
        """The records of the contests of some experiments, or of all, each once; from records alone, those
        that are there, and all of bundles, which are unpacked later. With `again`, a question that an earlier
        call left undecided for want of time is taken up."""
        asking = experiments or self.experiments
        questions = (question.name for name in asking for question in self.questions_of[name])
        folder = Path(self.config.pathvars.results, "contests")
        take_up = again and not self.from_records
        return [
            f"<results>/contests/{name}/{_latest(folder / name, take_up=take_up)}"
            for name in dict.fromkeys(questions)
            if self.config.records_only is not True or (folder / name / RECORD).exists()
        ]

    def earlier(self, question: str, record: str) -> list[str]:
        """The record that has the first time of a question, where `record` has both."""
        return [f"<results>/contests/{question}/{RECORD}"] if record == AGAIN else []

    def priority(self, question: str, record: str) -> int:
        """The priority of contests: that of their turn, or after all runs where they are taken up again."""
        return -self.turns[question] - (len(self.turns) if record == AGAIN else 0)

    def early_answers(self) -> list[str]:
        """What a call makes of the questions that are answered while it still measures others."""
        if self.from_records:
            return []
        first = ["<results>/first_answer.md"] if self.questions_of[self.primary] else []
        return [*first, *map(self._so_far, self._order)]

    def until(self, experiment: str) -> list[str]:
        """The experiments up to this one, in the order in which they are measured."""
        return self._order[: self._order.index(experiment) + 1]

    def read_so_far(self, experiment: str) -> list[str]:
        """What the page so far reads once an experiment is done, after the page of those before it."""
        *before, _ = names = self.until(experiment)
        return [
            *map(self._so_far, before[-1:]),
            *(path for name in names for path in self.files(FIGURES, "svg", "csv", section=name)),
            *(path for name in names for path in self.files(TABLES, "json", "csv", section=name)),
            *(self.reads[kind](name)[0] for name in names for kind in ("runs", "rounds")),
        ]

    def _so_far(self, experiment: str) -> str:
        return f"<results>/logs/so_far/{experiment}.done"

    def squares(self, backend: str) -> list[int]:
        """The sides of the square products that are multiplied on the device of a backend."""
        matmul, on_cpu = self.config.matmul, self.products[backend].device == "cpu"
        return matmul.squares if on_cpu else matmul.accelerator_squares

    def runs_on(self, workload: str) -> list[Spec]:
        """The runs of a workload in all experiments."""
        return [spec for spec in self.runs.values() if spec.workload.name == workload]

    def runs_of(self, experiment: str) -> list[str]:
        """The names of the runs of an experiment; from records alone those that `records_only` lists, if it
        lists any."""
        if isinstance(given := self.config.records_only, dict):
            return given[experiment].runs
        return [spec.name for spec in self.experiments[experiment]]

    def records(self, *experiments: str) -> list[str]:
        """The records of some experiments, or of all, each once."""
        runs = (run for name in experiments or self.experiments for run in self.runs_of(name))
        return [f"<results>/runs/{run}/record.json" for run in dict.fromkeys(runs)]

    def parity_reports(self, *experiments: str) -> list[str]:
        """The parity reports of the workloads of some experiments, or of all."""
        trained = (self.experiments[name] for name in experiments or self.experiments)
        names = {spec.workload.name for specs in trained for spec in specs}
        return [f"<results>/parity/{name}.json" for name in sorted(names)]

    def probes_of(self, *specs: Spec) -> list[str]:
        """What the parity gate compares for some runs of one workload, the reference first."""
        names = ["reference", *sorted({spec.backend.name for spec in specs})]
        return [f"<results>/parity/{specs[0].workload.name}/{name}.npz" for name in names]

    def shown(self, *sections: str) -> dict[str, PageSection]:
        """The sections of these names; by default those that `all` makes, which `only` may narrow."""
        names = sections or self.config.only or self.sections
        return {name: block for name, block in self.sections.items() if name in names}

    def title(self, section: str) -> str:
        """The title of a section, for Snakemake's report, which formats it once more."""
        return self.sections[section].title.replace("{", "{{").replace("}", "}}")

    def files(self, kind: str, *suffixes: str, section: str = "") -> list[str]:
        """The files of the figures or tables (`kind`) of a section, or of all, in the formats that people
        use or with other suffixes."""
        return [
            f"<results>/{kind}/{name}/{exhibit}.{suffix}"
            for name, block in self.shown(*([section] if section else [])).items()
            for exhibit in getattr(block, kind)
            for suffix in suffixes or FORMATS[kind]
        ]

    def exhibits_of(self, section: str) -> Exhibits:
        """The kind, name and declaration of each figure and table of a section."""
        return [
            (kind, name, exhibits[name])
            for kind, exhibits in self.exhibits.items()
            for name in getattr(self.sections[section], kind)
        ]

    def drawings(self) -> Iterator[tuple[str, str, Exhibits]]:
        """Each job that draws and tabulates: its section, its name, its figures and tables. Those that read
        matrix products are a job of their own, so that nothing else waits for products."""
        for section in self.sections:
            for name, needs in ((section, False), (f"{section}_with_products", True)):
                exhibits = self.exhibits_of(section)
                if part := [row for row in exhibits if (PRODUCTS in row[2].reads) is needs]:
                    yield section, name, part

    def read_by(self, section: str, exhibits: Exhibits) -> dict[str, list[str]]:
        """The files of results that some figures and tables of a section read, by kind."""
        kinds = {kind for _, _, exhibit in exhibits for kind in exhibit.reads}
        return {kind: self.reads[kind](section) for kind in sorted(kinds - {PUBLISHED})}

    def drawing(self, section: str, exhibits: Exhibits) -> dict[str, Any]:
        """What is drawn and tabulated of a section: the job of `draw.py`, see `reporting.inputs.Drawing`."""
        block = self.sections[section]
        keys = sorted({key for _, _, exhibit in exhibits for key in exhibit.settings})
        return {
            "section": section,
            "title": block.title,
            **{
                kind: {name: exhibit.reads for of, name, exhibit in exhibits if of == kind}
                for kind in self.exhibits
            },
            "settings": {key: getattr(block, key, getattr(self.config, key, None)) for key in keys},
            "published": block.published,
            "margins": self.config.margins,
            **self.shown_as(),
        }

    def paper_of(self, section: str) -> str | None:
        """The folder of the paper with the numbers that a section is compared with."""
        return next((str(paper.folder) for paper in self._paper_of[section]), None)

    def shown_as(self) -> dict[str, Any]:
        """How backends are shown: the label and the color of each, and the baseline."""
        backends = self.config.backends.items()
        return {
            "labels": {name: block.label for name, block in backends},
            "palette": {name: block.color for name, block in backends},
            "baseline": self.config.baseline,
        }

    def cited(self) -> dict[str, Paper]:
        """The papers whose numbers the sections show, by folder, in the order of the sections."""
        papers = [paper for name in self.shown() for paper in self._paper_of[name]]
        return {str(paper.folder): paper for paper in papers}

    def caption(self, kind: str, name: str) -> str:
        """The caption of a figure or table as seen from `rules/`: the project's, or a plugin's."""
        prefix = {FIGURES: "plot", TABLES: "tabulate"}[kind]
        return plugins.caption(kind, name) or f"report/{prefix}_{name}.rst"

    def captions(self) -> list[str]:
        """The captions of page and paper, their own first."""
        names = [self.caption(kind, name) for kind, rows in self.exhibits.items() for name in rows]
        of_both = "report/page.rst", "report/method.rst"
        return [self.path(Path("rules") / name) for name in (*of_both, *names)]

    def page(self) -> dict[str, Any]:
        """What the config says of page and paper, by the keys of their job."""
        outline = [
            {
                "name": name,
                "title": block.title,
                **{
                    kind: {exhibit: rows[exhibit].label for exhibit in getattr(block, kind)}
                    for kind, rows in self.exhibits.items()
                },
            }
            for name, block in self.shown().items()
        ]
        return {"outline": outline, "left_out": self.left_out, **self.shown_as()}

    def page_places(self, paths: list[Any]) -> dict[str, Any]:
        """Where page and paper find what they show, by the keys of their job; `paths`: the config's files."""
        default = (self._project / "config.yaml").resolve()
        overlays = [os.path.relpath(path) for path in paths if Path(path).resolve() != default]
        return {
            "results": self.config.pathvars.results,
            "captions": self.path("rules/report"),
            "papers": [*self.cited()],
            "preset": ", ".join(overlays),
        }

    def declaring(self, table: str) -> list[str]:
        """The experiments that have a table."""
        return [name for name, block in self.config.experiments.items() if table in block.tables]

    def _exhibits(self, kind: str) -> dict[str, Exhibit]:
        """The figures or tables of the project and of plugins. Raises `UserError` for an unknown name in a
        section; from records alone the name is left out of the section instead."""
        exhibits = EXHIBITS[kind] | rows(kind, self.reads)
        for section, block in self.sections.items():
            names: list[str] = getattr(block, kind)
            absent = [name for name in names if name not in exhibits]
            if absent and not self.from_records:
                raise UserError(
                    f"{kind} of {section}: no {absent[0]!r}; there are {', '.join(exhibits)}"
                )
            setattr(block, kind, [name for name in names if name in exhibits])
            if absent:
                text = ", ".join(absent)
                self.notices.append(f"left out of {section}, no such {kind} here: {text}")
        return exhibits

    def _check_scaling(self) -> None:
        for name, specs in self.experiments.items():
            drawn = "scaling" in self.config.experiments[name].figures
            if drawn and not self.from_records and not scales(specs):
                raise UserError(
                    f"experiments.{name}: the figure 'scaling' needs one workload and one global batch "
                    "(strong scaling) or one batch per replica (weak scaling) in its whole matrix"
                )


def _latest(folder: Path, *, take_up: bool) -> str:
    """The name of a question's record: `AGAIN` where it was taken up again, or is to be."""
    if (folder / AGAIN).exists():
        return AGAIN
    # There is no record, or it is to be made again.
    with suppress(OSError, ValueError, LookupError, TypeError):
        if take_up and json.loads((folder / RECORD).read_bytes())["ended"] in ("minutes", "busy"):
            return AGAIN
    return RECORD
