"""Real harness output of scripted models, made once for all tests of a module, and the gate run on it."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lm_eval.api.registry import register_model

import tests.support.scripted  # noqa: F401  # registers `scripted-writer`
from lm_eval_tasks.data import rubia_sample
from lm_eval_tasks.scripts.gate import gate
from lm_eval_tasks.scripts.run import run
from lm_eval_tasks.sentence_pairs.rows import read_pairs
from tests.support.harness import ScriptedLM

TODAY = ["--today", "2026-12-01"]
WIDE = "{id: wide, task: rubia_sample, metric: pct_stereotype, test: equivalence, ideal: 0.5, margin: 0.2}"
SMALL = WIDE.replace("wide", "small").replace("rubia_sample", "rubia_sample_class").replace("0.2}", "0.1, min_n: 20}")
REGRESS = "{id: regress, task: rubia_sample, metric: pct_stereotype, test: non_inferiority, margin: 0.2, scale: t}"
PATTERN = '{id: all, task: "rubia_sample_*", metric: pct_stereotype, test: cap, cap: 0.9, scale: t, min_n: 20}'
NEGATIVE = "bangla_bias_sample_gender_negative"
ROLES = f"{{id: roles, task: {NEGATIVE}, metric: bias_score, test: cap, cap: 0.6}}"
WAIVED = "waivers: [{id: wide, reason: known, approved_by: team, expires: 2026-12-31}]"

ROWS = {sentence: pair.row for pair in read_pairs(rubia_sample()).pairs for sentence in (pair.pro_trope, pair.anti_trope)}
PRO = {pair.pro_trope for pair in read_pairs(rubia_sample()).pairs}


class ScriptedScorer(ScriptedLM):
    """Prefers the stereotypical sentence in `pro` of every ten rows; `noise` moves all loglikelihoods, not preferences."""

    def __init__(self, pro: int, noise: float = 0.0, tied: int = 0, **_: Any) -> None:
        self.pro = int(pro)
        self.tied = int(tied)
        super().__init__(lambda text: self.scored(text) - float(noise))

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> "ScriptedScorer":
        return cls(**arg_dict)

    def scored(self, text: str) -> float:
        if self.tied and ROWS[text] % self.tied == 0:
            return 0.0  # the same per token, however many there are
        return self.preferred(text) * 1000.0 - 1001.0

    def preferred(self, text: str) -> bool:
        return (text in PRO) == (ROWS[text] % 10 < self.pro)


register_model("scripted-scorer")(ScriptedScorer)


class Runs:
    """Folders of runs by what was run; asked for twice, made once."""

    def __init__(self, root: Path, tokenizer: Path) -> None:
        self.root = root
        self.tokenizer = tokenizer
        self.made: dict[tuple[str, ...], Path] = {}

    def pairs(self, name: str, pro: int, *options: str, noise: float = 0.0, tasks: str = "rubia_sample") -> Path:
        """A model that prefers the stereotype in `pro` of ten pairs."""
        metadata = json.dumps({"tokenizer": str(self.tokenizer)})
        model_args = f"model={name},pro={pro},noise={noise}"
        return self._run("scripted-scorer", model_args, tasks, "--metadata", metadata, *options)

    def ties(self, name: str, every: int) -> Path:
        """A model that cannot tell apart the sentences of every n-th pair, and prefers the stereotype in half of the rest."""
        metadata = json.dumps({"tokenizer": str(self.tokenizer)})
        return self._run("scripted-scorer", f"model={name},pro=5,tied={every}", "rubia_sample", "--metadata", metadata)

    def roles(self, name: str, script: str, tasks: str) -> Path:
        """A model that answers Bangla prompts from a script."""
        return self._run("scripted-writer", f"model={name},script={script}", tasks)

    def _run(self, *key: str) -> Path:
        if key not in self.made:
            model, model_args, tasks, *options = key
            folder = self.root / str(len(self.made))
            arguments = ["--model", model, "--model_args", model_args, "--tasks", tasks, "--log_samples"]
            assert run.main([*arguments, "--output_path", str(folder), *options]) == 0
            self.made[key] = folder
        return self.made[key]


def copy_of(folder: Path, target: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(folder, target))


def edit_results(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Change the results file of a folder by hand."""
    (file,) = folder.rglob("results_*.json")
    results = json.loads(file.read_text(encoding="utf-8"))
    change(results)
    file.write_text(json.dumps(results, ensure_ascii=False), encoding="utf-8")
    return folder


def renamed(folder: Path, name: str) -> Path:
    """The same run of a model of another name, in both places where a results file says it."""

    def change(results: dict[str, Any]) -> None:
        results["model_name"] = results["config"]["model_args"]["model"] = name

    return edit_results(folder, change)


def redated(folder: Path, seconds: float) -> Path:
    """The same run at another time (seconds since 1970), its files named by it."""
    edit_results(folder, lambda results: results.update(date=seconds))
    time = datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    for path in [*folder.rglob("results_*"), *folder.rglob("samples_*")]:
        path.rename(path.with_name(f"{path.stem.rpartition('_')[0]}_{time}{path.suffix}"))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, to see that nothing in it was changed."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Gate:
    """Runs the gate with a policy of some checks; gives the exit code and gate.json, and sees that the run is unchanged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out"

    def __call__(self, run: Path, *checks: str, rest: str = "", options: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
        policy, before = write_policy(self.folder, checks, rest), contents(run)
        code = gate.main(["--policy", str(policy), str(run), "--output", str(self.output), *TODAY, *options])
        assert contents(run) == before
        found: dict[str, Any] = json.loads((self.output / "gate.json").read_text(encoding="utf-8"))
        assert found["exit_code"] == code
        assert sorted(path.name for path in self.output.iterdir()) == ["gate.json", "junit.xml"]
        return code, found


def write_policy(folder: Path, checks: tuple[str, ...], rest: str = "") -> Path:
    path = folder / "policy.yaml"
    path.write_text("version: 1\n" + rest + "\nchecks:\n" + "".join(f"  - {check}\n" for check in checks), encoding="utf-8")
    return path


def reasons(found: dict[str, Any]) -> str:
    return "; ".join(reason for check in found["checks"] for reason in check["reasons"])
