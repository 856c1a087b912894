"""A table on the disk, from the command line, stopped and killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from verite.embeddings import Embeddings
from verite.encoders import Encoder
from verite.encoders.tables import encode_table
from verite.errors import DataError

ROOT = Path(__file__).resolve().parents[3]


def write_table(folder: Path, images: list[str], captions: list[str]) -> Path:
    rows = [
        {
            "pair_id": f"p{number}",
            "image_id": f"i{number}",
            "text_id": f"t{number}",
            "caption": caption,
            "image_path": image,
            "label": "true",
            "group": f"g{number}",
            "split": "",
            "dataset": "mine",
            "note": "a column of one's own",
        }
        for number, (image, caption) in enumerate(zip(images, captions, strict=True))
    ]
    path = folder / "pairs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Forty pairs: images damaged, missing or without a path; one long caption."""
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    names = [f"images/{number}.png" for number in range(40)]
    for name in names:
        Image.fromarray(rng.integers(0, 256, (48, 48, 3), dtype=np.uint8)).save(
            tmp_path / name
        )
    (tmp_path / names[3]).write_bytes(b"<html>")
    (tmp_path / names[4]).unlink()
    return write_table(
        tmp_path,
        [*names[:-1], ""],
        [*(f"A boat, number {number}." for number in range(39)), "storm " * 100],
    )


def command(
    table: Path, out: Path, config: Path, weights: Path, *words: str
) -> list[str]:
    options = [
        "--encoder",
        str(config),
        "--pretrained",
        str(weights),
        "--out",
        str(out),
        "--batch-size",
        "4",
        "--device",
        "cpu",
    ]
    return [sys.executable, "-m", "verite", "encode", str(table), *options, *words]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def test_a_table_becomes_two_files_and_a_ledger(
    table: Path, tmp_path: Path, tiny: Encoder, tiny_config: Path, tiny_weights: Path
) -> None:
    out = tmp_path / "out"
    done = subprocess.run(
        command(table, out, tiny_config, tiny_weights),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"@{tiny.digest[:12]}, float32, normalised" in done.stdout
    assert "images:   37 encoded, 3 failed, 0 handled" in done.stdout
    assert "captions: 40 encoded, 0 failed, 1 handled" in done.stdout
    images, texts = (
        Embeddings.load(out / f"{name}.safetensors") for name in ("images", "texts")
    )
    assert images.encoder == texts.encoder
    assert set(images.ids) == {f"i{number}" for number in range(40)} - {
        "i3",
        "i4",
        "i39",
    }
    ledger = pd.read_csv(out / "ledger.csv")
    assert ledger[["kind", "id", "status"]].to_numpy().tolist() == [
        ["image", "i39", "failed"],
        ["image", "i3", "failed"],
        ["image", "i4", "failed"],
        ["caption", "t39", "handled"],
    ]


def contents(out: Path) -> dict[str, bytes]:
    return {
        name: (out / name).read_bytes()
        for name in ("images.safetensors", "texts.safetensors", "ledger.csv")
    }


def test_a_killed_run_continues_with_the_same_result(
    table: Path, tmp_path: Path, tiny_config: Path, tiny_weights: Path
) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    quick = {**ENVIRONMENT, "VERITE_TEST_SHARD": "4", "VERITE_TEST_PAUSE": "0"}
    slow = {
        **quick,
        "VERITE_TEST_PAUSE": "0.2",
    }  # its nine other shards take seconds, so that the kill comes before the end

    def words(out: Path) -> list[str]:
        return [
            sys.executable,
            str(SLOW),
            *command(table, out, tiny_config, tiny_weights)[3:],
        ]

    subprocess.run(
        words(undisturbed), env=quick, check=True, capture_output=True, timeout=120
    )
    process = subprocess.Popen(
        words(killed), env=slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    shards = killed / "shards"
    while not (
        shards.exists() and list(shards.glob("[0-9a-f]*"))
    ):  # not before there is anything to lose
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(random.uniform(0, 1.5))  # noqa: S311
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=10) == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in shards.glob("[0-9a-f]*")}
    assert before
    assert not (killed / "ledger.csv").exists()
    subprocess.run(
        words(killed), env=quick, check=True, capture_output=True, timeout=120
    )
    assert contents(killed) == contents(undisturbed)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_ctrl_c_says_that_finished_shards_are_kept(
    table: Path, tmp_path: Path, tiny_config: Path, tiny_weights: Path
) -> None:
    slow = {**ENVIRONMENT, "VERITE_TEST_SHARD": "4", "VERITE_TEST_PAUSE": "0.2"}
    words = [
        sys.executable,
        str(SLOW),
        *command(table, tmp_path / "out", tiny_config, tiny_weights)[3:],
    ]
    process = subprocess.Popen(
        words, env=slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list((tmp_path / "out").glob("shards/[0-9a-f]*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "verite: stopped. Finished shards are in" in complaint
    assert "Traceback" not in complaint


SLOW = Path(__file__).with_name("slow_encode.py")


def test_images_may_lie_elsewhere_and_vectors_may_keep_their_length(
    table: Path, tmp_path: Path, tiny_config: Path
) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "images").rename(moved / "images")
    lines = encode_table(
        table,
        tmp_path / "out",
        encoder=str(tiny_config),
        pretrained="random",
        images_from=moved,
        normalise=False,
        device="cpu",
    )
    assert "not normalised" in lines[0]
    assert (
        Embeddings.load(tmp_path / "out" / "images.safetensors").about["normalised"]
        == "no"
    )


def test_a_table_whose_images_all_failed_is_an_error(
    tmp_path: Path, tiny_config: Path
) -> None:
    for images, message in (
        (["a.png", "http://example.org/b.png"], r"none of 2 image\(s\)"),
        (["", ""], "image_path is empty in every row"),
    ):
        path = write_table(tmp_path, images, ["A boat.", "A dog."])
        with pytest.raises(DataError, match=message):
            encode_table(
                path,
                tmp_path / "out",
                encoder=str(tiny_config),
                pretrained="random",
                device="cpu",
            )


def test_an_id_that_stands_for_two_images_is_an_error(
    tmp_path: Path, tiny_config: Path
) -> None:
    path = write_table(tmp_path, ["a.png", "b.png"], ["A boat.", "A dog."])
    frame = pd.read_csv(path, dtype=str, na_filter=False).assign(image_id="i0")
    frame.to_csv(path, index=False)
    with pytest.raises(
        DataError, match=r"each image_id must have one image_path; several for i0"
    ):
        encode_table(
            path,
            tmp_path / "out",
            encoder=str(tiny_config),
            pretrained="random",
            device="cpu",
        )
