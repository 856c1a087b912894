"""Finding a model and its weights: by tag, by file, random, or registered."""

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
from importlib.metadata import entry_points
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
_KEYS = ("embed_dim", "vision_cfg", "text_cfg")
# What open_clip raises for weights that do not fit a model.
_MISFITS = (
    *(RuntimeError, KeyError, AttributeError),
    *(AssertionError, TypeError, ValueError),
)


@dataclass(frozen=True)
class Loaded:
    """A model of open_clip and its tokenizer.

    ``name`` is the architecture; ``tag`` says which weights: a tag of open_clip,
    ``local``, ``random`` or a registered name.
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
    """Load a model; see :meth:`verite.encoders.Encoder.load`."""
    import open_clip

    checkpoint: Path | None
    if name not in REGISTERED:
        # A package that brings an encoder names the module that registers it.
        for module in entry_points(group="verite.encoders", name=name):
            module.load()
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
    published: dict[str, Any] = {}
    if checkpoint is None and tag != "random":
        published = open_clip.get_pretrained_cfg(name, tag)
        _download(name, tag, published)
    # Some architectures drop random words of long captions in training. Here the end
    # is cut, always.
    text = open_clip.get_model_config(name)["text_cfg"].get("tokenizer_kwargs", {})
    options = {"reduction_mask": ""} if text.get("reduction_mask") else {}
    with quiet(), _seeded():
        try:
            model = open_clip.create_model(
                name,
                pretrained=tag if published else checkpoint and str(checkpoint),
                # OpenAI's weights need their own activation; open_clip only warns.
                force_quick_gelu=bool(published.get("quick_gelu", False)),
                pretrained_text=False,
            )
            tokenizer = open_clip.get_tokenizer(name, **options)
        except (pickle.UnpicklingError, SafetensorError, EOFError) as error:
            raise DataError(
                f"{checkpoint or tag}: weights cannot be read safely"
                f" ({_first_line(error)}). Use a complete .safetensors file; pickled"
                " objects are not read, because they can run code."
            ) from error
        except _MISFITS as error:
            raise DataError(
                f"{checkpoint or tag}: weights do not fit the architecture {name}"
                f" ({_first_line(error)}). Name the architecture they belong to."
            ) from error
        except (OSError, ImportError) as error:
            raise DownloadError(
                f"{name} needs a tokenizer from the Hugging Face Hub or a package"
                f" ({_first_line(error)}). Fetch it where there is a network, or use"
                " an architecture with open_clip's own tokenizer, such as ViT-B-32."
            ) from error
    return Loaded(model.eval().requires_grad_(False), tokenizer, name, tag)


def weights_digest(model: torch.nn.Module) -> str:
    """SHA-256 of names, dtypes, shapes and bytes of a model's weights, sorted by name.

    It is taken of the loaded weights: a .safetensors and a .bin file of the same
    weights have one digest.
    """
    import torch

    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\0".encode())
        flat = value.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence open_clip and torch; what matters of their warnings is an error here."""
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Draw the same random weights each time, without touching the caller's stream."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def _architecture(name: str) -> str:
    """Name of an architecture; that of a file is added to open_clip."""
    import open_clip

    if not name.endswith(".json"):
        known = open_clip.list_models()
        if name not in known:
            raise ParameterError(
                f"no architecture {name!r} in open_clip. {_suggest(name, known)}, or"
                " give the path of a model configuration (.json)."
            )
        return name
    path = require_file(name, "Expected a model configuration, as open_clip has them.")
    expected = f"{path}: expected a model configuration of open_clip"
    try:
        config = json.loads(read_text(path))
    except ValueError as error:
        raise DataError(f"{expected}, found no JSON ({error}).") from error
    missing = [
        key for key in _KEYS if not isinstance(config, dict) or key not in config
    ]
    if missing:
        raise DataError(f"{expected}; it has no {name_some(missing)}.")
    existing = open_clip.get_model_config(path.stem)
    if existing is None:
        open_clip.add_model_config(path)
    elif existing != config:
        raise ParameterError(
            f"{path}: another architecture is called {path.stem}. Rename the file."
        )
    return path.stem


def _which_weights(
    name: str, pretrained: str | os.PathLike[str] | None
) -> tuple[str, Path | None]:
    """Tag of the weights, and their file if they are local."""
    import open_clip

    tags = open_clip.list_pretrained_tags_by_model(name)
    if pretrained is None:
        raise ParameterError(
            f"which weights for {name}? Give the path of a checkpoint (.safetensors)"
            f" or a tag: {name_some(tags, 30) or 'none known'}. pretrained='random'"
            " gives random weights, for tests."
        )
    text = os.fspath(pretrained)
    if text == "random" or text in tags:
        return text, None
    path = Path(text).expanduser()
    if path.suffix in _SUFFIXES:
        return "local", require_file(path, "Expected a checkpoint of the model.")
    if path.exists():
        raise ParameterError(
            f"{path}: expected a checkpoint ({', '.join(_SUFFIXES)}), found another"
            " kind of file."
        )
    raise ParameterError(
        f"no weights {text!r} for {name}. {_suggest(text, tags)}, or give the path of a"
        " checkpoint (.safetensors)."
    )


def _download(name: str, tag: str, published: dict[str, Any]) -> None:
    from open_clip.pretrained import download_pretrained

    try:
        with quiet():
            download_pretrained(published)
    except Exception as error:  # the Hub's client raises many kinds, and they change
        hub = str(published.get("hf_hub") or "").rstrip("/")
        places = (hub and f"https://huggingface.co/{hub}", published.get("url"))
        suffix = "-quickgelu" if published.get("quick_gelu") else ""
        raise DownloadError(
            f"the weights {tag} of {name} could not be fetched ({_first_line(error)})."
            " Fetch them where there is a network, from"
            f" {' or '.join(filter(None, places))}, and give the file's path instead"
            f" of the tag, with the architecture {name}{suffix}."
        ) from error


def _suggest(name: str, known: list[str]) -> str:
    lower = {item.lower(): item for item in known}
    close = difflib.get_close_matches(name.lower(), lower, n=5, cutoff=0.4)
    if not close:
        return f"Known: {name_some(known, 30) or 'none'}"
    return f"Did you mean {', '.join(lower[item] for item in close)}?"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
