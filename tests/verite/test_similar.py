from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from verite.audit.images import read_files
from verite.embeddings import Embeddings
from verite.similar import cluster, near_captions, near_hashes, near_images

WORDS = [f"word{at}" for at in range(500)]


def captions(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 20)) for _ in range(count)]


def test_a_caption_with_one_word_more_is_found_among_thousands():
    texts = captions(2000)
    found = near_captions([*texts, f"{texts[700]} again"])
    assert found[["first", "second"]].to_numpy().tolist() == [[700, 2000]]
    assert found["similarity"].iloc[0] == 18 / 19


def test_equal_captions_but_for_case_are_similar_by_one():
    found = near_captions(["A boat.", "A dog.", "a boat"])
    assert found.to_numpy().tolist() == [[0, 2, 1.0]]


def test_different_captions_are_not_paired():
    assert near_captions(captions(300)).empty
    assert near_captions(["one"]).empty
    assert near_captions([]).empty


def test_a_thousand_equal_captions_are_one_cluster():
    found = near_captions(["a red boat near a bridge in the rain at night"] * 1000)
    assert len(found) == 999
    assert (
        len(set(cluster(1000, found["first"].to_numpy(), found["second"].to_numpy())))
        == 1
    )


def test_captions_without_spaces_are_compared_by_letters():
    one = "一艘红色的小船停在河上的老桥旁边今天早上下雨了"
    assert near_captions([one, f"{one}又", "另一条完全不同的消息在这里出现"])[
        ["first", "second"]
    ].to_numpy().tolist() == [[0, 1]]


def test_images_with_nearly_one_vector_are_found_once():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50, 32)).astype(np.float32)
    vectors[7] = vectors[3] + 0.05 * rng.standard_normal(32)
    ids = [f"i{at:02d}" for at in range(50)]
    found = near_images(Embeddings(ids, vectors, encoder="toy"), ids)
    assert found[["first", "second"]].to_numpy().tolist() == [["i03", "i07"]]


def test_a_picture_saved_anew_is_found_by_its_hash_and_bad_files_are_named(
    tmp_path: Path,
):
    rng = np.random.default_rng(0)
    smooth = [
        Image.fromarray(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)).resize(
            (160, 120), Image.Resampling.BICUBIC
        )
        for _ in range(3)
    ]
    for at, picture in enumerate(smooth):
        picture.save(tmp_path / f"{at}.png")
    smooth[0].resize((80, 60)).save(tmp_path / "copy.jpg", quality=80)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    paths = {
        name: name
        for name in (
            "0.png",
            "1.png",
            "2.png",
            "copy.jpg",
            "broken.png",
            "gone.png",
            "../outside.png",
        )
    }
    files, bad = read_files(tmp_path, paths)
    assert bad == ["broken.png", "gone.png", "../outside.png"]
    assert (files["copy.jpg"].format, files["copy.jpg"].width) == ("JPEG", 80)
    assert near_hashes({name: file.hash for name, file in files.items()})[
        ["first", "second"]
    ].to_numpy().tolist() == [["0.png", "copy.jpg"]]
