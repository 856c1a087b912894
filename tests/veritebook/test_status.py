"""The status page: every page's last run, its data, its parameters and its versions."""

from __future__ import annotations

import pytest

from veritebook.places import Places
from veritebook.status import write_status

RECORD = {
    "started": "2030-01-02T03:04:05+00:00",
    "seconds": 250.0,
    "peak memory MB": 1284,
    "dataset": "verite, newsroom",
    "commit": "abcdef123456",
    "parameters": {"seed": 0, "folds": 5},
    "data": {"verite/VERITE.csv": "0123456789abcdef" * 4},
    "versions": {"python": "3.11.7", "numpy": "2.4.6"},
}


@pytest.fixture
def status(tmp_path):
    def of(**records):
        places = Places(tmp_path)
        write_status(places, records)
        return (places.generated / "status.md").read_text(encoding="utf8")

    return of


def test_a_run_is_told_with_its_time_memory_data_parameters_and_commit(status):
    text = status(errata=RECORD)
    link = "[Errata and reproducibility notes](../notebooks/executed/errata.ipynb)"
    assert (
        f"| {link} | 2030-01-02 03:04:05 UTC | 4 min | 1,284 MB | verite, newsroom |"
        " `abcdef123456` |" in text
    )
    assert f"{link}\n: seed = 0, folds = 5\n" in text
    assert f"{link}\n: verite/VERITE.csv (`0123456789ab`)\n" in text
    assert "| numpy | 2.4.6 |" in text


def test_a_page_that_read_no_file_says_so(status):
    assert ": no file was read\n" in status(errata=RECORD | {"data": {}})


def test_versions_that_differ_name_the_pages_that_ran_with_them(status):
    text = status(
        errata=RECORD,
        chasma=RECORD | {"versions": {"python": "3.11.7", "numpy": "2.5.0"}},
    )
    assert "| python | 3.11.7 |" in text
    assert (
        "| numpy | 2.4.6 (Errata and reproducibility notes); 2.5.0 (CHASMA) |" in text
    )
