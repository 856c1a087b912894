"""A CLIP that encodes tables.

Each distinct image and caption once, in batches, resumable, with a ledger.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from PIL import Image

from verite.blocks import core_count
from verite.devices import pick_device
from verite.embeddings import Embeddings
from verite.encoders.pictures import Source, decode
from verite.encoders.shards import Ledger, Shard, run_shards
from verite.encoders.texts import can_cut, cut, end_positions, tokenize
from verite.encoders.weights import Loaded, load_model, weights_digest
from verite.errors import DataError, ParameterError, VeriteError, name_some

if TYPE_CHECKING:
    import torch

__all__ = ["Encoded", "Encoder"]

T = TypeVar("T")
Advance = Callable[[int], object]


@dataclass(frozen=True)
class Encoded:
    """Vectors, and what became of the rest.

    Attributes
    ----------
    embeddings
        One float32 vector an id that could be encoded, in the order given.
    ledger
        One row an id that could not be encoded or was changed on the way, in the order
        given. Columns: ``id``; ``source``, the path or the caption; ``status``,
        ``failed`` (it has no vector) or ``handled``; ``what``.
    """

    embeddings: Embeddings
    ledger: pd.DataFrame


class Encoder:
    """An image and a text tower with one space, and what prepares images and captions
    for them. Get one by :meth:`load`.

    Attributes
    ----------
    identity
        Architecture, weights and the first twelve digits of the weights' digest, such
        as ``"ViT-B-32/openai@3f2a9c01d7e4"``. Embeddings carry it, and those of
        different encoders do not mix.
    digest
        SHA-256 of the weights; a downloaded and a local copy of the same weights have
        the same.
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
            An architecture of open_clip's, such as ``"ViT-L-14"``; the path of a model
            configuration (.json) of one's own; or ``"newsroom"``, the small CLIP that
            is trained on the newsroom at first use.
        pretrained
            A tag of open_clip's, such as ``"openai"``; the path of a checkpoint
            (.safetensors; .pt, .pth and .bin are read as plain tensors, never as
            pickled objects); or ``"random"``, weights drawn from a fixed seed. For
            OpenAI's weights from a file, name the architecture with ``-quickgelu`` at
            its end: the file does not say which activation they need.
        device
            ``"cpu"``, ``"cuda"``, ``"mps"``, ...; ``"auto"`` takes a GPU where there is
            one.

        Raises
        ------
        ParameterError
            No such architecture, tag or device, or nothing says which weights.
        MissingDataError, DataError
            The checkpoint is not there; is damaged, pickled or of another architecture.
        DownloadError
            The weights could not be fetched; the message says how to get them by hand.
        """
        return cls(load_model(name, pretrained), pick_device(device))

    @cached_property
    def about(self) -> dict[str, str]:
        """What embeddings say of their encoder, beside whether they are normalised and
        in which precision.
        """
        import open_clip
        import torch

        shown = {
            key: value
            for key, value in self.model.visual.preprocess_cfg.items()
            if key != "fill_color"
        }
        return {
            "name": self.name,
            "tag": self.tag,
            "digest": self.digest,
            "preprocess": json.dumps(shown, sort_keys=True),
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
        """Encode pictures.

        Parameters
        ----------
        sources
            By id: a path or a Pillow image. One path, or one object, under several ids
            is encoded once.
        normalise
            Whether vectors get length 1. There is no default: one release of VERITE's
            vectors is, the other is not.
        batch_size
            Pictures that go through the model together.
        autocast
            Compute in bfloat16 where that is faster: on GPUs, and on processors with
            matrix units (AMX). Others stay with float32, which they multiply as fast or
            faster. Cosines with the float32 vectors stay above .999;
            ``about["precision"]`` says which it was.
        directory
            Where finished shards are kept and looked for: a run that was stopped goes
            on there. None keeps none.
        shard_size
            Pictures a shard.
        threads
            Threads that decode ahead of the model; 0 takes one a core, eight at most.
        progress
            What the progress bar is called; empty shows none.

        Raises
        ------
        DataError
            There is no picture, or none of them can be encoded; the message says why
            the first ones cannot.
        ParameterError
            ``batch_size`` or ``shard_size`` is less than 1.
        """
        _require_positive(batch_size=batch_size, shard_size=shard_size)
        keys = {id_: _image_key(source) for id_, source in sources.items()}
        items = {
            id_: source if isinstance(source, Image.Image) else _Path(os.fspath(source))
            for id_, source in sources.items()
        }
        count = threads or min(8, core_count())

        def work(part: dict[str, Any], advance: Advance) -> Shard[Any]:
            return self._image_shard(
                part, advance, normalise, batch_size, autocast, count
            )

        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", module=r"PIL\."
            )  # what they warn of is in the ledger
            return self._encode(
                items,
                keys,
                work,
                normalise,
                autocast,
                directory,
                shard_size,
                progress,
                "image",
            )

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

        Each distinct caption is encoded once. One that does not fit the model's context
        (77 tokens in most) is truncated by tokens, and the ledger says so; an empty one
        fails, for a pair must have a caption.
        """
        _require_positive(batch_size=batch_size, shard_size=shard_size)

        def work(part: dict[str, str], advance: Advance) -> Shard[str]:
            return self._text_shard(part, advance, normalise, batch_size, autocast)

        keys = {id_: repr(text) for id_, text in texts.items()}
        return self._encode(
            dict(texts),
            keys,
            work,
            normalise,
            autocast,
            directory,
            shard_size,
            progress,
            "caption",
        )

    def _encode(
        self,
        items: dict[str, T],
        keys: Mapping[str, Hashable],
        work: Callable[[dict[str, T], Advance], Shard[T]],
        normalise: bool,
        autocast: bool,
        directory: str | os.PathLike[str] | None,
        shard_size: int,
        progress: str,
        what: str,
    ) -> Encoded:
        if not items:
            raise DataError(f"expected at least one {what} to encode, found none.")
        first: dict[Hashable, str] = {}
        for id_ in items:
            first.setdefault(keys[id_], id_)
        about = self.about | {
            "normalised": "yes" if normalise else "no",
            "precision": str(self._precision(autocast)).removeprefix("torch."),
        }
        vectors, notes = run_shards(
            {id_: items[id_] for id_ in first.values()},
            work,
            size=shard_size,
            directory=directory,
            encoder=self.identity,
            about=about | {"what": what},
            progress=progress,
        )
        origin = {id_: first[keys[id_]] for id_ in items}
        ledger = pd.DataFrame(
            [
                (id_, _shown(items[id_]), *notes[origin[id_]])
                for id_ in items
                if origin[id_] in notes
            ],
            columns=["id", "source", "status", "what"],
            dtype="str",
        )
        kept = [id_ for id_ in items if origin[id_] in vectors]
        if not kept:
            raise DataError(
                f"none of {len(items):,} {what}(s) could be encoded:"
                f" {name_some(ledger['what'].unique(), 3)}"
            )
        matrix = np.stack([vectors[origin[id_]] for id_ in kept])
        return Encoded(
            Embeddings(
                kept, matrix, encoder=self.identity, where=f"{what}s", about=about
            ),
            ledger,
        )

    # --- images
    # ---------------------------------------------------------------------------------------

    @cached_property
    def _steps(
        self,
    ) -> tuple[Callable[[Image.Image], Image.Image], np.ndarray, np.ndarray]:
        """Resizing and cropping, for one picture in any thread.

        And mean and deviation, for a batch.
        """
        from open_clip.transform import PreprocessCfg, image_transform_v2
        from torchvision.transforms import Compose, Normalize  # type: ignore[import-untyped]

        steps = image_transform_v2(
            PreprocessCfg(**self.model.visual.preprocess_cfg), is_train=False
        ).transforms
        last = steps[-1]
        assert isinstance(last, Normalize)  # noqa: S101  # as in every transform of open_clip's for inference
        return (
            Compose(steps[:-2]),
            np.asarray(last.mean, dtype=np.float32),
            np.asarray(last.std, dtype=np.float32),
        )

    def _prepare(self, source: Source) -> tuple[np.ndarray | None, str]:
        """Pixels of one picture at the model's size, or why there are none.

        This runs in threads, so it leaves torch alone.
        """
        try:
            picture, note = decode(source)
            return np.asarray(self._steps[0](picture)), note
        except VeriteError as error:
            return None, str(error)
        except MemoryError:
            return None, f"{_shown(source)}: too large for this machine's memory."

    def _image_shard(
        self,
        part: dict[str, Any],
        advance: Advance,
        normalise: bool,
        batch_size: int,
        autocast: bool,
        threads: int,
    ) -> Shard[Any]:
        import torch

        _, mean, deviation = self._steps
        centre, scale = (
            torch.from_numpy(one).view(1, 3, 1, 1).to(self.device)
            for one in (mean, deviation)
        )
        ids: list[str] = []
        rows: list[np.ndarray] = []
        ledger: Ledger = {}
        waiting: list[np.ndarray] = []

        def flush() -> None:
            pixels = (
                torch.from_numpy(np.stack(waiting))
                .to(self.device)
                .permute(0, 3, 1, 2)
                .contiguous()
            )
            batch = (pixels.float().div(255) - centre) / scale
            rows.append(
                self._run(
                    lambda model, dtype: model.encode_image(batch.to(dtype)),
                    normalise,
                    autocast,
                )
            )
            waiting.clear()

        with torch.inference_mode():
            for id_, (pixels, what) in _ahead(
                self._prepare, part, threads, 2 * batch_size
            ):
                if what:
                    ledger[id_] = ("failed" if pixels is None else "handled", what)
                if pixels is not None:
                    ids.append(id_)
                    waiting.append(pixels)
                if len(waiting) == batch_size:
                    flush()
                advance(1)
            if waiting:
                flush()
        return Shard(
            ids,
            np.concatenate(rows) if rows else np.empty((0, 0), dtype=np.float32),
            ledger,
        )

    # --- captions
    # -------------------------------------------------------------------------------------

    def _text_shard(
        self,
        part: dict[str, str],
        advance: Advance,
        normalise: bool,
        batch_size: int,
        autocast: bool,
    ) -> Shard[str]:
        import torch

        ledger: Ledger = {
            id_: ("failed", why)
            for id_, text in part.items()
            if (why := _unusable(text))
        }
        ids = [id_ for id_ in part if id_ not in ledger]
        advance(len(ledger))
        if not ids:
            return Shard([], np.empty((0, 0), dtype=np.float32), ledger)
        tokens, truncated = tokenize(self.tokenizer, [part[id_] for id_ in ids])
        ledger.update(
            {
                ids[at]: ("handled", f"truncated to {tokens.shape[1]} tokens")
                for at in torch.nonzero(truncated).flatten().tolist()
            }
        )
        short = can_cut(self.model)
        ends = (
            end_positions(self.model, tokens)
            if short
            else torch.zeros(len(tokens), dtype=torch.long)
        )
        order = torch.argsort(ends, stable=True)
        rows: list[np.ndarray] = []
        with torch.inference_mode():
            for batch in torch.split(order, batch_size):
                length = int(ends[batch].max()) + 1 if short else tokens.shape[1]
                taken = tokens[batch, :length].to(self.device)

                def encode(
                    model: Any,
                    _: torch.dtype,
                    taken: torch.Tensor = taken,
                    length: int = length,
                ) -> torch.Tensor:
                    with cut(model, length) if short else contextlib.nullcontext():
                        encoded: torch.Tensor = model.encode_text(taken)
                    return encoded

                rows.append(self._run(encode, normalise, autocast))
                advance(len(batch))
        return Shard(ids, np.concatenate(rows)[torch.argsort(order).numpy()], ledger)

    # --- precision
    # ------------------------------------------------------------------------------------

    def _precision(self, autocast: bool) -> torch.dtype:
        import torch

        if not autocast or (
            self.device.type == "cpu"
            and not torch.cpu.get_capabilities().get("amx_bf16")
        ):
            return torch.float32
        return torch.bfloat16

    @cached_property
    def _half(self) -> Any:
        """The model in bfloat16, for processors.

        Torch.autocast would convert all weights anew in each batch.
        """
        import torch

        return copy.deepcopy(self.model).to(torch.bfloat16)

    def _run(
        self,
        encode: Callable[[Any, torch.dtype], torch.Tensor],
        normalise: bool,
        autocast: bool,
    ) -> np.ndarray:
        import torch

        precision = self._precision(autocast)
        if precision == torch.float32:
            found = encode(self.model, precision)
        elif self.device.type == "cpu":
            found = encode(self._half, precision)
        else:
            with torch.autocast(self.device.type, precision):
                found = encode(self.model, torch.float32)
        found = found.float()
        if normalise:
            found = torch.nn.functional.normalize(found, dim=-1)
        return found.cpu().numpy()


class _Path(os.PathLike[str]):
    """A path as it was given.

    ``pathlib`` would tidy up a URL, and then it is none any more.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __fspath__(self) -> str:
        return self.text


def _ahead(
    work: Callable[[T], Any], items: Mapping[str, T], threads: int, ahead: int
) -> Iterator[tuple[str, Any]]:
    """Results in order, worked out in threads; at most ``ahead`` of them wait."""
    waiting: deque[tuple[str, Future[Any]]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="decode") as pool:
        try:
            for id_, item in items.items():
                waiting.append((id_, pool.submit(work, item)))
                if len(waiting) >= ahead:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _require_positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ParameterError(f"{name}: expected at least 1, found {count}.")


def _image_key(source: Source) -> Hashable:
    return (
        id(source)
        if isinstance(source, Image.Image)
        else os.path.abspath(os.fspath(source))
    )


def _shown(item: object) -> str:
    if isinstance(item, Image.Image):
        return f"{item.mode} image of {item.width} × {item.height}"
    text = os.fspath(item) if isinstance(item, os.PathLike) else str(item)
    return text.encode("utf8", "backslashreplace").decode(
        "utf8"
    )  # half a character can neither be written nor, with pyarrow, be held


def _unusable(text: object) -> str:
    if not isinstance(text, str):
        return f"expected a caption, found {type(text).__name__}"
    if not text.strip():
        return "an empty caption"
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate)"
    return ""
