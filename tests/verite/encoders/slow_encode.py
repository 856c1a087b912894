"""The command line with small shards and a pause at each image.

What a test needs to kill it half-way.
"""

from __future__ import annotations

import functools
import os
import time

from verite import cli
from verite.encoders import encoder


def slowly(source: object, decode: object = encoder.decode) -> object:
    time.sleep(float(os.environ["VERITE_TEST_PAUSE"]))
    return decode(source)  # type: ignore[operator]


if __name__ == "__main__":
    size = int(os.environ["VERITE_TEST_SHARD"])
    encoder.decode = slowly  # type: ignore[assignment]
    encoder.Encoder.encode_images = functools.partialmethod(
        encoder.Encoder.encode_images, shard_size=size
    )  # type: ignore[assignment]
    encoder.Encoder.encode_texts = functools.partialmethod(
        encoder.Encoder.encode_texts, shard_size=size
    )  # type: ignore[assignment]
    cli.main()
