"""Encoding a table of pairs: the package's way against one pair at a time.

The table repeats its images and captions as VERITE's does: 1,001 pairs over 663 images
and 675 captions. Both ways use ViT-B-32 with random weights, in one process and in
turn. One pair at a time means: open the image, prepare it, encode it, tokenise its
caption, encode it at the full 77 tokens. The package encodes each distinct image and
caption once, in batches, decodes in threads, and cuts captions after the longest of a
batch.

Printed are pairs per second and their ratios; how far vectors of length 1 differ; and
each way's peak memory, in a process of its own, model and libraries included. Autocast
computes in bfloat16 on processors with matrix units (AMX) and on GPUs; other processors
multiply halves no faster, so they stay with float32 and both ratios are one.

Run: python benchmarks/encoding.py [--pairs 1001] [--rounds 3] [--device cpu] [--threads
0]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image, ImageFilter

from verite.encoders import Encoder

PAIRS, IMAGES, CAPTIONS = 1001, 663, 675
SIZES = ((1024, 683), (1200, 800), (800, 600), (640, 853), (960, 540))
WORDS = {
    "who": [
        "a mayor",
        "two firefighters",
        "the striking drivers",
        "a crowd of students",
        "an elderly fisherman",
        "the visiting minister",
    ],
    "does": [
        "waits beside",
        "walks slowly past",
        "looks over",
        "gathers in front of",
        "hands out water near",
        "is photographed at",
    ],
    "where": [
        "a flooded bridge",
        "the burnt town hall",
        "an empty market",
        "the northern harbour",
        "a crowded railway station",
        "the old stadium",
    ],
    "when": [
        "on Monday morning",
        "after the storm of last week",
        "during the third day of protests",
        "shortly before the election",
    ],
    "why": [
        "while workers search for survivors",
        "as prices rise again",
        "because the roads are closed",
        "as the snow keeps falling",
    ],
}
Vectors = tuple[np.ndarray, np.ndarray]


def main() -> None:
    """Measure the three ways and print the ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=PAIRS)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--device", default="cpu")
    options.add_argument(
        "--threads", type=int, default=0, help="threads of torch; 0 leaves its choice"
    )
    options.add_argument("--peak", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as folder:
        table = _table(Path(folder), given.pairs)
        ways = _ways(Encoder.load("ViT-B-32", "random", device=given.device), table)
        if given.peak:
            ways[given.peak]()
            print(
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                // (1 if sys.platform != "darwin" else 1024)
            )
            return
        _compare(ways, table, given)


def _compare(
    ways: dict[str, Callable[[], Vectors]],
    table: pd.DataFrame,
    given: argparse.Namespace,
) -> None:
    print(
        f"{len(table):,} pairs over {table['image'].nunique():,} images and"
        f" {table['caption'].nunique():,} captions, {given.device}, "
        f"{torch.get_num_threads()} thread(s), {given.rounds} round(s), matrix units"
        " for bfloat16: "
        f"{'yes' if given.device != 'cpu' or torch.cpu.get_capabilities().get('amx_bf16') else 'no'}"  # noqa: E501
    )
    rates: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, Vectors] = {}
    for _ in range(given.rounds):
        # In turn, so that a machine whose speed drifts is as fast for the one as for
        # the other.
        for name, way in ways.items():
            begin = time.perf_counter()
            found[name] = way()
            rates[name].append(len(table) / (time.perf_counter() - begin))
    for name in ways:
        ratio = statistics.median(
            one / other
            for one, other in zip(rates[name], rates["one pair at a time"], strict=True)
        )
        apart = max(
            float(np.abs(a - b).max())
            for a, b in zip(found[name], found["one pair at a time"], strict=True)
        )
        cosine = min(
            float((a * b).sum(axis=1).min())
            for a, b in zip(found[name], found["one pair at a time"], strict=True)
        )
        words = [
            sys.executable,
            __file__,
            "--peak",
            name,
            "--pairs",
            str(given.pairs),
            "--device",
            given.device,
        ]
        peak = (
            int(
                subprocess.run(
                    [*words, "--threads", str(given.threads)],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            / 1024
        )
        print(
            f"{name:20} {statistics.median(rates[name]):8.2f} pairs/s   ratio"
            f" {ratio:5.2f}   largest difference {apart:.1e}   smallest cosine"
            f" {cosine:.6f}   peak memory {peak:,.0f} MiB"
        )


def _ways(encoder: Encoder, table: pd.DataFrame) -> dict[str, Callable[[], Vectors]]:
    from open_clip.transform import PreprocessCfg, image_transform_v2

    prepare = image_transform_v2(
        PreprocessCfg(**encoder.model.visual.preprocess_cfg), is_train=False
    )

    def one_by_one() -> Vectors:
        images, texts = [], []
        with torch.inference_mode():
            for image, caption in zip(table["image"], table["caption"], strict=True):
                with Image.open(image) as opened:
                    pixels = prepare(opened).unsqueeze(0).to(encoder.device)
                images.append(
                    encoder.model.encode_image(pixels, normalize=True).cpu().numpy()
                )
                texts.append(
                    encoder.model.encode_text(
                        encoder.tokenizer([caption]).to(encoder.device), normalize=True
                    )
                    .cpu()
                    .numpy()
                )
        return np.concatenate(images), np.concatenate(texts)

    def at_once(autocast: bool) -> Vectors:
        images = encoder.encode_images(
            {path: path for path in table["image"]}, normalise=True, autocast=autocast
        )
        texts = encoder.encode_texts(
            {caption: caption for caption in table["caption"]},
            normalise=True,
            autocast=autocast,
        )
        assert images.ledger.empty  # noqa: S101
        return images.embeddings.rows(table["image"]), texts.embeddings.rows(
            table["caption"]
        )

    return {
        "one pair at a time": one_by_one,
        "float32": lambda: at_once(False),
        "autocast": lambda: at_once(True),
    }


def _table(folder: Path, pairs: int) -> pd.DataFrame:
    """Draw pairs over JPEGs of the usual sizes and captions of about twenty words."""
    rng = np.random.default_rng(0)
    images = [
        folder / f"{number}.jpg"
        for number in range(max(1, round(pairs * IMAGES / PAIRS)))
    ]
    for number, path in enumerate(images):
        # Blots of all sizes under fine grain: about as many bytes, and as much work for
        # a decoder, as a photograph.
        blots = Image.fromarray(
            rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)
        ).resize(SIZES[number % len(SIZES)], Image.Resampling.BICUBIC)
        grain = Image.fromarray(
            rng.integers(0, 256, (*blots.size[::-1], 3), dtype=np.uint8)
        ).filter(ImageFilter.GaussianBlur(1))
        Image.blend(blots, grain, 0.25).save(path, quality=85)
    captions = [
        ", ".join((" ".join(words[:3]), *words[3:])) + "."
        for words in itertools.product(*WORDS.values())
    ]
    chosen = rng.permutation(captions)[: max(1, round(pairs * CAPTIONS / PAIRS))]
    rows = np.arange(pairs)
    return pd.DataFrame(
        {
            "image": [str(images[at]) for at in rows % len(images)],
            "caption": chosen[rng.permutation(rows) % len(chosen)],
        }
    )


if __name__ == "__main__":
    main()
