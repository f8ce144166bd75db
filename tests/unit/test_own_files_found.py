"""What of a folder of one's own is found, what is passed over, and what an edit of it reruns."""

from pathlib import Path

import pytest
from test_own_files import ENGINE, FIGURE, edit, folder, read, refused
from workspace import ROOT

from paragone.base import plugins
from paragone.config.code_files import code_files

__all__ = ["folder"]  # a fixture


def test_hidden_files_are_passed_over(folder):
    """Locks of an editor are links to nowhere; another system's are no text."""
    Path("my_folder/engines/.#my_numpy.py").symlink_to("user@host:5")
    Path("my_folder/reporting/figures/._my_figure.py").write_bytes(b"\0\xff")
    assert [*read()] == ["my_figure"]
    assert not [name for name in plugins.names_in("engines") if name.startswith(".")]


def test_a_file_that_cannot_be_read(folder):
    Path("my_folder/engines/old.py").mkdir()
    refused("my_folder/engines/old.py: is a directory", "move it away")


def test_a_name_that_no_config_can_give(folder):
    Path(ENGINE).rename("my_folder/engines/My-NumPy.py")
    refused("my_folder/engines/My-NumPy.py: a module is named with", "rename it")


def test_a_package_has_its_init_already(folder):
    Path("my_folder/models/__init__.py").touch()
    refused("my_folder/models/__init__.py: the project has this package; remove it")


def test_an_environment_of_the_project_cannot_be_replaced(folder):
    Path("my_folder/envs").mkdir()
    Path("my_folder/envs/torch.yaml").touch()
    refused("my_folder/envs/torch.yaml has the name of", str(ROOT / "envs/torch.yaml"), "rename it")


def test_two_plugins_with_an_environment_of_one_name(folder):
    for name in ("my_folder", "other"):
        Path(name, "envs").mkdir(parents=True)
        Path(name, "envs/mine.yaml").touch()
    Path("other/models").mkdir()
    Path("other/models/_helpers.py").touch()
    edit("my_question.yaml", "[my_folder]", "[my_folder, other]")
    refused("other/envs/mine.yaml has the name of", "my_folder/envs/mine.yaml", "rename it")


def test_a_caption_alone_does_not_replace_the_project_s(folder):
    Path(FIGURE).with_name("throughput.rst").write_text("Mine.")
    read()
    assert plugins.caption("figures", "throughput") is None
    assert plugins.caption("figures", "my_figure") == str(folder / FIGURE.replace(".py", ".rst"))


@pytest.mark.parametrize(
    ("file", "key", "words"),
    [
        ("data/forms/mine.py", "form: mine", "has no `read`"),
        ("data/builders/mine.py", "form: tfds, builder: mine", "has no `BUILDER`"),
    ],
)
def test_a_form_or_a_builder_that_holds_nothing(folder, file, key, words):
    Path("my_folder", file).parent.mkdir(parents=True)
    Path("my_folder", file).write_text("reed = 1\n")
    edit("my_question.yaml", "datasets:\n", f"datasets:\n  mine: {{{key}}}\n")
    refused(f"my_folder/{file}: {words}", "add it")


def test_an_edit_of_what_an_engine_imports_beside_itself_reruns_it(folder):
    """Relative imports and packages of the plugin's own, too."""
    texts = {
        "near.py": "",
        "parts/__init__.py": "from . import deep",
        "parts/deep.py": "from ..far import x",
        "far.py": "x = 1",
        "other.py": "",
    }
    for name, text in texts.items():
        path = Path("my_folder/engines", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    edit(ENGINE, "import numpy", "from .near import x\nfrom .parts import y\nimport numpy")
    plugins.use(["my_folder"])
    engines = Path("my_folder/engines").resolve()
    found = code_files("train.py", "paragone.engines.my_numpy")
    own = {str(path.relative_to(engines)) for path in found if path.is_relative_to(engines)}
    assert own == {"my_numpy.py", "near.py", "parts/__init__.py", "parts/deep.py", "far.py"}
