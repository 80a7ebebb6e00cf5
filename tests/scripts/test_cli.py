"""The command line: path, link, unlink, run."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import TaskIndex

from lm_eval_tasks import tasks_path
from lm_eval_tasks.scripts import cli
from lm_eval_tasks.scripts.run import links, run
from tests.support.harness import manager

OWN = set(manager().all_tasks)


class TestLink:
    def test_links_and_unlinks_and_both_repeat(self, tmp_path: Path) -> None:
        before = sorted(tmp_path.rglob("*"))
        for _ in range(2):
            assert "Linked" in links.link(tmp_path)
        found = TaskManager(include_path=str(tmp_path), include_defaults=False)
        assert set(found.all_tasks) == OWN
        assert "Removed" in links.unlink(tmp_path)
        assert "Nothing to remove" in links.unlink(tmp_path)
        assert sorted(tmp_path.rglob("*")) == before

    def test_linked_tasks_run(self, tmp_path: Path, models: dict[str, Path]) -> None:
        links.link(tmp_path)
        metadata = {"pretrained": str(models["bpe_with_bos"])}
        loaded = TaskManager(include_path=str(tmp_path), include_defaults=False, metadata=metadata).load(["rubia_sample"])
        assert len(loaded["tasks"]["rubia_sample_class"].eval_docs) == 27

    def test_stubs_of_an_older_version_disappear(self, tmp_path: Path) -> None:
        links.link(tmp_path)
        (tmp_path / links.FOLDER / "gone.yaml").write_text(links.MARK + "include: /gone.yaml\n")
        links.link(tmp_path)
        assert not (tmp_path / links.FOLDER / "gone.yaml").exists()

    def test_foreign_files_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / links.FOLDER).mkdir()
        mine = tmp_path / links.FOLDER / "mine.yaml"
        mine.write_text("task: mine\n")
        for action in (links.link, links.unlink):
            with pytest.raises(links.LinkError, match=r"did not make \(mine\.yaml\)\. Nothing was changed"):
                action(tmp_path)
        assert mine.exists()

    def test_read_only_folder(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        # /proc refuses new folders to everybody, root included.
        monkeypatch.setattr(links, "_harness_tasks", lambda: Path("/proc"))
        assert cli.main(["link"]) == 2
        error = capsys.readouterr().err
        assert "cannot write to the harness's task folder /proc" in error
        assert "lm-eval-bias run" in error
        assert "--include_path" in error

    def test_the_plain_harness_finds_the_tasks(self) -> None:
        """On the installed harness itself, which is left as it was."""
        folder = links._harness_tasks()
        linked_before = (folder / links.FOLDER).exists()
        before = sorted(folder.iterdir())
        try:
            assert cli.main(["link"]) == 0
            listed = subprocess.run(
                [sys.executable, "-m", "lm_eval", "ls", "tasks"], capture_output=True, text=True, timeout=120, cwd="/"
            )
            assert listed.returncode == 0, listed.stderr
            assert {name for name in OWN if f"|{name} " not in listed.stdout and f"|{name}|" not in listed.stdout} == set()
        finally:
            if not linked_before:
                assert cli.main(["unlink"]) == 0
        assert sorted(folder.iterdir()) == before


class TestRun:
    def test_own_names(self) -> None:
        assert set(run.own_index()) == OWN

    @pytest.mark.parametrize(
        ("requested", "only_own"),
        [
            ("rubia", True),
            ("rubia,rubia_sample_class", True),
            (["rubia_gender_*", "rubia_experimental"], True),
            ("rubia,hellaswag", False),
            ("*gender*", False),
            ("rubia_unknown", False),
            (None, False),
        ],
    )
    def test_when_the_built_in_index_is_skipped(self, requested: Any, only_own: bool) -> None:
        assert run._only_own(requested) is only_own

    def test_built_in_tasks_are_not_indexed(
        self,
        models: dict[str, Path],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        indexed: list[Path] = []
        build = TaskIndex.build

        def recording(paths: Any, **options: Any) -> Any:
            indexed.extend(paths)
            return build(paths, **options)

        monkeypatch.setattr(TaskIndex, "build", staticmethod(recording))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "rubia").mkdir()  # a folder of that name in the current directory must not matter
        arguments = ["--model", "hf", "--model_args", f"pretrained={models['bpe_with_bos']}", "--device", "cpu"]
        assert run.main([*arguments, "--tasks", "rubia_sample_class", "--include_path", str(tmp_path)]) == 0
        assert set(indexed) == {tasks_path(), tmp_path}
        assert "|rubia_sample_class|      1|none  |     0|pct_stereotype" in capsys.readouterr().out

    def test_data_errors_end_with_usage_code(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["--model", "dummy", "--tasks", "rubia_class", "--metadata", f'{{"data": "{tmp_path}"}}']
        assert run.main(arguments) == 2
        assert "lm-eval-bias run: " in capsys.readouterr().err

    @pytest.mark.parametrize(
        "tasks", ["rubia", "rubia_experimental,bangla_bias", "rubia_sample_*", "rubia_gender_freeform_job"]
    )
    def test_pairs_on_a_chat_api_are_refused_before_anything_runs(self, tasks: str, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = [
            "--model",
            "local-chat-completions",
            "--model_args",
            "model=m,base_url=http://127.0.0.1:9",
            "--tasks",
            tasks,
        ]
        assert run.main(arguments) == 2
        error = capsys.readouterr().err
        assert "need log-probabilities of given text, and local-chat-completions only writes text" in error
        assert "--tasks rubia_prompted_en,rubia_prompted_ru" in error

    def test_model_and_tasks_from_a_config_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "run.yaml"
        file.write_text("model: anthropic-chat\ntasks: [rubia_sample]\n")
        assert run.main(["--config", str(file)]) == 2
        assert "anthropic-chat only writes text" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("model", "tasks"),
        [("local-chat-completions", ["bangla_bias", "rubia_prompted_en"]), ("hf", ["rubia"]), ("none", ["rubia"])],
    )
    def test_what_a_backend_can_do_is_not_refused(self, model: str, tasks: list[str]) -> None:
        assert run._refusal(model, tasks) is None

    def test_help_is_the_harness_own(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            cli.main(["run", "--help"])
        assert "--model_args" in capsys.readouterr().out


def test_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["path"]) == 0
    assert Path(capsys.readouterr().out.strip()) == tasks_path()


def test_path_of_the_starter_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["path", "--policy"]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert file.is_absolute()
    assert "non_inferiority" in file.read_text(encoding="utf-8")


def test_unknown_command() -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["unknown"])
    assert stopped.value.code == 2
