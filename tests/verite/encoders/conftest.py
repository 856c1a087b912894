"""A CLIP small enough for tests.

Two layers, random weights, an architecture of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from verite.encoders import Encoder

TINY = {
    "embed_dim": 16,
    "vision_cfg": {
        "image_size": 32,
        "layers": 2,
        "width": 32,
        "head_width": 16,
        "patch_size": 8,
    },
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 32,
        "heads": 2,
        "layers": 2,
    },
}


@pytest.fixture(scope="session")
def tiny_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("architecture") / "verite-tests-tiny.json"
    path.write_text(json.dumps(TINY), encoding="utf8")
    return path


@pytest.fixture(scope="session")
def tiny(tiny_config: Path) -> Encoder:
    return Encoder.load(str(tiny_config), "random", device="cpu")


@pytest.fixture(scope="session")
def tiny_weights(tiny: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safetensors.torch import save_file

    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    save_file(tiny.model.state_dict(), path)
    return path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Twelve small PNGs by id."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    paths = {}
    for number in range(12):
        paths[f"i{number}"] = folder / f"{number}.png"
        Image.fromarray(
            rng.integers(0, 256, (40 + number, 50, 3), dtype=np.uint8)
        ).save(paths[f"i{number}"])
    return paths
