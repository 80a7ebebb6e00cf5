"""Where the Bangla files come from: the archive, a folder in either layout, the hub; what is said when it cannot be had."""

import hashlib
import http.server
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from lm_eval_tasks.bangla_bias import files
from lm_eval_tasks.bangla_bias.files import ARCHIVE_COMMIT, FILES, HUB_REPOSITORY, HUB_REVISION, locate_bangla
from lm_eval_tasks.bangla_bias.rows import load_prompts
from lm_eval_tasks.data import BANGLA_FOLDER, DataError, cache_folder
from tests.lm_eval_tasks.bangla_bias.test_rows import TEMPLATE, write


class TestLocalFolder:
    @pytest.mark.parametrize("place", FILES["ebe", "gender"].local)
    def test_either_layout(self, tmp_path: Path, place: str) -> None:
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_bytes(b"any")
        named = hashlib.sha256(b"any").hexdigest()
        source = locate_bangla({"data": str(tmp_path), "data_sha256": ["0" * 64, named.upper()]}, "official", "ebe", "gender")
        assert (source.path, source.origin, source.revision, source.sha256) == (path, "local folder", None, named)

    def test_a_known_hash_is_official_wherever_it_lies(self, official_folder: str, tmp_path: Path) -> None:
        for (kind, topic), file in FILES.items():
            source = locate_bangla({"data": official_folder}, "official", kind, topic)
            assert (source.origin, source.revision, source.sha256) == ("local folder", ARCHIVE_COMMIT, file.sha256)
            copy = tmp_path / file.local[1]
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.path.read_bytes())
            assert locate_bangla({"data": str(tmp_path)}, "official", kind, topic).revision == ARCHIVE_COMMIT

    def test_another_hash_is_refused_with_the_way_out(self, tmp_path: Path) -> None:
        metadata = write(tmp_path, "template", TEMPLATE)
        message = f"{metadata.pop('data_sha256')}, expected {FILES['template', 'gender'].sha256}.*data_sha256.*a list"
        with pytest.raises(DataError, match=message):
            load_prompts(metadata, "official", "template", "gender")

    def test_missing_file_says_what_is_there(self, tmp_path: Path) -> None:
        write(tmp_path, "template", TEMPLATE)
        with pytest.raises(
            DataError, match=r"Naturally_Sourced/gender_prompts\.csv does not exist .*which holds: BanglaSocialBias"
        ):
            load_prompts({"data": str(tmp_path)}, "official", "ebe", "gender")

    @pytest.mark.parametrize("named", ["abc", ["0" * 64, 7], "g" * 64])
    def test_no_hash(self, tmp_path: Path, named: object) -> None:
        metadata = write(tmp_path, "template", TEMPLATE) | {"data_sha256": named}
        with pytest.raises(DataError, match=r"'data_sha256' holds .*expected a SHA-256 hash of 64 hexadecimal digits"):
            load_prompts(metadata, "official", "template", "gender")


class TestArchive:
    """A local stand-in for the authors' address."""

    @pytest.fixture
    def served(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        served = tmp_path / "served"
        served.mkdir()
        with zipfile.ZipFile(served / "Data.zip", "w") as archive:
            archive.writestr("__MACOSX/Data/Template/gender_prompts.csv", "not this one")
            archive.writestr("Data/Template/gender_prompts.csv", TEMPLATE)
        digest = hashlib.sha256(TEMPLATE.encode()).hexdigest()
        known = FILES["template", "gender"]._replace(sha256=digest)

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args: object) -> None:
                super().__init__(*args, directory=str(served))  # type: ignore[arg-type]

            def log_message(self, *_: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
            threading.Thread(target=httpd.serve_forever, daemon=True).start()
            monkeypatch.setattr(files, "ARCHIVE_URL", f"http://127.0.0.1:{httpd.server_port}/Data.zip")
            monkeypatch.setattr(files, "ARCHIVE_SHA256", hashlib.sha256((served / "Data.zip").read_bytes()).hexdigest())
            monkeypatch.setitem(FILES, ("template", "gender"), known)
            monkeypatch.setenv("LM_EVAL_BIAS_CACHE", str(tmp_path / "cache"))
            yield served
            httpd.shutdown()

    def test_unpacked_once_and_usable_offline(self, served: Path) -> None:
        file = load_prompts({}, "official", "template", "gender")
        assert len(file.prompts) == 6
        assert file.record()["data_origin"] == "official"
        assert file.record()["data_revision"] == ARCHIVE_COMMIT
        assert file.record()["data_address"] == files.ARCHIVE_URL
        (served / "Data.zip").unlink()
        assert locate_bangla({}, "official", "template", "gender") == file.source

    def test_a_changed_file_is_unpacked_again(self, served: Path) -> None:
        path = locate_bangla({}, "official", "template", "gender").path
        path.write_text("half of")
        assert locate_bangla({}, "official", "template", "gender").path.read_text(encoding="utf-8") == TEMPLATE

    def test_other_bytes_are_refused_and_not_kept(self, served: Path) -> None:
        (served / "Data.zip").write_text("<html>please log in</html>")
        with pytest.raises(DataError, match=r"gave a file with another SHA-256 than .*Nothing was kept"):
            locate_bangla({}, "official", "template", "gender")
        assert not list(cache_folder().glob("*.zip"))

    def test_an_archive_without_the_file(self, served: Path) -> None:
        with pytest.raises(DataError, match=r"holds 0 files Naturally_Sourced/gender_prompts\.csv, expected one"):
            locate_bangla({}, "official", "ebe", "gender")

    def test_unreachable_names_three_ways_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "ARCHIVE_URL", "http://127.0.0.1:9/Data.zip")  # the discard port: nobody answers
        monkeypatch.setenv("LM_EVAL_BIAS_CACHE", str(tmp_path))
        ways = r"not cached in .*Three ways out: .*DIR/BanglaSocialBias/Data/Template/gender_prompts\.csv.*bangla_bias_sample"
        with pytest.raises(DataError, match=ways):
            locate_bangla({}, "official", "template", "gender")


LOAD = """
import json, sys
from lm_eval_tasks.bangla_bias.rows import load_prompts
from lm_eval_tasks.data import DataError
try:
    metadata = json.loads(sys.argv[2]) | {"bangla_source": "hub"}
    file = load_prompts(metadata, "official", sys.argv[1], "gender")
    print(json.dumps([[p.prompt, p.leaf, p.first_option] for p in file.prompts] + [file.record()]))
except DataError as error:
    print(json.dumps(str(error)))
"""


NAMED = hashlib.sha256(TEMPLATE.encode()).hexdigest()


class TestHub:
    """A local stand-in for the data hub, spoken to by the real huggingface_hub in a process of its own."""

    @pytest.fixture
    def hub(self, tmp_path: Path) -> Iterator[dict[str, str]]:
        served = tmp_path / "served"
        write(served, "template", TEMPLATE)
        prefix = f"/datasets/{HUB_REPOSITORY}/resolve/"

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                revision, _, name = unquote(self.path).removeprefix(prefix).partition("/")
                path = served / BANGLA_FOLDER / name
                if revision != HUB_REVISION:
                    return self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
                if not path.is_file():
                    return self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
                return self._answer(200, path.read_bytes(), {"ETag": '"abc"', "X-Repo-Commit": HUB_REVISION})

            do_HEAD = do_GET  # noqa: N815

            def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in (headers | {"Content-Length": str(len(body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
            threading.Thread(target=httpd.serve_forever, daemon=True).start()
            yield {
                "HF_ENDPOINT": f"http://127.0.0.1:{httpd.server_port}",
                "HF_HOME": str(tmp_path / "home"),
                "PATH": "/usr/bin:/bin",
            }
            httpd.shutdown()

    def load(self, kind: str, environment: dict[str, str], script: str = LOAD, named: str = NAMED) -> object:
        command = [sys.executable, "-c", script, kind, json.dumps({"data_sha256": named})]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, cwd="/")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def test_same_docs_as_from_a_folder_and_offline_once_cached(self, hub: dict[str, str], tmp_path: Path) -> None:
        found = self.load("template", hub)
        file = load_prompts({"data": str(tmp_path / "served"), "data_sha256": NAMED}, "official", "template", "gender")
        assert isinstance(found, list)
        record = found.pop()
        assert found == [[p.prompt, p.leaf, p.first_option] for p in file.prompts]
        assert (record["data_origin"], record["data_revision"], record["data_file_sha256"]) == ("data hub", None, NAMED)
        assert record["data_address"] == f"hf://datasets/{HUB_REPOSITORY}@{HUB_REVISION}/Prompts/template_gender_prompts.csv"
        found.append(record)
        offline = {key: value for key, value in hub.items() if key != "HF_ENDPOINT"} | {"HF_HUB_OFFLINE": "1"}
        assert self.load("template", offline) == found

    def test_another_hash_is_refused_with_the_way_out(self, hub: dict[str, str]) -> None:
        message = self.load("template", hub, named="0" * 64)
        assert isinstance(message, str)
        assert f"has SHA-256 {NAMED}, and the file of the authors' archive {FILES['template', 'gender'].sha256}" in message
        assert f'"bangla_source": "hub", "data_sha256": "{NAMED}"' in message

    def test_missing_file(self, hub: dict[str, str]) -> None:
        message = self.load("ebe", hub)
        assert isinstance(message, str)
        assert "Prompts/ebe_gender_prompts.csv of the hub dataset" in message
        assert "not found, and not cached. Three ways out" in message
        assert "--tasks bangla_bias_sample" in message

    def test_wrong_revision(self, hub: dict[str, str]) -> None:
        other = LOAD.replace("try:", "import lm_eval_tasks.bangla_bias.files as d; d.HUB_REVISION = 'f' * 40\ntry:")
        message = self.load("template", hub, other)
        assert isinstance(message, str)
        assert "the hub knows no such revision" in message

    def test_unreachable(self, hub: dict[str, str]) -> None:
        for environment in (hub | {"HF_ENDPOINT": "http://127.0.0.1:9"}, hub | {"HF_HUB_OFFLINE": "1"}):
            message = self.load("template", environment)
            assert isinstance(message, str)
            assert "not cached. Three ways out" in message
