"""What ``verite synth`` writes, what it says, and what it refuses."""

from __future__ import annotations

import json
import sys
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
from verite.synthesis.command import parse_options, synthesise


@pytest.fixture
def room(toy: Any, make_vectors: Any, tmp_path: Path) -> Path:
    """A folder with pairs, a pool, their vectors as ``verite encode`` writes them, and
    no splits.
    """
    world = toy(count=60, topics=2, groups=40)
    folder = tmp_path / "room"
    for name, pairs, seed in (("pairs", world.pairs, 0), ("pool", world.pool, 5)):
        (folder / name).mkdir(parents=True)
        pairs.assign(
            split="", image_path=[f"images/{one}.png" for one in pairs["image_id"]]
        ).to_csv(folder / f"{name}.csv", index=False)
        for at, (kind, column) in enumerate(
            (("images", "image_id"), ("texts", "text_id"))
        ):
            make_vectors(pairs[column], seed + at).save(
                folder / name / f"{kind}.safetensors"
            )
    return folder


def synth(room: Path, name: str, out: Path, **more: Any) -> list[str]:
    options = {"vectors": room / "pairs"} | more
    if "CHASMA" in name:
        options = {
            "pool": str(room / "pool.csv"),
            "pool_vectors": room / "pool",
        } | options
    return synthesise(name, str(room / "pairs.csv"), out, **options)


def table(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "pairs.csv", keep_default_na=False, dtype=str)


def record(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "record.json").read_text())
    return found


@pytest.mark.parametrize("name", list(MAKERS))
def test_every_maker_writes_a_pair_table_and_a_record_that_counts_it(
    room: Path, tmp_path: Path, name: str
) -> None:
    told = synth(
        room,
        name,
        tmp_path / "out",
        options={"cluster_size": "60"} if name == "MEIR" else {},
    )
    made = validate(table(tmp_path / "out"), extra=EXTRA)
    kept = record(tmp_path / "out")
    assert kept["method"] == name
    assert kept["results"] == {"pairs.csv": sha256(tmp_path / "out" / "pairs.csv")}
    assert kept["files"][str(room / "pairs.csv")] == sha256(room / "pairs.csv")
    assert sum(
        count for labels in kept["counts"].values() for count in labels.values()
    ) == len(made)
    share = (made["label"] != "true").sum() / 60
    assert kept["makers"][name]["made share"] == share
    assert any(f"{share:.1%}" in line for line in told)


def test_pairs_and_pool_without_splits_are_dealt_first_and_no_donor_crosses(
    room: Path, tmp_path: Path
) -> None:
    told = synth(room, "CHASMA", tmp_path / "out")
    assert any(
        "pairs and pool had none; whole groups were dealt: 80% train, 10% validation,"
        " 10% test" in line
        for line in told
    )
    made = table(tmp_path / "out")
    assert set(made["split"]) == {"train", "validation", "test"}
    assert made.groupby("group")["split"].nunique().max() == 1
    assert (
        made[made["donor_id"] != ""].groupby("donor_id")["split"].nunique().max() == 1
    )


def test_a_group_of_both_pairs_and_pool_falls_on_one_side(
    room: Path, tmp_path: Path
) -> None:
    pool = pd.read_csv(room / "pool.csv", keep_default_na=False)
    pool["group"] = [
        f"g{at}" for at in range(len(pool))
    ]  # as the pairs' groups are called
    pool.to_csv(room / "pool.csv", index=False)
    synth(room, "CHASMA", tmp_path / "out")
    made = table(tmp_path / "out")
    side = made.set_index("group")["split"].to_dict()
    given = made[made["donor_id"] != ""].set_index("donor_id")["split"].to_dict()
    shared = [
        one
        for one in pool[["pair_id", "group"]].itertuples(index=False)
        if one.pair_id in given and one.group in side
    ]
    assert len(shared) > 5
    assert all(given[one.pair_id] == side[one.group] for one in shared)


def test_splits_that_are_given_stay(room: Path, tmp_path: Path) -> None:
    pairs = pd.read_csv(room / "pairs.csv", keep_default_na=False)
    pairs.assign(split="train", label="true").to_csv(room / "pairs.csv", index=False)
    told = synth(room, "RSt", tmp_path / "out")
    assert record(tmp_path / "out")["splits dealt"] == []
    assert not any("dealt" in line for line in told)
    assert list(record(tmp_path / "out")["counts"]) == ["train"]


def test_the_record_of_chasma_says_what_it_took_from_the_pool(
    room: Path, tmp_path: Path
) -> None:
    synth(room, "CHASMA", tmp_path / "out", options={"p_image": "1", "band": "-1,1"})
    counts = table(tmp_path / "out").query("donor_id != ''")["donor_id"].value_counts()
    kept = record(tmp_path / "out")["makers"]["CHASMA"]
    assert kept["pool"] == {
        "retained share": len(counts) / 40,
        "distinct donors": len(counts),
        "most used donor": counts.max(),
    }
    assert kept["parameters"] == {
        "p_image": 1.0,
        "exclude_near": None,
        "clickbait": None,
        "top_k": 1,
        "band": [-1, 1],
    }


def test_an_aggregate_has_three_classes_equal_in_training_alone(
    room: Path, tmp_path: Path
) -> None:
    synth(room, "R-NESt + CHASMA + NC-t2t", tmp_path / "out")
    counts = record(tmp_path / "out")["counts"]
    assert len(set(counts["train"].values())) == 1
    assert counts["test"]["miscaptioned"] > counts["test"]["true"]


def test_a_maker_makes_the_same_pairs_alone_and_in_an_aggregate(
    room: Path, tmp_path: Path
) -> None:
    synth(room, "R-NESt", tmp_path / "alone")
    synth(room, "RSt + R-NESt", tmp_path / "both")
    alone, both = table(tmp_path / "alone"), table(tmp_path / "both")
    shared = both[both["method"] == "R-NESt"].set_index("pair_id")
    assert len(shared) > 0
    assert shared["caption"].equals(
        alone.set_index("pair_id").loc[shared.index, "caption"]
    )


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    room: Path, tmp_path: Path
) -> None:
    digests = []
    for out, seed in (("a", 3), ("b", 3), ("c", 4)):
        synth(
            room,
            "CSt + MEIR",
            tmp_path / out,
            seed=seed,
            options={"cluster_size": "60"},
        )
        digests.append(record(tmp_path / out)["results"]["pairs.csv"])
    assert digests[0] == digests[1] != digests[2]


def test_image_paths_lead_from_the_new_table_to_the_same_files(
    room: Path, tmp_path: Path
) -> None:
    (room / "images").mkdir()
    synth(room, "NC-t2t", tmp_path / "some" / "out")
    for image_id, path in table(tmp_path / "some" / "out")[
        ["image_id", "image_path"]
    ].itertuples(index=False):
        assert (
            tmp_path / "some" / "out" / path
        ).resolve() == room / "images" / f"{image_id}.png"


def test_captions_that_were_made_are_counted_as_having_no_vectors(
    room: Path, tmp_path: Path
) -> None:
    told = synth(room, "R-NESt", tmp_path / "out", vectors=None)
    new = table(tmp_path / "out")["label"].tolist().count("miscaptioned")
    [line] = [line for line in told if line.startswith("encode:")]
    assert (
        f"{new} new captions have no vectors yet. Write: verite encode"
        f" {tmp_path / 'out' / 'pairs.csv'} " in line
    )
    assert "new captions" not in "".join(synth(room, "RSt", tmp_path / "other"))


def test_the_newsroom_comes_with_its_pool_and_its_images(tmp_path: Path) -> None:
    """Without vectors: those of its encoder are tested where it is trained."""
    synthesise("RSt", "newsroom", tmp_path, events=40)
    made = table(tmp_path)
    assert all((tmp_path / path).is_file() for path in made["image_path"])
    assert record(tmp_path)["events"] == 40
    assert set(made["dataset"]) == {"newsroom"}


def test_a_written_newsroom_can_be_encoded_and_its_swaps_then_have_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "verite",
            "synth",
            "R-NESt + CHASMA-D + CSt",
            "--data",
            "newsroom",
            "--events",
            "60",
            "--out",
            str(tmp_path),
        ],
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    assert record(tmp_path)["pool"] == "newsroom"
    command = next(
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("encode:")
    ).partition("Write: verite ")[2]
    monkeypatch.setattr(sys, "argv", ["verite", *command.split()])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    made = table(tmp_path)
    assert set(Embeddings.load(tmp_path / "vectors" / "texts.safetensors").ids) == set(
        made["text_id"]
    )
    assert set(Embeddings.load(tmp_path / "vectors" / "images.safetensors").ids) == set(
        made["image_id"]
    )


def test_entities_can_come_from_another_column(room: Path, tmp_path: Path) -> None:
    pairs = pd.read_csv(room / "pairs.csv", keep_default_na=False)
    pairs.assign(label="true").rename(columns={"entities": "names"}).to_csv(
        room / "pairs.csv", index=False
    )
    synth(room, "R-NESt", tmp_path / "out", options={"entities": "names"})
    assert record(tmp_path / "out")["makers"]["R-NESt"]["parameters"] == {
        "entities": "names"
    }


def test_spacy_entities_come_from_the_model_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from verite.synthesis import spacy_entities

    monkeypatch.setattr(
        spacy_entities,
        "spacy_entities",
        lambda *model: lambda caption: [(model, caption)],
    )
    for text, model in (("spacy", ()), ("spacy:en_core_web_trf", ("en_core_web_trf",))):
        source = parse_options(["MEIR"], {"entities": text})["MEIR"]["entities"]
        assert source("A boat.") == [(model, "A boat.")]


def test_a_pattern_keeps_captions_out_of_chasma(room: Path, tmp_path: Path) -> None:
    synth(room, "CHASMA", tmp_path / "out", options={"clickbait": "NUMBER [0-9]$"})
    used = table(tmp_path / "out").query("label != 'true'")["caption"]
    assert all(int(caption.split()[-1]) >= 10 for caption in used)
    assert (
        record(tmp_path / "out")["makers"]["CHASMA"]["parameters"]["clickbait"]
        == "NUMBER [0-9]$"
    )


def test_a_table_that_is_there_is_replaced_on_request_alone(
    room: Path, tmp_path: Path
) -> None:
    synth(room, "RSt", tmp_path / "out")
    before = (tmp_path / "out" / "pairs.csv").read_bytes()
    with pytest.raises(
        VeriteError,
        match=r"pairs.csv is there. Choose another folder, or replace it with --force",
    ):
        synth(room, "RSt", tmp_path / "out", seed=1)
    assert (tmp_path / "out" / "pairs.csv").read_bytes() == before
    synth(room, "RSt", tmp_path / "out", seed=1, force=True)
    assert (tmp_path / "out" / "pairs.csv").read_bytes() != before


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rst", {}, "no maker is called 'rst'. There are: RSt, CSt"),
        ("RSt +", {}, "no maker is called ''"),
        (
            "RSt + NC-t2t",
            {},
            (
                "an aggregate joins one maker of out-of-context pairs (RSt, CSt,"
                " NC-t2t) and one or more others, each once"
            ),
        ),
        ("RSt + MEIR + MEIR", {}, "each once"),
        ("R-NESt + MEIR", {}, "an aggregate joins one maker of out-of-context pairs"),
        (
            "CSt",
            {"options": {"near": "image"}},
            (
                "CSt has no parameter 'near'.\nCSt has:\n  by = 'either'   a word\n "
                " replace = 'either'"
            ),
        ),
        (
            "NC-t2t",
            {"options": {"by": "image"}},
            "NC-t2t has no parameter 'by'.\nNC-t2t has:\n  (none)",
        ),
        (
            "CHASMA",
            {"options": {"search": "nearest"}},
            "CHASMA has no parameter 'search'",
        ),
        ("CHASMA-D", {"options": {"pool": "x"}}, "CHASMA-D has no parameter 'pool'"),
        (
            "CSt",
            {"options": {"by": "sideways"}},
            "expected by to be image, text or either, found 'sideways'",
        ),
        (
            "CHASMA",
            {"options": {"band": "0.2"}},
            "parameter band: expected two numbers such as 0.2,0.6, found '0.2'",
        ),
        (
            "CHASMA",
            {"options": {"band": "0.6,0.2"}},
            "expected a band from low to high",
        ),
        (
            "CHASMA",
            {"options": {"p_image": "half"}},
            "parameter p_image: expected a number, found 'half'",
        ),
        (
            "CHASMA",
            {"options": {"exclude_near": "nan"}},
            "parameter exclude_near: expected a number, found 'nan'",
        ),
        (
            "CHASMA",
            {"options": {"clickbait": "("}},
            "parameter clickbait: expected a regular expression, found '('",
        ),
        (
            "CLIP-NESt",
            {"options": {"neighbours": "2.5"}},
            "parameter neighbours: expected a whole number, found '2.5'",
        ),
        (
            "CLIP-NESt",
            {"options": {"neighbours": "-1"}},
            "expected neighbours of 1 or more, found -1",
        ),
        (
            "MEIR",
            {"options": {"types": "PERSON,ANIMAL"}},
            "unknown type of entity: ANIMAL",
        ),
        (
            "R-NESt",
            {"options": {"entities": "names"}},
            (
                "has no column 'names' that lists them. Name another with -p entities"
                " COLUMN, or let spaCy"
            ),
        ),
        ("RSt", {"events": 5}, "--events is the size of a newsroom, and --data is"),
        (
            "RSt",
            {"pool": "fakeddit"},
            "--pool and --pool-vectors are for CHASMA and CHASMA-D",
        ),
        ("CHASMA", {"pool": None}, "name a data set or a CSV with --pool"),
        (
            "CHASMA",
            {"pool_vectors": None},
            "and name the folder it wrote with --pool-vectors",
        ),
        ("CSt", {"vectors": None}, "CSt needs vectors, and "),
        (
            "CSt",
            {"vectors": Path("nowhere")},
            "nowhere holds neither images.safetensors nor texts.safetensors",
        ),
    ],
)
def test_what_does_not_fit_is_one_message_and_leaves_nothing(
    room: Path, tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(VeriteError) as found:
        synth(room, name, tmp_path / "out", **options)
    assert message in str(found.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda pairs: pairs.assign(label="miscaptioned"),
            (
                "RSt: expected truthful pairs to make misleading ones from, found none"
                " labelled"
            ),
        ),
        (lambda pairs: pairs.drop(columns="topic"), "RSt: expected the columns topic"),
        (lambda pairs: pairs.drop(columns="caption"), "missing column caption"),
        (lambda pairs: pairs.head(2), "leave nothing for"),
        (
            lambda pairs: pairs.assign(split="train", topic=pairs["pair_id"]),
            "no misleading pair could be made of 60 truthful ones",
        ),
    ],
)
def test_a_table_that_no_pair_can_be_made_from_is_named(
    room: Path, tmp_path: Path, change: Any, message: str
) -> None:
    pairs = pd.read_csv(room / "pairs.csv", keep_default_na=False).assign(label="true")
    change(pairs).to_csv(room / "pairs.csv", index=False)
    with pytest.raises(VeriteError) as found:
        synth(room, "RSt", tmp_path / "out")
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            "reuters",
            (
                "no data set is called 'reuters', and there is no such file. There are:"
                " verite"
            ),
        ),
        (".", "found a folder"),
    ],
)
def test_data_that_are_not_there_are_named(
    tmp_path: Path, data: str, message: str
) -> None:
    with pytest.raises(VeriteError) as found:
        synthesise("RSt", data, tmp_path / "out")
    assert message in str(found.value)


def test_a_folder_that_is_a_file_is_named_before_any_work(room: Path) -> None:
    with pytest.raises(VeriteError, match=r"--out: expected a folder, found a file"):
        synth(room, "RSt", room / "pairs.csv")


def test_ids_that_mean_two_captions_are_refused(room: Path, tmp_path: Path) -> None:
    pool = pd.read_csv(room / "pool.csv", keep_default_na=False)
    pool.assign(text_id=[f"t{at}" for at in range(len(pool))]).to_csv(
        room / "pool.csv", index=False
    )
    with pytest.raises(
        VeriteError,
        match="stands for one caption among the pairs and for another in the pool",
    ):
        synth(room, "CHASMA", tmp_path / "out", pool_vectors=room / "pairs")


def test_an_index_on_the_disk_finds_what_the_exact_search_finds_and_tells_its_recall(
    room: Path, tmp_path: Path
) -> None:
    pytest.importorskip("faiss")
    synth(room, "CHASMA", tmp_path / "exact")
    told = synth(room, "CHASMA", tmp_path / "faiss", faiss=True)
    assert (tmp_path / "faiss" / "pairs.csv").read_bytes() == (
        tmp_path / "exact" / "pairs.csv"
    ).read_bytes()
    assert record(tmp_path / "faiss")["search"] == {"index": "FAISS", "recall": 1.0}
    assert any("finds 100.0% of the nearest" in line for line in told)
    assert "search" not in record(tmp_path / "exact")


def test_a_long_search_that_is_stopped_goes_on_and_leaves_no_blocks(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_LONG", 0)
    seen: list[int] = []

    def stop(*_: Any) -> None:
        seen.extend(
            len(list(path.glob("*.json")))
            for path in (tmp_path / "out" / "blocks").iterdir()
        )
        raise KeyboardInterrupt

    check = command._check_captions
    monkeypatch.setattr(command, "_check_captions", stop)
    with pytest.raises(KeyboardInterrupt):
        synth(room, "CHASMA", tmp_path / "out")
    assert sum(seen) > 0
    monkeypatch.setattr(command, "_check_captions", check)
    monkeypatch.setattr(retrieval, "search_block", stop)  # all that is needed was kept
    synth(room, "CHASMA", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "pairs.csv",
        "record.json",
    ]
