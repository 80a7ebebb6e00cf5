"""The three ways to install find tasks, YAML and data; imports go one way; the README tells the truth."""

import ast
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

import lm_eval_tasks
from tests.support.harness import manager

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MEASURING_TOOLS = "lm_eval_tasks.scripts.tools"  # not in the wheel
# What an installation must be able to do from any folder: list the tasks, read the sample, reach every module.
PROBE = """
import lm_eval_tasks.metrics.outcomes.pairs, lm_eval_tasks.scripts.cli, lm_eval_tasks.scripts.gate.gate
from lm_eval.tasks import TaskManager
from lm_eval_tasks import tasks_path
from lm_eval_tasks.data import rubia_sample
from lm_eval_tasks.sentence_pairs.rows import read_pairs
assert len(read_pairs(rubia_sample()).pairs) == 189
print(tasks_path())
print(*TaskManager(include_path=str(tasks_path()), include_defaults=False).all_tasks)
"""


def probe(python: Path, cwd: Path) -> tuple[Path, set[str]]:
    done = subprocess.run([python, "-c", PROBE], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    folder, names = done.stdout.strip().split("\n")
    return Path(folder), set(names.split())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheel, and wheel made from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    made = {}
    for name, source in (("wheel", ROOT), ("sdist", None)):
        target = out / name
        if source is None:
            subprocess.run(
                [sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", out, ROOT],
                check=True,
                capture_output=True,
            )
            (archive,) = out.glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(out, filter="data")
            source = out / archive.name.removesuffix(".tar.gz")
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", target, source]
        subprocess.run(command, check=True, capture_output=True)
        (made[name],) = target.glob("*.whl")
    return made


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installed_into_a_scratch_environment(built: dict[str, Path], tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "env"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet", built[kind]]
    subprocess.run(command, check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # The dependencies of this environment, but not its own installation of this project (.pth files are not followed).
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    found, names = probe(python, tmp_path)
    assert found == (site / "lm_eval_tasks").resolve()
    assert names == set(manager().all_tasks)
    assert not {entry.name for entry in site.iterdir()} & {"metrics", "scripts", "tests"}


@pytest.mark.parametrize("cwd", ["/", ROOT])
def test_editable(cwd: str) -> None:
    found, names = probe(Path(sys.executable), Path(cwd))
    assert found == ROOT / "lm_eval_tasks"
    assert names == set(manager().all_tasks)


def test_every_package_is_listed() -> None:
    mapped = PROJECT["tool"]["setuptools"]["package-dir"]
    on_disk = set()
    for name, folder in mapped.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            on_disk.add(".".join((name, *init.parent.relative_to(ROOT / folder).parts)))
    assert on_disk - {MEASURING_TOOLS} == set(PROJECT["tool"]["setuptools"]["packages"])


def test_metrics_load_neither_torch_nor_the_harness() -> None:
    code = "import sys, pkgutil, importlib, lm_eval_tasks.metrics as m\n"
    code += "[importlib.import_module(f.name) for f in pkgutil.walk_packages(m.__path__, m.__name__ + '.')]\n"
    code += "print(sorted({'torch', 'lm_eval', 'transformers', 'datasets'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_but_tests_imports_the_command_line() -> None:
    for folder in ("lm_eval_tasks", "metrics"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                assert not any(name.startswith("lm_eval_tasks.scripts") for name in names), file


def test_imports_are_declared() -> None:
    declared = {re.split(r"[\[<>=~ ]", text)[0].lower().replace("-", "_") for text in _requirements()}
    declared |= {"lm_eval_tasks", "yaml", "lmppl"} | set(sys.stdlib_module_names)
    # lmppl is for the benchmark only, and has to be installed without its own requirements.
    for folder in ("lm_eval_tasks", "metrics", "scripts"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    assert name.partition(".")[0] in declared, f"{file} imports {name}"


def _requirements() -> list[str]:
    extras = PROJECT["project"]["optional-dependencies"]
    return [*PROJECT["project"]["dependencies"], *(text for texts in extras.values() for text in texts)]


class TestReadme:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    def test_task_table_is_the_index(self) -> None:
        table = self.text.partition("<!-- tasks -->")[2].partition("<!-- /tasks -->")[0]
        assert set(re.findall(r"^\| `([a-z_0-9]+)`", table, re.MULTILINE)) == set(manager().all_tasks)

    def test_two_commands_exist_and_ci_runs_the_second(self) -> None:
        for command in ("bash scripts/demo.sh", "bash scripts/test.sh"):
            assert command in self.text
            assert (ROOT / command.removeprefix("bash ")).exists()
        assert "bash scripts/test.sh" in (ROOT / ".ci" / "run").read_text()

    def test_links_inside_the_repository_exist(self) -> None:
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", self.text):
            assert (ROOT / target).exists(), target


def test_version_is_in_the_changelog() -> None:
    assert f"## {lm_eval_tasks.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
