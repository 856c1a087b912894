"""What ``verite synth`` writes, what it reports, and what it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from verite import cli
from verite.embeddings import Embeddings
from verite.errors import VeriteError
from verite.files import sha256
from verite.pairs import validate
from verite.search import retrieval
from verite.synthesis import EXTRA, MAKERS, command
from verite.synthesis.command import synthesise
from verite.synthesis.options import parse_options

AGGREGATE = "an aggregate joins exactly one maker of out-of-context pairs (RSt, CSt, NC"
SMALL = {"options": {"cluster_size": "60"}}  # MEIR has no donors in small clusters


@pytest.fixture
def room(toy: Any, make_vectors: Any, tmp_path: Path) -> Path:
    """A folder with pairs and a pool without splits, and their vectors."""
    world = toy(count=60, topics=2, groups=40)
    folder = tmp_path / "room"
    for name, pairs, seed in (("pairs", world.pairs, 0), ("pool", world.pool, 5)):
        (folder / name).mkdir(parents=True)
        images = "images/" + pairs["image_id"] + ".png"
        pairs.assign(split="", image_path=images).to_csv(
            folder / f"{name}.csv", index=False
        )
        for at, (kind, key) in enumerate(
            (("images", "image_id"), ("texts", "text_id"))
        ):
            path = folder / name / f"{kind}.safetensors"
            make_vectors(pairs[key], seed + at).save(path)
    return folder


def synth(room: Path, name: str, out: Path, **more: Any) -> list[str]:
    options: dict[str, Any] = {"vectors": room / "pairs"}
    if "CHASMA" in name:
        options |= {"pool": str(room / "pool.csv"), "pool_vectors": room / "pool"}
    return synthesise(name, str(room / "pairs.csv"), out, **options | more)


def table(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "pairs.csv", keep_default_na=False, dtype=str)


def record(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "record.json").read_text())
    return content


def change(path: Path, function: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    function(pd.read_csv(path, keep_default_na=False, dtype=str)).to_csv(
        path, index=False
    )


@pytest.mark.parametrize("name", list(MAKERS))
def test_every_maker_writes_pairs_and_a_record(
    room: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out"
    lines = synth(room, name, out, **SMALL if name == "MEIR" else {})
    made, content = validate(table(out), extra=EXTRA), record(out)
    assert content["method"] == name
    assert content["results"] == {"pairs.csv": sha256(out / "pairs.csv")}
    assert content["files"][str(room / "pairs.csv")] == sha256(room / "pairs.csv")
    counts = [sum(labels.values()) for labels in content["counts"].values()]
    assert sum(counts) == len(made)
    share = (made["label"] != "true").sum() / 60
    assert content["makers"][name]["made share"] == share
    assert any(f"{share:.1%}" in line for line in lines)


def test_tables_without_splits_are_split_together(room: Path, tmp_path: Path) -> None:
    change(
        room / "pool.csv", lambda p: p.assign(group=[f"g{i}" for i in range(len(p))])
    )
    lines = synth(room, "CHASMA", tmp_path)
    dealt = "pairs and pool had none; whole groups were dealt: 80% train, 10% valid"
    assert any(dealt in line for line in lines)
    made = table(tmp_path)
    assert set(made["split"]) == {"train", "validation", "test"}
    assert made.groupby("group")["split"].nunique().max() == 1
    donors = made[made["donor_id"] != ""].groupby("donor_id")["split"]
    assert donors.nunique().max() == 1
    # Groups of the pool are called as those of the pairs.
    group = pd.read_csv(room / "pool.csv").set_index("pair_id")["group"]
    side = made.set_index("group")["split"].to_dict()
    shared = [
        (s, side[group[key]]) for key, s in donors.first().items() if group[key] in side
    ]
    assert len(shared) > 5
    assert all(one == other for one, other in shared)


def test_given_splits_stay(room: Path, tmp_path: Path) -> None:
    change(room / "pairs.csv", lambda p: p.assign(split="train", label="true"))
    lines = synth(room, "RSt", tmp_path)
    assert record(tmp_path)["splits dealt"] == []
    assert not any("dealt" in line for line in lines)
    assert list(record(tmp_path)["counts"]) == ["train"]


def test_the_record_of_chasma(room: Path, tmp_path: Path) -> None:
    options = {"p_image": "1", "band": "-1,1", "clickbait": "NUMBER [0-9]$"}
    synth(room, "CHASMA", tmp_path, options=options)
    made = table(tmp_path).query("donor_id != ''")
    counts = made["donor_id"].value_counts()
    assert all(int(caption.split()[-1]) >= 10 for caption in made["caption"])
    assert record(tmp_path)["makers"]["CHASMA"]["pool"] == {
        "retained share": len(counts) / 40,
        "distinct donors": len(counts),
        "most used donor": counts.max(),
    }
    assert record(tmp_path)["makers"]["CHASMA"]["parameters"] == {
        "p_image": 1.0,
        "exclude_near": None,
        "clickbait": "NUMBER [0-9]$",
        "top_k": 1,
        "band": [-1, 1],
    }


def test_an_aggregate_is_balanced_in_training_alone(room: Path, tmp_path: Path) -> None:
    synth(room, "R-NESt + CHASMA + NC-t2t", tmp_path)
    counts = record(tmp_path)["counts"]
    assert len(set(counts["train"].values())) == 1
    assert counts["test"]["miscaptioned"] > counts["test"]["true"]


def test_a_maker_makes_the_same_alone_and_in_an_aggregate(
    room: Path, tmp_path: Path
) -> None:
    synth(room, "R-NESt", tmp_path / "alone")
    synth(room, "RSt + R-NESt", tmp_path / "both")
    alone, both = (
        table(tmp_path / name).query("method == 'R-NESt'").set_index("pair_id")
        for name in ("alone", "both")
    )
    assert len(both) > 0
    assert both["caption"].equals(alone.loc[both.index, "caption"])


def test_a_seed_gives_the_same_bytes(room: Path, tmp_path: Path) -> None:
    digests = []
    for out, seed in (("a", 3), ("b", 3), ("c", 4)):
        synth(room, "CSt + MEIR", tmp_path / out, seed=seed, **SMALL)
        digests.append(record(tmp_path / out)["results"]["pairs.csv"])
    assert digests[0] == digests[1] != digests[2]


def test_image_paths_are_relative_to_the_new_table(room: Path, tmp_path: Path) -> None:
    (room / "images").mkdir()
    out = tmp_path / "some" / "out"
    synth(room, "NC-t2t", out)
    for key, path in table(out)[["image_id", "image_path"]].itertuples(index=False):
        assert (out / path).resolve() == room / "images" / f"{key}.png"


def test_new_captions_are_counted(room: Path, tmp_path: Path) -> None:
    lines = synth(room, "R-NESt", tmp_path / "out", vectors=None)
    new = table(tmp_path / "out")["label"].tolist().count("miscaptioned")
    [line] = [line for line in lines if line.startswith("encode:")]
    written = f"Write: verite encode {tmp_path / 'out' / 'pairs.csv'} "
    assert f"{new} new captions have no vectors yet. {written}" in line
    assert "new captions" not in "".join(synth(room, "RSt", tmp_path / "other"))


def test_the_newsroom_comes_with_its_images(tmp_path: Path) -> None:
    synthesise("RSt", "newsroom", tmp_path, events=40)
    made = table(tmp_path)
    assert all((tmp_path / path).is_file() for path in made["image_path"])
    assert record(tmp_path)["events"] == 40
    assert set(made["dataset"]) == {"newsroom"}


def test_a_written_newsroom_can_be_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def verite(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["verite", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 0
        return capsys.readouterr().out

    options = ["--data", "newsroom", "--events", "60", "--out", str(tmp_path)]
    output = verite("synth", "R-NESt + CHASMA-D + CSt", *options)
    assert record(tmp_path)["pool"] == "newsroom"
    [line] = [line for line in output.splitlines() if line.startswith("encode:")]
    verite(*line.partition("Write: verite ")[2].split())
    for kind, key in (("texts", "text_id"), ("images", "image_id")):
        vectors = Embeddings.load(tmp_path / "vectors" / f"{kind}.safetensors")
        assert set(vectors.ids) == set(table(tmp_path)[key])


def test_entities_can_come_from_another_column(room: Path, tmp_path: Path) -> None:
    change(room / "pairs.csv", lambda p: p.rename(columns={"entities": "names"}))
    synth(room, "R-NESt", tmp_path, options={"entities": "names"})
    assert record(tmp_path)["makers"]["R-NESt"]["parameters"] == {"entities": "names"}


def test_entities_can_come_from_a_named_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from verite.synthesis import spacy_entities

    monkeypatch.setattr(spacy_entities, "spacy_entities", lambda *m: lambda text: [m])
    for text, model in (("spacy", ()), ("spacy:en_core_web_trf", ("en_core_web_trf",))):
        source = parse_options(["MEIR"], {"entities": text})["MEIR"]["entities"]
        assert source("A boat.") == [model]


def test_a_table_is_replaced_only_with_force(room: Path, tmp_path: Path) -> None:
    synth(room, "RSt", tmp_path)
    before = (tmp_path / "pairs.csv").read_bytes()
    with pytest.raises(VeriteError, match=r"pairs.csv already exists; use --force"):
        synth(room, "RSt", tmp_path, seed=1)
    assert (tmp_path / "pairs.csv").read_bytes() == before
    synth(room, "RSt", tmp_path, seed=1, force=True)
    assert (tmp_path / "pairs.csv").read_bytes() != before


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rst", {}, "no maker 'rst'. Makers: RSt, CSt"),
        ("RSt + NC-t2t", {}, AGGREGATE),
        ("RSt + MEIR + MEIR", {}, "each once"),
        ("R-NESt + MEIR", {}, AGGREGATE),
        (
            "CSt",
            {"options": {"near": "image"}},
            "CSt has no parameter 'near'.\nCSt has:\n  by = 'either'   a word\n",
        ),
        ("NC-t2t", {"options": {"by": "image"}}, "NC-t2t has:\n  (none)"),
        ("CHASMA-D", {"options": {"pool": "x"}}, "CHASMA-D has no parameter 'pool'"),
        (
            "CSt",
            {"options": {"by": "up"}},
            "by to be image, text or either, found 'up'",
        ),
        (
            "CHASMA",
            {"options": {"band": "0.2"}},
            "parameter band: expected two numbers such as 0.2,0.6, found '0.2'",
        ),
        ("CHASMA", {"options": {"p_image": "nan"}}, "expected a number, found 'nan'"),
        ("CHASMA", {"options": {"clickbait": "("}}, "expected a regular expression"),
        ("CLIP-NESt", {"options": {"neighbours": "2.5"}}, "expected a whole number"),
        ("R-NESt", {"options": {"entities": "names"}}, "has no column 'names' that"),
        ("RSt", {"events": 5}, "--events is for a newsroom, not for --data"),
        ("RSt", {"pool": "fakeddit"}, "--pool-vectors are for CHASMA and CHASMA-D"),
        ("CHASMA", {"pool": None}, "name a data set or a CSV with --pool"),
        ("CHASMA", {"pool_vectors": None}, "folder it wrote with --pool-vectors"),
        ("CSt", {"vectors": None}, "CSt needs vectors, and "),
        ("CSt", {"vectors": Path("nowhere")}, "nowhere contains neither images"),
    ],
)
def test_what_does_not_fit_is_refused_and_writes_nothing(
    room: Path, tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(VeriteError) as error:
        synth(room, name, tmp_path / "out", **options)
    assert message in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [("reuters", "no data set 'reuters', and no such file"), (".", "found a folder")],
)
def test_missing_data_are_named(tmp_path: Path, data: str, message: str) -> None:
    with pytest.raises(VeriteError, match=message):
        synthesise("RSt", data, tmp_path / "out")


def test_a_file_in_place_of_a_folder_is_refused(room: Path) -> None:
    with pytest.raises(VeriteError, match=r"--out: expected a folder, found a file"):
        synth(room, "RSt", room / "pairs.csv")


def test_ids_with_two_captions_are_refused(room: Path, tmp_path: Path) -> None:
    ids = [f"t{at}" for at in range(40)]
    change(room / "pool.csv", lambda pool: pool.assign(text_id=ids))
    with pytest.raises(VeriteError, match="one caption among the pairs and another in"):
        synth(room, "CHASMA", tmp_path / "out", pool_vectors=room / "pairs")


def test_an_index_on_disk_finds_the_same_and_reports_its_recall(
    room: Path, tmp_path: Path
) -> None:
    pytest.importorskip("faiss")
    synth(room, "CHASMA", tmp_path / "exact")
    lines = synth(room, "CHASMA", tmp_path / "faiss", faiss=True)
    assert table(tmp_path / "faiss").equals(table(tmp_path / "exact"))
    assert record(tmp_path / "faiss")["search"] == {"index": "FAISS", "recall": 1.0}
    assert any("finds 100.0% of the nearest" in line for line in lines)


def test_a_long_search_resumes_and_leaves_no_blocks(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_LONG", 0)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "_check_captions", stop)
        with pytest.raises(KeyboardInterrupt):
            synth(room, "CHASMA", tmp_path / "out")
    assert list((tmp_path / "out" / "blocks").rglob("*.json"))
    monkeypatch.setattr(retrieval, "search_block", stop)  # all blocks are there
    synth(room, "CHASMA", tmp_path / "out")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["pairs.csv", "record.json"]
