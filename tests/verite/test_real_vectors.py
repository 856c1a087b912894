"""The way to real vectors, step by step as the chapters name it, on small files in the
publishers' formats.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from verite import cli
from verite.dataset import Dataset
from verite.datasets import cli as data_cli
from verite.datasets import load
from verite.detector import INPUTS
from verite.embeddings import Embeddings
from verite.encoders.tables import encode_table, encoder_of, with_vectors
from verite.errors import DataError, MissingDataError
from veritebook.results import read_results
from veritebook.runs import run_notebook

HEADERS = {
    "mediaeval2015/devset/tweets.txt": (
        "tweetId\ttweetText\tuserId\timageId(s)\tusername\ttimestamp\tlabel"
    ),
    "mediaeval2015/testset/tweets.txt": (
        "tweetId\ttweetText\tuserId\timageId(s)\tusername\ttimestamp\tlabel"
    ),
    "mediaeval2016/devset/posts.txt": (
        "post_id\tpost_text\tuser_id\timage_id(s)\tusername\ttimestamp\tlabel"
    ),
    "mediaeval2016/testset/posts_groundtruth.txt": (
        "post_id\tpost_text\tuser_id\tusername\timage_id\ttimestamp\tlabel"
    ),
}


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> tuple[Path, Dataset]:
    """Pictures in a folder, and the pairs that they stand in."""
    folder = tmp_path_factory.mktemp("pictures")
    return folder, load(
        "newsroom",
        preset="vmu-twitter",
        events=30,
        posts_per_image=4,
        image_dir=folder,
        encoder=None,
    )


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("VERITE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def corpus(room, home, tmp_path) -> Path:
    """The corpus's four files and its list of pictures, and vectors by the commands of
    the chapter.
    """
    folder, made = room
    pairs = made.pairs.assign(
        event=made.pairs["group"].str.rpartition("-")[2].astype(int)
    )
    parts = dict.fromkeys(HEADERS, pairs[0:0])
    *_, development, test = HEADERS
    parts[development], parts[test] = (
        pairs[pairs["event"] < 20],
        pairs[pairs["event"] >= 20],
    )
    for name, rows in parts.items():
        lines = [HEADERS[name]]
        for number, row in rows.iterrows():
            label = "real" if row["label"] == "true" else "fake"
            middle = (
                ["u", "n", row["image_id"]]
                if name == test
                else ["u", row["image_id"], "n"]
            )
            lines.append(
                "\t".join([str(number), row["caption"], *middle, "then", label])
            )
        lines += ["0x\ta joke\tu\timage_0\tn\tthen\thumor"] if rows.empty else []
        path = home / "vmu-twitter" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf8")
    (home / "vmu-twitter" / "images_available.txt").write_text(
        "\n".join(path.name for path in folder.glob("*.png"))
    )
    data_cli.data_pairs(
        "vmu-twitter", tmp_path / "posts.csv", ["with_images=available"]
    )
    encode_table(
        tmp_path / "posts.csv",
        tmp_path / "vectors",
        encoder="newsroom",
        pretrained=None,
        images_from=folder,
    )
    return tmp_path / "vectors"


def test_vmu_twitter_runs_on_vectors_that_verite_encode_wrote(corpus, tmp_path):
    given = {"vectors": str(corpus), "resamples": "100", "workers": "1", "others": "1"}
    run = run_notebook("vmu-twitter", given, out=tmp_path / "out")
    found = read_results(run.folder / "results.csv")
    assert set(found["source"]) == {"vmu-twitter"}
    assert "new images" not in set(found["table"])
    two = found[found["table"] == "Table 2"]
    assert set(two["row"]) == {*INPUTS, "cosine, threshold"}
    two = two[two["row"].isin(INPUTS)]  # the threshold is fitted on all posts in turn
    assert two["n"].eq(len(load("vmu-twitter").part("test"))).all()
    record = json.loads((run.folder / "record.json").read_text())
    assert f"{corpus.as_posix()}/images.safetensors" in record["data"]
    assert "mediaeval2016/devset/posts.txt" in " ".join(record["data"])


def test_cosmos_runs_on_vectors_and_on_a_training_set_that_verite_synth_wrote(
    home, tmp_path
):
    made = load(
        "newsroom",
        preset="cosmos",
        events=60,
        image_dir=tmp_path / "pictures",
        encoder=None,
    ).pairs
    lines = [
        {
            "img_local_path": f"test/{Path(row['image_path']).name}",
            "caption1": row["caption"],
            "caption2": "Another caption.",
            "context_label": int(row["label"] != "true"),
            "article_url": (
                f"https://{'news' if row['label'] == 'true' else 'facts'}"
                f".example/{number}"
            ),
        }
        for number, row in made.iterrows()
    ]
    (home / "cosmos").mkdir(parents=True)
    (home / "cosmos" / "test_data.json").write_text(
        "\n".join(map(json.dumps, lines)) + "\n", encoding="utf8"
    )
    (tmp_path / "pictures").rename(tmp_path / "test")
    table, vectors, training = (
        tmp_path / "cosmos.csv",
        tmp_path / "vectors",
        tmp_path / "chasma-d",
    )
    data_cli.data_pairs("cosmos", table)
    encode_table(table, vectors, encoder="newsroom", pretrained=None)
    cli.synth_command("CHASMA-D", "newsroom", training, events=60, seed=5)
    encode_table(
        training / "pairs.csv",
        training / "vectors",
        encoder="newsroom",
        pretrained=None,
    )
    given = {
        "vectors": str(vectors),
        "training": str(training),
        "resamples": "100",
        "workers": "1",
    }
    run = run_notebook("cosmos", given, out=tmp_path / "out")
    found = read_results(run.folder / "results.csv")
    assert set(found["source"]) == {"cosmos"}
    assert set(found.loc[found["table"] == "Table 3", "row"]) == {"CHASMA-D"}
    assert found.loc[found["table"] == "source", "value"].tolist() == [100, 100]
    flips = found[found["table"] == "flips, detectors"].set_index(["row", "column"])[
        "value"
    ]
    assert flips["a doubled space", "image+text"] == 0
    assert flips["any of them", "text"] > 0


def vectors(
    folder: Path,
    images: list[str],
    texts: list[str],
    about: dict[str, str] | None = None,
) -> Path:
    import numpy as np

    for name, ids in (("images", images), ("texts", texts)):
        matrix = np.random.default_rng(0).normal(size=(len(ids), 4)).astype("float32")
        Embeddings(ids, matrix, encoder="mine", about=about or {}).save(
            folder / f"{name}.safetensors"
        )
    return folder


@pytest.fixture
def small() -> Dataset:
    return load("newsroom", events=2, encoder=None)


def test_pairs_without_a_vector_of_their_image_are_left_out(small, tmp_path):
    image = small.pairs["image_id"].iloc[0]
    found = with_vectors(
        small,
        vectors(tmp_path, [image, "another"], sorted(set(small.pairs["text_id"]))),
    )
    assert set(found.pairs["image_id"]) == {image}
    assert found.tokens().shape == (len(found.pairs), 2, 4)
    assert set(found.files) == {
        (tmp_path / name).as_posix()
        for name in ("images.safetensors", "texts.safetensors")
    }


def test_vectors_of_other_pairs_are_an_error_that_says_what_to_encode(small, tmp_path):
    with pytest.raises(MissingDataError, match="Write it with: verite encode"):
        with_vectors(small, tmp_path)
    with pytest.raises(
        DataError, match="none of the 6 pairs of newsroom has an image here"
    ):
        with_vectors(small, vectors(tmp_path, ["x"], ["y"]))
    with pytest.raises(DataError, match="4 captions of newsroom have no vector"):
        with_vectors(
            small, vectors(tmp_path, sorted(set(small.pairs["image_id"])), ["y"])
        )


def test_an_encoder_is_found_again_only_by_the_name_that_its_vectors_carry(tmp_path):
    vectors(tmp_path, ["a"], ["b"])
    with pytest.raises(
        MissingDataError,
        match="computed by mine, whose weights cannot be found by that name",
    ):
        encoder_of(Embeddings.load(tmp_path / "texts.safetensors"))
    vectors(tmp_path, ["a"], ["b"], {"name": "verite-newsroom", "tag": "newsroom"})
    with pytest.raises(
        DataError,
        match="computed by mine, but these weights are verite-newsroom/newsroom@",
    ):
        encoder_of(Embeddings.load(tmp_path / "texts.safetensors"), device="cpu")
    made = load("newsroom", events=1)
    assert made.texts is not None
    assert encoder_of(made.texts, device="cpu").identity == made.texts.encoder


def test_the_columns_of_a_written_table_are_read_back(corpus):
    table = pd.read_csv(corpus.parent / "posts.csv", dtype=str, keep_default_na=False)
    assert {"post_id", "edition"} <= set(table.columns)
    assert table["image_path"].str.endswith(".png").all()
