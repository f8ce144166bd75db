"""examples/digits/ as docs/extending.md says, run in a folder next to a checkout."""

import numpy as np
import pandas as pd
import pytest
from documents import EXAMPLE
from own_folder import Own, of_page, own
from workspace import ROOT, edited, succeed

pytestmark = pytest.mark.full
BACKENDS = {"torch", "jax", "my-numpy"}


@pytest.fixture(scope="module")
def question(tmp_path_factory) -> Own:
    """One run of each backend, of one epoch."""
    brief = {"workloads": {"my-digits": {"epochs": 1}}}
    brief["experiments"] = {"my_question": {"repeats": 1}}
    folder = tmp_path_factory.mktemp("question")
    return own(folder, EXAMPLE, of_page(ROOT / "docs/extending.md"), brief)


def commented(text: str) -> str:
    """A file's content, changed in nothing that it does."""
    return f"{text}# edited\n"


def test_a_model_a_backend_and_a_figure_in_a_folder(question):
    """Every backend is in parity and ends; that by hand is in the figure, the table and the answers."""
    verdicts = question.verdicts("my-digits")
    passed = {name: verdict["passed"] for name, verdict in verdicts.items()}
    assert passed == dict.fromkeys(BACKENDS, True)
    assert verdicts["my-numpy"]["deviations"]["updates"] < 1e-12
    made = question.records()
    assert {record.spec.backend.name for record in made} == BACKENDS
    assert {(record.status, record.first_steps.passed) for record in made} == {("completed", True)}
    drawn = pd.read_csv(question.results / "figures/my_question/my_figure.csv")
    assert set(drawn["backend"]) == BACKENDS
    # One epoch of 1,437 digits of ten classes. The same examples in the same order: the same accuracy.
    assert drawn["final_test_accuracy"].between(0.5, 1).all()
    assert np.ptp(drawn["final_test_accuracy"]) == 0
    for file in ("tables/my_question/differences.csv", "answers.md"):
        assert "NumPy by hand" in (question.results / file).read_text()
    page = (question.results / "index.html").read_text()
    assert "Test accuracy after the last epoch; a dot per run." in page
    assert question.added_to_the_checkout() == []


def test_edits_in_a_folder_rerun_what_they_can_change(question):
    folder = question.folder / "my_folder"
    assert question.jobs() == {}
    with edited(folder / "reporting/figures/my_figure.py", commented):
        drawn = ("draw_my_question", "draw_my_question_with_products")
        assert question.jobs() == dict.fromkeys(
            (*drawn, "answers", "page_so_far", "page", "all"), 1
        )
    with edited(folder / "engines/my_numpy.py", commented):  # a folder counts as a whole
        jobs = question.jobs()
    assert (jobs["train"], jobs["probe"]) == (3, 4)
    assert "fetch" not in jobs
    with edited(folder / "models/torch.py", commented):  # the reference uses it, and so first steps
        assert {"train": 3, "probe": 4, "first_steps": 1}.items() <= question.jobs().items()
    with edited(question.folder / "digits.npz", commented):
        assert question.jobs()["fetch"] == 1


def test_a_bug_in_one_framework_is_a_failed_row(question):
    """The last test of `question`: its model in JAX is another one from here on."""
    model = question.folder / "my_folder/models/jax.py"
    model.write_text(model.read_text().replace("nnx.relu", "nnx.gelu"))
    target = "results/tables/my_question/runs.parquet"
    line = [target if word == "all" else word for word in question.line]
    succeed(["snakemake", *line], timeout=600, cwd=question.folder)
    verdicts = question.verdicts("my-digits")
    assert {name for name, verdict in verdicts.items() if not verdict["passed"]} == {"jax"}
    assert "logits deviate" in verdicts["jax"]["reason"]
    runs = pd.read_parquet(question.folder / target).set_index("backend")
    assert runs["parity"].to_dict() == dict.fromkeys(BACKENDS, "passed") | {"jax": "failed"}
