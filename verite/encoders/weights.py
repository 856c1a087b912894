"""Which model is meant, and its weights.

By name and tag, by file, at random, or trained on the newsroom.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import logging
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from verite.errors import DataError, DownloadError, ParameterError, name_some
from verite.files import read_text, require_file

if TYPE_CHECKING:
    import torch

__all__ = [
    "REGISTERED",
    "Loaded",
    "load_model",
    "quiet",
    "register_encoder",
    "weights_digest",
]

REGISTERED: dict[str, Callable[[], tuple[str, Path]]] = {}
"""Encoders that a package brings along, see :func:`register_encoder`."""

_SUFFIXES = (".safetensors", ".pt", ".pth", ".bin")


@dataclass(frozen=True)
class Loaded:
    """A model of open_clip's with what goes with it.

    ``name`` is the architecture, ``tag`` says which weights: a tag of open_clip's,
    ``local``, ``newsroom`` or ``random``.
    """

    model: torch.nn.Module
    tokenizer: Any
    name: str
    tag: str


def register_encoder(name: str, weights: Callable[[], tuple[str, Path]]) -> None:
    """Let :meth:`verite.encoders.Encoder.load` find an encoder by a name of its own.

    Parameters
    ----------
    weights
        Makes the architecture known to open_clip, and the weights if they are missing;
        returns the architecture's name and the path of the weights.
    """
    REGISTERED[name] = weights


def load_model(name: str, pretrained: str | os.PathLike[str] | None) -> Loaded:
    """Find and load a model.

    See :meth:`verite.encoders.Encoder.load`, whose errors these are.
    """
    import open_clip

    tag, checkpoint = "", None
    if name in REGISTERED:
        if pretrained is not None:
            raise ParameterError(
                f"the encoder {name!r} has its own weights; omit pretrained,"
                f" found {str(pretrained)!r}."
            )
        tag = name
        name, checkpoint = REGISTERED[tag]()
    else:
        name = _architecture(name)
        tag, checkpoint = _which_weights(name, pretrained)
    known = (
        open_clip.get_pretrained_cfg(name, tag)
        if checkpoint is None and tag != "random"
        else {}
    )
    if known:
        _download(name, tag, known)
    config = open_clip.get_model_config(name)
    with quiet(), _seeded():
        try:
            model = open_clip.create_model(
                name,
                pretrained=(
                    tag if known else None if checkpoint is None else str(checkpoint)
                ),
                # OpenAI's weights need their own activation; open_clip warns that it is
                # not set, and goes on.
                force_quick_gelu=bool(known.get("quick_gelu", False)),
                pretrained_text=False,
            )
            tokenizer = open_clip.get_tokenizer(name, **_plain_truncation(config))
        except (pickle.UnpicklingError, SafetensorError, EOFError) as error:
            raise DataError(
                f"{checkpoint or tag}: not weights that can be read safely"
                f" ({_first_line(error)}). Use a whole .safetensors file; pickled"
                " objects are not read, for they can run code."
            ) from error
        except (
            RuntimeError,
            KeyError,
            AttributeError,
            AssertionError,
            TypeError,
            ValueError,
        ) as error:
            raise DataError(
                f"{checkpoint or tag}: these weights do not fit the architecture {name}"
                f" ({_first_line(error)}). Name the architecture that they were trained"
                " with."
            ) from error
        except (OSError, ImportError) as error:
            raise DownloadError(
                f"{name} needs something that is not here ({_first_line(error)}): a"
                " tokenizer from the Hugging Face Hub, or a package. Get it where"
                " there is a network, or use an architecture with open_clip's own"
                " tokenizer, such as ViT-B-32."
            ) from error
    return Loaded(model.eval().requires_grad_(False), tokenizer, name, tag)


def weights_digest(model: torch.nn.Module) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of a model's weights, in the order
    of the names.

    It is taken of what was loaded, not of a file: a safetensors file and a .bin of the
    same weights have one digest.
    """
    import torch

    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\0".encode())
        digest.update(
            value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
        )
    return digest.hexdigest()


def _architecture(name: str) -> str:
    """Name of a known architecture; the file of an unknown one is made known."""
    import open_clip

    if name.endswith(".json"):
        return _register(
            require_file(
                name,
                "It should describe an architecture, as open_clip's"
                " model_configs/*.json do.",
            )
        )
    known = open_clip.list_models()
    if name not in known:
        raise ParameterError(
            f"no architecture {name!r} in open_clip. {_near(name, known)}, give the"
            " path of a model configuration (.json), or import the package that"
            " registers it (newsroom: verite.newsroom)."
        )
    return name


def _register(path: Path) -> str:
    import open_clip

    try:
        config = json.loads(read_text(path))
    except ValueError as error:
        raise DataError(
            f"{path}: expected a model configuration of open_clip's, found no JSON"
            f" ({error})."
        ) from error
    missing = [
        key
        for key in ("embed_dim", "vision_cfg", "text_cfg")
        if not isinstance(config, dict) or key not in config
    ]
    if missing:
        raise DataError(
            f"{path}: expected a model configuration of open_clip's; it has no"
            f" {name_some(missing)}."
        )
    there = open_clip.get_model_config(path.stem)
    if there is not None and there != config:
        raise ParameterError(
            f"{path}: there is another architecture of the name {path.stem}. Give the"
            " file another name."
        )
    if there is None:
        open_clip.add_model_config(path)
    return path.stem


def _which_weights(
    name: str, pretrained: str | os.PathLike[str] | None
) -> tuple[str, Path | None]:
    import open_clip

    tags = open_clip.list_pretrained_tags_by_model(name)
    if pretrained is None:
        listed = name_some(tags, 30) or "none known"
        raise ParameterError(
            f"which weights for {name}? Give the path of a checkpoint (.safetensors) or"
            f" one of the tags: {listed}. pretrained='random' gives random weights, for"
            " tests."
        )
    text = os.fspath(pretrained)
    if text == "random" or text in tags:
        return text, None
    path = Path(text).expanduser()
    if path.suffix in _SUFFIXES:
        return "local", require_file(path, "It should be a checkpoint of the model.")
    if path.exists():
        raise ParameterError(
            f"{path}: expected a checkpoint ({', '.join(_SUFFIXES)}; the first is the"
            " safest), found another kind of file."
        )
    raise ParameterError(
        f"no weights {text!r} for {name}. {_near(text, tags)}, or give the path of a"
        " checkpoint (.safetensors)."
    )


def _download(name: str, tag: str, known: dict[str, Any]) -> None:
    from open_clip.pretrained import download_pretrained

    try:
        with quiet():
            download_pretrained(known)
    except Exception as error:  # the Hub's client raises many kinds, and they change
        hub = (
            f"https://huggingface.co/{str(known['hf_hub']).rstrip('/')}"
            if known.get("hf_hub")
            else ""
        )
        raise DownloadError(
            f"the weights {tag} of {name} could not be fetched ({_first_line(error)})."
            " Get them where there is a network, from"
            f" {' or '.join(filter(None, (hub, known.get('url'))))}, and give the"
            " file's path in place of the tag"
            + (
                f", with the architecture {name}-quickgelu."
                if known.get("quick_gelu")
                else "."
            )
        ) from error


def _plain_truncation(config: dict[str, Any]) -> dict[str, str]:
    """Some architectures drop words of long captions at random while they train.

    Here the end is cut, always.
    """
    return (
        {"reduction_mask": ""}
        if config["text_cfg"].get("tokenizer_kwargs", {}).get("reduction_mask")
        else {}
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep log lines and warnings of open_clip and torch off the screen.

    What matters of them is an error here.
    """
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Random weights are the same each time, and the caller's random numbers are left
    alone.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def _near(name: str, known: list[str]) -> str:
    lower = {one.lower(): one for one in known}
    close = [
        lower[one]
        for one in difflib.get_close_matches(name.lower(), lower, n=5, cutoff=0.4)
    ]
    return (
        f"Did you mean {', '.join(close)}? Name one of open_clip's"
        if close
        else f"Known: {name_some(known, 30) or 'none'}"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
