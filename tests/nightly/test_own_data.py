"""The example of docs/data.md: arrays, images and texts of a user, learned on three frameworks."""

import pytest
from documents import example
from own_folder import Own, of_page, own
from workspace import ROOT


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Own:
    """The example as the page has it."""
    lines = of_page(ROOT / "docs/data.md")
    return own(tmp_path_factory.mktemp("three"), example("three_forms"), lines, {})


@pytest.mark.parametrize("name", ["digits", "drawings", "docstrings"])
def test_arrays_images_and_texts_of_a_user_on_three_frameworks(three, name):
    """In parity, at the frameworks' first steps as well, and at least 0.1 above the majority rate."""
    verdicts = three.verdicts(f"three-{name}")
    assert {*verdicts} == {"torch", "tensorflow-mirrored", "jax"}
    assert [verdict["reason"] for verdict in verdicts.values()] == [None] * 3
    assert all(verdict["passed"] for verdict in verdicts.values())
    made = [each for each in three.records() if each.spec.workload.dataset == name]
    assert {each.spec.backend.name for each in made} == {*verdicts}
    assert {(each.status, each.first_steps.passed) for each in made} == {("completed", True)}
    for each in made:
        assert each.data.source == "real"
        assert each.epochs[-1].test_accuracy > each.data.test_majority + 0.1
    assert three.added_to_the_checkout() == []
