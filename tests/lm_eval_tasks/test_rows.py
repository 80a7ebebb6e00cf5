"""Rows: where they come from, what is checked, what is said when something is wrong."""

import hashlib
import http.server
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lm_eval_tasks import data
from lm_eval_tasks.data import DataError, Source, locate_rubia
from lm_eval_tasks.sentence_pairs.rows import EXPERIMENTAL, SUBDOMAINS, merged_subdomain, read_pairs
from tests.conftest import ROWS, write_rows


def source_of(folder: Path, text: str) -> Source:
    digest = write_rows(folder, text)
    return locate_rubia(str(folder), digest)


class TestReading:
    def test_small_file(self, tmp_path: Path) -> None:
        file = read_pairs(source_of(tmp_path, ROWS))
        assert (file.n_rows, file.n_repeated, file.dropped_rows) == (11, 1, (7,))
        assert [pair.row for pair in file.pairs] == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]
        by_row = {pair.row: pair for pair in file.pairs}
        assert by_row[2].subdomain == by_row[3].subdomain == "template_wealth"
        assert by_row[4].subdomain == "freeform_full"
        assert by_row[5].pro_trope == "Все поляки шумят. Всегда."
        assert by_row[8].cluster == 0
        assert [pair.row for pair in file.pairs if pair.experimental] == [8, 9]

    def test_windows_line_ends_give_the_same_pairs(self, tmp_path: Path) -> None:
        unix = read_pairs(source_of(tmp_path / "a", ROWS))
        windows = read_pairs(source_of(tmp_path / "b", ROWS.replace("\n", "\r\n")))
        assert unix.pairs == windows.pairs

    def test_a_byte_order_mark_is_no_part_of_the_header(self, tmp_path: Path) -> None:
        rows = "".join(
            line.partition("\t")[2] + "\n" for line in ROWS.replace('"Все поляки шумят.\nВсегда."', "Да").splitlines()
        )
        plain = read_pairs(source_of(tmp_path / "a", rows))
        marked = read_pairs(source_of(tmp_path / "b", f"\ufeff{rows}"))
        assert plain.pairs == marked.pairs
        assert plain.source.sha256 != marked.source.sha256

    def test_official_file(self, official_folder: str) -> None:
        file = read_pairs(locate_rubia(official_folder))
        assert (file.n_rows, file.n_repeated, file.dropped_rows) == (2221, 215, (2161,))
        assert len(file.pairs) == 2220
        counts = Counter((pair.domain, pair.subdomain) for pair in file.pairs)
        assert set(counts) == {(domain, sub) for domain, subs in SUBDOMAINS.items() for sub in subs}
        grouped = Counter(pair.domain for pair in file.pairs if not pair.experimental)
        # 944 gender, 278 class, 332 nationality, 347 lgbtq with the identical pair, which is in lgbtq.
        assert grouped == {"gender": 944, "class": 278, "nationality": 332, "lgbtq": 346}
        assert counts["class", "template_wealth"] == 46 + 33
        assert counts["nationality", "freeform_full"] == 49 + 37
        texts = [text for pair in file.pairs for text in (pair.pro_trope, pair.anti_trope)]
        assert all(text.strip() and "\n" not in text and "\r" not in text for text in texts)

    def test_merging(self) -> None:
        assert merged_subdomain("class", "template_rich") == "template_wealth"
        assert merged_subdomain("gender", "template_rich") is None
        assert merged_subdomain("religion", "freeform_full") is None
        assert sum(len(subs) for subs in SUBDOMAINS.values()) == 21
        assert all(sub in SUBDOMAINS[domain] for domain, sub in EXPERIMENTAL)


class TestWrongRows:
    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "anti-trope\t",
                "anti\t",
                r"rubia\.tsv has no column anti-trope; its header is '', 'pro-trope', 'anti', 'domain'",
            ),
            (
                "шумят. Всегда.\tnationality",
                "шумят. Всегда.\treligion",
                r"row 5 .*domain is 'religion', expected one of class, gen",
            ),
            (
                "class\ttemplate_poor",
                "class\ttemplate_old",
                r"row 2 .*task_type is 'template_old', expected for class one of",
            ),
            ("Все соседи жадные", " ", r"row 3 .*'anti-trope' is empty, expected text"),
            ("\tclass\ttemplate_poor", "", r"row 2 .*'domain' is empty"),
            ("class\ttemplate_rich", "class\ttemplate_rich\tx", r"row 3 .*more fields than the header has columns"),
            ("Все греки", '"Все греки', r"line \d+: .*Get the official file again"),
            (ROWS, "", r"no column .*; its header is empty"),
            (ROWS[ROWS.index("\n") + 1 :], "", r"rubia\.tsv holds no pairs"),
        ],
    )
    def test_message(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        assert old in ROWS
        with pytest.raises(DataError, match=message):
            read_pairs(source_of(tmp_path, ROWS.replace(old, new, 1)))

    def test_not_utf8(self, tmp_path: Path) -> None:
        write_rows(tmp_path, ROWS)
        path = tmp_path / "rubia" / "rubia.tsv"
        path.write_bytes(ROWS.encode("cp1251", errors="replace"))
        with pytest.raises(DataError, match="is not UTF-8 text"):
            read_pairs(locate_rubia(str(tmp_path), hashlib.sha256(path.read_bytes()).hexdigest()))


class TestLocalFolder:
    def test_wrong_hash_names_both_and_the_way_out(self, rows_folder: tuple[str, str]) -> None:
        folder, digest = rows_folder
        with pytest.raises(DataError, match=f"{digest}, expected {data.RUBIA_SHA256}.*line ends.*data_sha256"):
            locate_rubia(folder)

    def test_named_hash(self, rows_folder: tuple[str, str]) -> None:
        folder, digest = rows_folder
        source = locate_rubia(folder, digest.upper())
        assert (source.origin, source.revision, source.sha256) == ("local folder", None, digest)

    def test_folder_without_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "other.tsv").touch()
        with pytest.raises(DataError, match=r"rubia\.tsv does not exist \(metadata key 'data' .*holds: other\.tsv"):
            locate_rubia(str(tmp_path))

    def test_environment_variable(self, rows_folder: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        folder, digest = rows_folder
        monkeypatch.setenv(data.DATA_VARIABLE, folder)
        assert locate_rubia(None, digest).origin == "local folder"
        monkeypatch.setenv(data.DATA_VARIABLE, folder + "-gone")
        with pytest.raises(DataError, match="environment variable LM_EVAL_TASKS_DATA .*no such folder"):
            locate_rubia(None, digest)

    def test_hash_without_folder(self) -> None:
        with pytest.raises(DataError, match="no folder is given"):
            locate_rubia(None, "0" * 64)

    def test_official_folder_keeps_the_revision(self, official_folder: str) -> None:
        assert locate_rubia(official_folder).revision == data.RUBIA_COMMIT


class TestDownload:
    @pytest.fixture
    def server(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """A local stand-in for the official address; yields the folder that it serves."""
        served = tmp_path / "served"
        served.mkdir()
        (served / "rubia.tsv").write_bytes(ROWS.encode())

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args: object) -> None:
                super().__init__(*args, directory=str(served))  # type: ignore[arg-type]

            def log_message(self, *_: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
            threading.Thread(target=httpd.serve_forever, daemon=True).start()
            monkeypatch.setattr(data, "RUBIA_URL", f"http://127.0.0.1:{httpd.server_port}/rubia.tsv")
            monkeypatch.setattr(data, "RUBIA_SHA256", hashlib.sha256(ROWS.encode()).hexdigest())
            monkeypatch.setenv("LM_EVAL_BIAS_CACHE", str(tmp_path / "cache"))
            yield served
            httpd.shutdown()

    def test_downloaded_once_and_usable_offline(self, server: Path) -> None:
        first = locate_rubia()
        assert first.origin == "official"
        assert first.path.read_bytes() == ROWS.encode()
        (server / "rubia.tsv").unlink()
        assert locate_rubia() == first

    def test_damaged_cache_is_fetched_again(self, server: Path) -> None:
        path = locate_rubia().path
        path.write_text("damaged")
        assert locate_rubia().path.read_bytes() == ROWS.encode()

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user")
    @pytest.mark.parametrize("mode", [None, 0o600])
    def test_another_user_of_the_cache(self, server: Path, mode: int | None) -> None:
        first = locate_rubia()
        for folder in (first.path.parent, *first.path.parents):
            if folder.stat().st_uid == 0 and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o055)
        if mode:
            first.path.chmod(mode)
        os.seteuid(65534)
        try:
            if mode is None:
                assert locate_rubia() == first
            else:
                with pytest.raises(DataError, match=r"rubia-.*not by this user .*LM_EVAL_BIAS_CACHE=DIR"):
                    locate_rubia()
        finally:
            os.seteuid(0)

    def test_wrong_hash(self, server: Path) -> None:
        (server / "rubia.tsv").write_text("<html>please log in</html>")
        with pytest.raises(DataError, match=r"gave a file with another SHA-256 than .*Nothing was kept"):
            locate_rubia()
        assert not list(data.cache_folder().glob("rubia-*"))

    def test_missing_at_the_address(self, server: Path) -> None:
        (server / "rubia.tsv").unlink()
        with pytest.raises(DataError, match=r"cannot download http.* \(HTTPError\), and it is not cached"):
            locate_rubia()

    def test_an_empty_name_of_the_cache_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LM_EVAL_BIAS_CACHE", "")
        assert data.cache_folder().name == "lm-eval-bias"

    def test_offline_without_cache_names_three_ways_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(data, "RUBIA_URL", "http://127.0.0.1:9/rubia.tsv")  # the discard port: nobody answers
        monkeypatch.setenv("LM_EVAL_BIAS_CACHE", str(tmp_path))
        ways = r"Three ways out: run once with a connection.*LM_EVAL_TASKS_DATA=DIR.*--tasks rubia_sample"
        with pytest.raises(DataError, match=ways):
            locate_rubia()
