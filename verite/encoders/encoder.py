"""A CLIP that encodes tables: each distinct image and caption once, in batches."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import os
import warnings
from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from verite.blocks import content_key, core_count, run_blocks
from verite.devices import pick_device
from verite.embeddings import Embeddings
from verite.encoders.items import (
    Advance,
    Encoded,
    Run,
    ahead,
    fingerprint,
    identity,
    shown,
    stack,
)
from verite.encoders.pictures import Source, decode, preprocessing
from verite.encoders.texts import encode_tokens, tokenize, unusable
from verite.encoders.weights import Loaded, load_model, weights_digest
from verite.errors import DataError, ParameterError, VeriteError, name_some

if TYPE_CHECKING:
    import torch

__all__ = ["Encoder"]


@dataclass(frozen=True)
class _Options:
    normalise: bool
    batch_size: int
    autocast: bool
    directory: str | os.PathLike[str] | None
    shard_size: int
    progress: str

    def __post_init__(self) -> None:
        for name in ("batch_size", "shard_size"):
            if getattr(self, name) < 1:
                raise ParameterError(
                    f"{name}: expected at least 1, found {getattr(self, name)}."
                )


class Encoder:
    """An image and a text tower with a common space, and their preprocessing.

    Get one with :meth:`load`.

    Attributes
    ----------
    identity
        Architecture, weights and the first twelve digits of the weights' digest, such
        as ``"ViT-B-32/openai@3f2a9c01d7e4"``. Embeddings carry it; vectors of different
        encoders do not mix.
    digest
        SHA-256 of the weights, whatever file they came from.
    """

    def __init__(self, loaded: Loaded, device: torch.device) -> None:
        self.name, self.tag = loaded.name, loaded.tag
        self.model: Any = loaded.model.to(device)
        self.tokenizer = loaded.tokenizer
        self.device = device
        self.digest = weights_digest(loaded.model)
        self.identity = f"{self.name}/{self.tag}@{self.digest[:12]}"

    def __repr__(self) -> str:
        return f"Encoder({self.identity}, {self.device})"

    @classmethod
    def load(
        cls,
        name: str,
        pretrained: str | os.PathLike[str] | None = None,
        *,
        device: str = "auto",
    ) -> Encoder:
        """Load a CLIP.

        Parameters
        ----------
        name
            An architecture of open_clip, such as ``"ViT-L-14"``; the path of a model
            configuration (.json); or a registered encoder: ``"newsroom"``, the small
            CLIP that is trained on the newsroom at first use.
        pretrained
            A tag of open_clip, such as ``"openai"``; the path of a checkpoint
            (.safetensors; .pt, .pth and .bin are read as plain tensors, never as
            pickled objects); or ``"random"``, weights from a fixed seed. For OpenAI's
            weights from a file, choose the architecture with ``-quickgelu`` at its end:
            the file does not say which activation they need.
        device
            ``"cpu"``, ``"cuda"``, ``"mps"``, ...; ``"auto"`` prefers a GPU.

        Raises
        ------
        ParameterError
            Unknown architecture, tag or device, or no weights named.
        MissingDataError, DataError
            The checkpoint is missing, damaged, pickled or of another architecture.
        DownloadError
            The weights could not be fetched; the message says how to get them by hand.
        """
        return cls(load_model(name, pretrained), pick_device(device))

    @cached_property
    def about(self) -> dict[str, str]:
        """What embeddings record of their encoder: weights, preprocessing, versions."""
        import open_clip
        import torch

        preprocess = {**self.model.visual.preprocess_cfg}
        preprocess.pop("fill_color", None)
        return {
            "name": self.name,
            "tag": self.tag,
            "digest": self.digest,
            "preprocess": json.dumps(preprocess, sort_keys=True),
            "open_clip": open_clip.__version__,
            "torch": torch.__version__,
        }

    def encode_images(
        self,
        sources: Mapping[str, Source],
        *,
        normalise: bool,
        batch_size: int = 64,
        autocast: bool = False,
        directory: str | os.PathLike[str] | None = None,
        shard_size: int = 2048,
        threads: int = 0,
        progress: str = "",
    ) -> Encoded:
        """Encode images.

        Parameters
        ----------
        sources
            By id: a path or a Pillow image. The same path or object under several ids
            is encoded once.
        normalise
            Whether vectors get length 1. There is no default: one release of VERITE's
            vectors is normalised, the other is not.
        batch_size
            Images per forward pass.
        autocast
            Compute in bfloat16 where that is faster: on GPUs, and on processors with
            matrix units (AMX). Cosines with the float32 vectors stay above .999;
            ``about["precision"]`` records it.
        directory
            Folder of finished shards, in which a stopped run continues; None keeps
            none.
        shard_size
            Images per shard.
        threads
            Threads that decode ahead of the model; 0: one per core, eight at most.
        progress
            Name of the progress bar; empty shows none.

        Raises
        ------
        DataError
            No image, or none that can be encoded.
        ParameterError
            ``batch_size`` or ``shard_size`` is less than 1.
        """
        options = _Options(
            normalise, batch_size, autocast, directory, shard_size, progress
        )
        work = partial(self._encode_images, threads=threads or min(8, core_count()))
        with warnings.catch_warnings():
            # What Pillow warns of is in the ledger.
            warnings.filterwarnings("ignore", module=r"PIL\.")
            return self._encode("image", sources, work, options)

    def encode_texts(
        self,
        texts: Mapping[str, str],
        *,
        normalise: bool,
        batch_size: int = 64,
        autocast: bool = False,
        directory: str | os.PathLike[str] | None = None,
        shard_size: int = 8192,
        progress: str = "",
    ) -> Encoded:
        """Encode captions; parameters and errors are those of :meth:`encode_images`.

        Each distinct caption is encoded once. A caption longer than the model's context
        (77 tokens in most) is truncated by tokens, and the ledger says so; an empty one
        fails.
        """
        options = _Options(
            normalise, batch_size, autocast, directory, shard_size, progress
        )
        return self._encode("caption", texts, self._encode_texts, options)

    def _encode(
        self,
        what: str,
        items: Mapping[str, Any],
        work: Callable[..., dict[str, Any]],
        options: _Options,
    ) -> Encoded:
        """Encode the distinct items shard by shard, and give each id its vector."""
        from tqdm import tqdm

        if not items:
            raise DataError(f"expected at least one {what} to encode, found none.")
        first: dict[Hashable, str] = {}
        origin = {
            id_: first.setdefault(identity(item, what), id_)
            for id_, item in items.items()
        }
        precision = self._precision(options.autocast)
        about = self.about | {
            "normalised": "yes" if options.normalise else "no",
            "precision": str(precision).removeprefix("torch."),
        }
        run = partial(self._run, precision=precision, normalise=options.normalise)
        vectors: dict[str, np.ndarray] = {}
        ledger: dict[str, list[str]] = {}
        distinct, done = iter(first.values()), 0
        with tqdm(
            total=len(first), desc=options.progress, disable=not options.progress
        ) as bar:
            while ids := list(itertools.islice(distinct, options.shard_size)):
                shard = {id_: items[id_] for id_ in ids}
                key = ""
                if options.directory is not None:
                    contents = [fingerprint(item, what) for item in shard.values()]
                    key = content_key(
                        self.identity, about | {"what": what}, ids, contents
                    )
                block = run_blocks(
                    work,
                    {key: (shard, run, options.batch_size, bar.update)},
                    directory=options.directory,
                )[key]
                vectors.update(zip(block["ids"], block["vectors"], strict=True))
                ledger.update(block["ledger"])
                done += len(ids)
                bar.update(done - bar.n)
        rows = [
            (id_, shown(items[id_]), *ledger[origin[id_]])
            for id_ in items
            if origin[id_] in ledger
        ]
        columns = ["id", "source", "status", "what"]
        table = pd.DataFrame(rows, columns=columns, dtype="str")
        encoded = [id_ for id_ in items if origin[id_] in vectors]
        if not encoded:
            raise DataError(
                f"none of {len(items):,} {what}(s) could be encoded:"
                f" {name_some(table['what'].unique(), 3)}"
            )
        embeddings = Embeddings(
            encoded,
            np.stack([vectors[origin[id_]] for id_ in encoded]),
            encoder=self.identity,
            where=f"{what}s",
            about=about,
        )
        return Encoded(embeddings, table)

    @cached_property
    def _preprocess(self) -> tuple[Callable[..., Any], np.ndarray, np.ndarray]:
        return preprocessing(self.model.visual.preprocess_cfg)

    def _prepare(self, source: Source) -> tuple[np.ndarray | None, str]:
        """Pixels of an image at the model's size, or why there are none.

        It runs in threads, so it leaves torch alone.
        """
        try:
            picture, note = decode(source)
            return np.asarray(self._preprocess[0](picture)), note
        except VeriteError as error:
            return None, str(error)
        except MemoryError:
            return None, f"{shown(source)}: too large for this machine's memory."

    def _encode_images(
        self,
        shard: dict[str, Source],
        run: Run,
        batch_size: int,
        advance: Advance,
        *,
        threads: int,
    ) -> dict[str, Any]:
        import torch

        _, *scaling = self._preprocess
        mean, deviation = (
            torch.from_numpy(values).view(1, 3, 1, 1).to(self.device)
            for values in scaling
        )
        ids: list[str] = []
        ledger: dict[str, tuple[str, str]] = {}

        def usable() -> Generator[np.ndarray]:
            for id_, (pixels, note) in ahead(
                self._prepare, shard, threads, 2 * batch_size
            ):
                if note:
                    ledger[id_] = ("failed" if pixels is None else "handled", note)
                if pixels is not None:
                    ids.append(id_)
                    yield pixels
                advance(1)

        def forward(batch: torch.Tensor) -> np.ndarray:
            return run(lambda model, dtype: model.encode_image(batch.to(dtype)))

        rows = []
        with torch.inference_mode(), contextlib.closing(usable()) as images:
            while batch := list(itertools.islice(images, batch_size)):
                pixels = torch.from_numpy(np.stack(batch)).to(self.device)
                pixels = pixels.permute(0, 3, 1, 2).contiguous()
                rows.append(forward((pixels.float().div(255) - mean) / deviation))
        return {"ids": ids, "vectors": stack(rows), "ledger": ledger}

    def _encode_texts(
        self, shard: dict[str, str], run: Run, batch_size: int, advance: Advance
    ) -> dict[str, Any]:
        import torch

        ledger = {
            id_: ("failed", reason)
            for id_, text in shard.items()
            if (reason := unusable(text))
        }
        ids = [id_ for id_ in shard if id_ not in ledger]
        if not ids:
            return {"ids": ids, "vectors": stack([]), "ledger": ledger}
        tokens, truncated = tokenize(self.tokenizer, [shard[id_] for id_ in ids])
        for row in torch.nonzero(truncated).flatten().tolist():
            ledger[ids[row]] = ("handled", f"truncated to {tokens.shape[1]} tokens")
        vectors = encode_tokens(
            self.model, tokens.to(self.device), run, batch_size, advance
        )
        return {"ids": ids, "vectors": vectors, "ledger": ledger}

    def _precision(self, autocast: bool) -> torch.dtype:
        import torch

        fast = self.device.type != "cpu" or torch.cpu.get_capabilities().get("amx_bf16")
        return torch.bfloat16 if autocast and fast else torch.float32

    @cached_property
    def _half(self) -> Any:
        """The model in bfloat16; on CPUs autocast would convert it for each batch."""
        import torch

        return copy.deepcopy(self.model).to(torch.bfloat16)

    def _run(
        self,
        encode: Callable[[Any, torch.dtype], torch.Tensor],
        *,
        precision: torch.dtype,
        normalise: bool,
    ) -> np.ndarray:
        import torch

        if precision == torch.float32:
            features = encode(self.model, precision)
        elif self.device.type == "cpu":
            features = encode(self._half, precision)
        else:
            with torch.autocast(self.device.type, precision):
                features = encode(self.model, torch.float32)
        features = features.float()
        if normalise:
            features = torch.nn.functional.normalize(features, dim=-1)
        return features.cpu().numpy()
