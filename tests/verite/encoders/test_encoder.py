"""Tables of images and captions to vectors.

Each once, exactly, resumable, and nothing dropped in silence.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from verite.embeddings import concatenate
from verite.encoders import Encoder
from verite.encoders.texts import can_cut, tokenize
from verite.encoders.weights import REGISTERED, weights_digest
from verite.errors import DataError, DownloadError, MissingDataError, ParameterError

WORDS = ["boat", "dog", "mayor", "bridge", "storm", "market", "old", "river", "rain"]


def captions(count: int) -> dict[str, str]:
    """Captions of three to fifty words."""
    rng = np.random.default_rng(0)
    return {
        f"t{number}": (
            " ".join(rng.choice(WORDS, 3 + number * 47 // count)) + f" {number}"
        )
        for number in range(count)
    }


def count_calls(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    seen: list[object] = []
    monkeypatch.setattr(
        encoder,
        "_prepare",
        lambda source, inner=encoder._prepare: seen.append(source) or inner(source),
    )
    return seen


# --- loading


def test_random_weights_are_fixed_and_leave_the_global_state_alone(
    tiny: Encoder, tiny_config: Path
) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert Encoder.load(str(tiny_config), "random", device="cpu").digest == tiny.digest
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("suffix", ["safetensors", "pt", "bin"])
def test_every_kind_of_file_gives_the_same_digest(
    tiny: Encoder,
    tiny_config: Path,
    tmp_path: Path,
    pictures: dict[str, Path],
    suffix: str,
) -> None:
    path = tmp_path / f"copy.{suffix}"
    state = tiny.model.state_dict()
    save_file(state, path) if suffix == "safetensors" else torch.save(state, path)
    copy = Encoder.load(str(tiny_config), path, device="cpu")
    assert copy.identity == f"verite-tests-tiny/local@{tiny.digest[:12]}"
    one, other = (
        each.encode_images(pictures, normalise=True).embeddings for each in (tiny, copy)
    )
    np.testing.assert_array_equal(one.matrix, other.matrix)


def test_another_number_anywhere_gives_another_digest(tiny: Encoder) -> None:
    state = {name: value.clone() for name, value in tiny.model.state_dict().items()}
    state["ln_final.bias"][3] += 1e-6

    class Holder(torch.nn.Module):
        def state_dict(self, *_: object, **__: object) -> dict[str, torch.Tensor]:  # type: ignore[override]
            return state

    assert weights_digest(Holder()) != tiny.digest


class Trap:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.mark),)


def test_a_checkpoint_that_would_run_code_is_refused_and_never_run(
    tiny_config: Path, tmp_path: Path
) -> None:
    torch.save({"weight": Trap(tmp_path / "mark")}, tmp_path / "new.pt")
    (tmp_path / "old.pt").write_bytes(pickle.dumps({"weight": Trap(tmp_path / "mark")}))
    for name in ("new.pt", "old.pt"):
        with pytest.raises(DataError, match=r"\.pt: weights cannot be read safely"):
            Encoder.load(str(tiny_config), tmp_path / name, device="cpu")
    assert not (tmp_path / "mark").exists()


def test_weights_of_another_architecture_are_refused(
    tiny_config: Path, tmp_path: Path
) -> None:
    save_file({"visual.proj": torch.zeros(3, 3)}, tmp_path / "w.safetensors")
    with pytest.raises(DataError, match=r"w\.safetensors: weights do not fit"):
        Encoder.load(str(tiny_config), tmp_path / "w.safetensors", device="cpu")


@pytest.mark.parametrize(
    "content", [b"not weights", b"\x10\0\0\0\0\0\0\0{}", bytes(100)]
)
@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_a_damaged_checkpoint_is_an_error_that_names_it(
    tiny_config: Path, tmp_path: Path, suffix: str, content: bytes
) -> None:
    path = tmp_path / f"w.{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"w\.{suffix}: weights"):
        Encoder.load(str(tiny_config), path, device="cpu")


@pytest.mark.parametrize(
    ("name", "weights", "device", "message"),
    [
        ("ViT-L14", "openai", "cpu", r"no architecture 'ViT-L14'.*Did you mean .*L-14"),
        ("ViT-L-14", "openay", "cpu", r"no weights 'openay'.*Did you mean openai"),
        ("ViT-L-14", None, "cpu", r"which weights for ViT-L-14\?.* openai.*'random'"),
        ("tiny.json", "gone.safetensors", "cpu", r"no such file: .*gone\.safetensors"),
        ("gone.json", "random", "cpu", r"no such file: .*gone\.json"),
        ("tiny.json", "tiny.json", "cpu", r"expected a checkpoint .*\.safetensors"),
        ("tiny.json", "random", "abacus", r"device 'abacus' cannot be used here"),
        ("part.json", "random", "cpu", r"it has no vision_cfg, text_cfg"),
        ("text.json", "random", "cpu", r"text\.json: .* found no JSON"),
        ("ViT-B-32.json", "random", "cpu", r"another architecture is called ViT-B-32"),
    ],
)
def test_what_cannot_be_loaded_is_named(
    tiny_config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    weights: str | None,
    device: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(tiny_config, "tiny.json")
    Path("part.json").write_text('{"embed_dim": 3}', encoding="utf8")
    Path("text.json").write_text("x", encoding="utf8")
    Path("ViT-B-32.json").write_text(
        '{"embed_dim": 3, "vision_cfg": {}, "text_cfg": {}}', encoding="utf8"
    )
    path = Path(weights) if weights and "." in weights else weights
    with pytest.raises((ParameterError, DataError, MissingDataError), match=message):
        Encoder.load(name, path, device=device)


def test_a_failed_download_says_how_to_get_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(*_: object, **__: object) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr("open_clip.pretrained.download_pretrained", unreachable)
    with pytest.raises(
        DownloadError, match=r"could not be fetched \(no route.*https://.*-quickgelu"
    ):
        Encoder.load("ViT-B-32", "openai", device="cpu")


def test_a_tag_sets_activation_and_preprocessing(
    tiny: Encoder,
    tiny_weights: Path,
    pictures: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from open_clip import pretrained
    from open_clip.transformer import QuickGELU

    tag = {
        "file": str(tiny_weights),
        "quick_gelu": True,
        "mean": (0.5, 0.5, 0.5),
        "std": (0.5, 0.5, 0.5),
    }
    monkeypatch.setitem(pretrained._PRETRAINED, tiny.name, {"mine": tag})
    tagged = Encoder.load(tiny.name, "mine", device="cpu")
    assert tagged.identity == f"{tiny.name}/mine@{tiny.digest[:12]}"
    assert sum(isinstance(part, QuickGELU) for part in tagged.model.modules()) == 4
    assert '"mean": [0.5, 0.5, 0.5]' in tagged.about["preprocess"]
    np.testing.assert_allclose(
        tagged.encode_images(pictures, normalise=False).embeddings.matrix,
        one_by_one(tagged, pictures),
        atol=1e-5,
    )


def test_a_registered_encoder(
    tiny: Encoder, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTERED, "mine", lambda: (tiny.name, tiny_weights))
    loaded = Encoder.load("mine", device="cpu")
    assert loaded.identity == f"{tiny.name}/mine@{tiny.digest[:12]}"
    with pytest.raises(ParameterError, match="its own weights"):
        Encoder.load("mine", "openai", device="cpu")


# --- images


def one_by_one(encoder: Encoder, paths: dict[str, Path]) -> np.ndarray:
    from open_clip.transform import PreprocessCfg, image_transform_v2

    prepare = image_transform_v2(
        PreprocessCfg(**encoder.model.visual.preprocess_cfg), is_train=False
    )
    with torch.inference_mode():
        return np.concatenate(
            [
                encoder.model.encode_image(
                    prepare(Image.open(path)).unsqueeze(0)
                ).numpy()
                for path in paths.values()
            ]
        )


@pytest.mark.parametrize("batch_size", [1, 5, 64])
def test_images_get_the_vectors_of_open_clip(
    tiny: Encoder, pictures: dict[str, Path], batch_size: int
) -> None:
    found = tiny.encode_images(
        pictures, normalise=False, batch_size=batch_size, threads=3
    )
    np.testing.assert_allclose(
        found.embeddings.rows(pictures), one_by_one(tiny, pictures), atol=1e-5
    )
    assert found.embeddings.ids == tuple(pictures)
    assert found.embeddings.matrix.dtype == np.float32
    assert found.ledger.empty


def test_embeddings_record_encoder_and_normalisation(
    tiny: Encoder, pictures: dict[str, Path]
) -> None:
    raw, unit = (
        tiny.encode_images(pictures, normalise=flag).embeddings
        for flag in (False, True)
    )
    assert raw.encoder == unit.encoder == tiny.identity
    assert (raw.about["normalised"], unit.about["normalised"]) == ("no", "yes")
    assert raw.about["digest"] == tiny.digest
    assert raw.about["precision"] == "float32"
    assert not np.allclose(np.linalg.norm(raw.matrix, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(unit.matrix, axis=1), 1, atol=1e-6)
    with pytest.raises(DataError, match="normalised no, .* normalised yes"):
        concatenate([raw, unit])


def test_each_distinct_image_is_decoded_once(
    tiny: Encoder, pictures: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_calls(tiny, monkeypatch)
    image = Image.new("RGB", (40, 40), "red")
    sources = {
        "a": pictures["i0"],
        "b": str(pictures["i0"]),
        "c": image,
        "d": image,
        "e": pictures["i1"],
    }
    found = tiny.encode_images(sources, normalise=True).embeddings
    assert len(seen) == 3
    np.testing.assert_array_equal(found.rows(["a", "c"]), found.rows(["b", "d"]))
    assert not np.array_equal(found.rows(["a"]), found.rows(["e"]))


def test_the_ledger_lists_bad_images_by_id(
    tiny: Encoder, pictures: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "page.jpg").write_text("<html>", encoding="utf8")
    Image.new("LA", (40, 40), (0, 0)).save(tmp_path / "see-through.png")
    sources = {
        "good": pictures["i0"],
        "page": tmp_path / "page.jpg",
        "clear": tmp_path / "see-through.png",
        "gone": tmp_path / "gone.png",
        "url": "http://example.org/a.jpg",
        "again": str(tmp_path / "page.jpg"),
    }
    found = tiny.encode_images(sources, normalise=True)
    assert found.embeddings.ids == ("good", "clear")
    assert found.ledger.columns.tolist() == ["id", "source", "status", "what"]
    assert dict(zip(found.ledger["id"], found.ledger["status"], strict=True)) == {
        "page": "failed",
        "clear": "handled",
        "gone": "failed",
        "url": "failed",
        "again": "failed",
    }
    assert found.ledger.set_index("id").loc["gone", "what"].startswith("no such file")
    assert "found a URL" in found.ledger.set_index("id").loc["url", "what"]


def test_no_encodable_image_is_an_error(tiny: Encoder, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"none of 2 image\(s\) could be encoded: no such file"
    ):
        tiny.encode_images(
            {"a": tmp_path / "a.png", "b": tmp_path / "b.png"}, normalise=True
        )
    with pytest.raises(DataError, match="expected at least one image"):
        tiny.encode_images({}, normalise=True)


def test_a_batch_of_nothing_is_refused(
    tiny: Encoder, pictures: dict[str, Path]
) -> None:
    with pytest.raises(
        ParameterError, match="batch_size: expected at least 1, found 0"
    ):
        tiny.encode_images(pictures, normalise=True, batch_size=0)
    with pytest.raises(
        ParameterError, match="shard_size: expected at least 1, found -1"
    ):
        tiny.encode_texts({"a": "A boat."}, normalise=True, shard_size=-1)


@pytest.mark.parametrize("amx", [True, False])
def test_half_precision_is_near_and_only_where_it_is_fast(
    tiny: Encoder,
    pictures: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    amx: bool,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": amx})
    for encode, items in (
        (tiny.encode_images, pictures),
        (tiny.encode_texts, captions(9)),
    ):
        full, half = (
            encode(items, normalise=True, autocast=flag).embeddings  # type: ignore[operator]
            for flag in (False, True)
        )
        assert half.about["precision"] == ("bfloat16" if amx else "float32")
        assert half.matrix.dtype == np.float32
        assert (full.matrix * half.matrix).sum(axis=1).min() > 0.999
        assert np.array_equal(full.matrix, half.matrix) == (not amx)


# --- captions


def at_full_length(encoder: Encoder, texts: dict[str, str]) -> np.ndarray:
    with torch.inference_mode():
        return np.concatenate(
            [
                encoder.model.encode_text(encoder.tokenizer([text])).numpy()
                for text in texts.values()
            ]
        )


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_captions_without_padding_get_the_same_vectors(
    tiny: Encoder, batch_size: int
) -> None:
    texts = captions(30) | {
        "long": "storm " * 200,
        "early": "a boat <end_of_text> a dog and a bridge",
    }
    found = tiny.encode_texts(texts, normalise=False, batch_size=batch_size)
    np.testing.assert_allclose(
        found.embeddings.rows(texts), at_full_length(tiny, texts), atol=1e-5
    )
    assert found.embeddings.ids == tuple(texts)


def test_padding_behind_the_longest_caption_is_cut(
    tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[tuple[int, ...]] = []
    inner = tiny.model.encode_text
    monkeypatch.setattr(
        tiny.model,
        "encode_text",
        lambda tokens: widths.append(tuple(tokens.shape)) or inner(tokens),
    )
    tiny.encode_texts(
        {"a": "storm " * 50, "b": "a boat", "c": "a dog", "d": "an old dog"},
        normalise=True,
        batch_size=2,
    )
    assert widths == [(2, 4), (2, 52)]
    assert tuple(tiny.model.positional_embedding.shape) == (77, 32)
    assert tuple(tiny.model.attn_mask.shape) == (77, 77)


@pytest.mark.parametrize(
    ("change", "short"),
    [
        ({"pool_type": "last"}, False),
        ({"no_causal_mask": True}, False),
        ({"embed_cls": True, "pad_id": 0}, False),
        ({"pool_type": "eos", "eos_id": 49407}, True),
    ],
    ids=["last", "not causal", "own tower", "end token"],
)
def test_towers_that_look_at_padding_get_the_full_length(
    tiny_config: Path, tmp_path: Path, change: dict[str, object], short: bool
) -> None:
    config = json.loads(tiny_config.read_text(encoding="utf8"))
    config["text_cfg"] |= change
    config["custom_text"] = "embed_cls" in change
    path = tmp_path / f"verite-tests-{'-'.join(change)}.json"
    path.write_text(json.dumps(config), encoding="utf8")
    encoder = Encoder.load(str(path), "random", device="cpu")
    assert can_cut(encoder.model) == short
    texts = captions(6)
    found = encoder.encode_texts(texts, normalise=False, batch_size=4).embeddings
    np.testing.assert_allclose(
        found.rows(texts), at_full_length(encoder, texts), atol=1e-5
    )


@pytest.mark.parametrize(
    ("words", "truncated"),
    [(74, False), (75, False), (76, True), (77, True), (300, True)],
)
def test_captions_over_75_tokens_are_truncated(
    tiny: Encoder, words: int, truncated: bool
) -> None:
    text = " ".join(["storm"] * words)
    tokens, found = tokenize(tiny.tokenizer, [text])
    assert found.tolist() == [truncated]
    assert tokens.shape == (1, 77)
    assert tokens[0, 0] == tiny.tokenizer.sot_token_id
    assert (tokens[0] == tiny.tokenizer.eot_token_id).sum() == 1
    ledger = tiny.encode_texts({"t": text}, normalise=True).ledger
    assert ledger.to_numpy().tolist() == (
        [["t", text, "handled", "truncated to 77 tokens"]] if truncated else []
    )


def test_unusable_captions_fail_with_the_reason(tiny: Encoder) -> None:
    texts = {
        "a": "A boat.",
        "b": "",
        "c": " \n",
        "d": None,
        "e": "half \ud83d",
        "f": "漢字 😀",
    }
    found = tiny.encode_texts(texts, normalise=True)  # type: ignore[arg-type]
    assert found.embeddings.ids == ("a", "f")
    assert found.ledger["id"].tolist() == ["b", "c", "d", "e"]
    assert set(found.ledger["status"]) == {"failed"}
    assert found.ledger["source"].iloc[-1] == "half \\ud83d"
    with pytest.raises(
        DataError, match=r"none of 1 caption\(s\) could be encoded: an empty caption"
    ):
        tiny.encode_texts({"a": ""}, normalise=True)


def test_each_distinct_caption_is_encoded_once(
    tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    inner = tiny.model.encode_text
    monkeypatch.setattr(
        tiny.model,
        "encode_text",
        lambda tokens: counted.append(len(tokens)) or inner(tokens),
    )
    found = tiny.encode_texts(
        {"a": "A boat.", "b": "A dog.", "c": "A boat."}, normalise=True
    ).embeddings
    assert sum(counted) == 2
    np.testing.assert_array_equal(found.rows(["a"]), found.rows(["c"]))


# --- shards


def test_a_stopped_run_continues_with_the_same_result(
    tiny: Encoder,
    pictures: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options: dict[str, object] = {"normalise": True, "batch_size": 2, "shard_size": 3}
    sources = {**pictures, "bad": tmp_path / "gone.png"}
    whole = tiny.encode_images(sources, **options)  # type: ignore[arg-type]
    seen = count_calls(tiny, monkeypatch)
    inner = tiny._prepare

    def interrupted(source: object) -> object:
        if len(seen) == 8:
            raise KeyboardInterrupt
        return inner(source)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(tiny, "_prepare", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tiny.encode_images(
                sources, directory=tmp_path / "shards", threads=1, **options
            )  # type: ignore[arg-type]
    assert len(list((tmp_path / "shards").iterdir())) == 2
    seen.clear()
    resumed = tiny.encode_images(sources, directory=tmp_path / "shards", **options)  # type: ignore[arg-type]
    assert len(seen) == 7
    np.testing.assert_array_equal(whole.embeddings.matrix, resumed.embeddings.matrix)
    assert whole.embeddings.about == resumed.embeddings.about
    again = tiny.encode_images(sources, directory=tmp_path / "shards", **options)  # type: ignore[arg-type]
    assert len(seen) == 7
    for each in (resumed, again):
        assert each.ledger.equals(whole.ledger)
        assert each.embeddings.ids == whole.embeddings.ids


@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
def test_a_damaged_shard_is_encoded_again(
    tiny: Encoder,
    pictures: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: str,
) -> None:
    first = tiny.encode_images(
        pictures, normalise=True, directory=tmp_path, shard_size=6
    ).embeddings
    shards = sorted(tmp_path.iterdir())
    content = bytearray(shards[0].read_bytes())
    if damage == "cut":
        shards[0].write_bytes(content[:-10])
    elif damage == "flip":
        content[-9] ^= 1
        shards[0].write_bytes(content)
    else:
        shutil.copy(shards[1], shards[0])
    seen = count_calls(tiny, monkeypatch)
    again = tiny.encode_images(
        pictures, normalise=True, directory=tmp_path, shard_size=6
    ).embeddings
    assert len(seen) == 6
    np.testing.assert_array_equal(first.matrix, again.matrix)


def test_a_shard_with_other_images_or_options_is_encoded_again(
    tiny: Encoder,
    pictures: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = {key: Path(shutil.copy(path, tmp_path)) for key, path in pictures.items()}
    seen = count_calls(tiny, monkeypatch)
    shards = tmp_path / "shards"
    tiny.encode_images(sources, normalise=True, directory=shards, shard_size=4)
    seen.clear()
    shutil.copy(pictures["i3"], sources["i0"])
    changed = tiny.encode_images(
        sources, normalise=True, directory=shards, shard_size=4
    ).embeddings
    assert len(seen) == 4
    np.testing.assert_array_equal(changed.rows(["i0"]), changed.rows(["i3"]))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    for options in ({"normalise": False}, {"normalise": True, "autocast": True}):
        seen.clear()
        tiny.encode_images(sources, directory=shards, shard_size=4, **options)  # type: ignore[arg-type]
        assert len(seen) == 12


def test_a_shard_without_vectors_is_kept(
    tiny: Encoder,
    pictures: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = {"bad": tmp_path / "gone.png", "good": pictures["i0"]}
    first = tiny.encode_images(
        sources, normalise=True, directory=tmp_path / "shards", shard_size=1
    )
    seen = count_calls(tiny, monkeypatch)
    again = tiny.encode_images(
        sources, normalise=True, directory=tmp_path / "shards", shard_size=1
    )
    assert seen == []
    assert again.ledger.equals(first.ledger)
    Image.new("RGB", (40, 40)).save(tmp_path / "gone.png")
    assert tiny.encode_images(
        sources, normalise=True, directory=tmp_path / "shards", shard_size=1
    ).ledger.empty


def test_shards_of_images_in_memory_and_captions(
    tiny: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_calls(tiny, monkeypatch)
    for colour, count in (("red", 1), ("red", 1), ("blue", 2)):
        tiny.encode_images(
            {"a": Image.new("RGB", (40, 40), colour)},
            normalise=True,
            directory=tmp_path,
        )
        assert len(seen) == count
    for caption, files in (("A boat.", 3), ("A boat.", 3), ("A dog.", 4)):
        tiny.encode_texts({"a": caption}, normalise=True, directory=tmp_path)
        assert len(list(tmp_path.iterdir())) == files


def test_the_newsroom_registers_its_encoder_by_itself():
    code = (
        "from importlib.metadata import entry_points\n"
        "from verite.encoders.weights import REGISTERED\n"
        "assert 'newsroom' not in REGISTERED\n"
        "[module] = entry_points(group='verite.encoders', name='newsroom')\n"
        "module.load()\n"
        "assert 'newsroom' in REGISTERED"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
