"""``verite averimatec run``: verify claims with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verite.errors import ParameterError, StoppedError

if TYPE_CHECKING:
    from averimatec.models import Model

__all__ = ["run_command"]


def run_command(
    out: Annotated[
        Path,
        typer.Option(help="Folder for submission.json, run.json, claims/ and images/."),
    ],
    claims: Annotated[
        Path | None,
        typer.Option(
            help="JSON of claims; made by the newsroom if not given.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Knowledge store to search in: a folder or a file.", show_default=False
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="Folder of the claims' images.", show_default=False),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="rules|endpoint|huggingface|cached",
            help="rules are a stand-in, no model.",
        ),
    ] = "rules",
    model_name: Annotated[
        str,
        typer.Option(
            help="Model of an endpoint, or folder of a local one.", show_default=False
        ),
    ] = "",
    model_url: Annotated[
        str,
        typer.Option(
            help="OpenAI-compatible, such as http://localhost:8000/v1.",
            show_default=False,
        ),
    ] = "",
    seeing_name: Annotated[
        str,
        typer.Option(
            help="Another model there, for steps with pictures.", show_default=False
        ),
    ] = "",
    key_variable: Annotated[
        str,
        typer.Option(
            help="Environment variable that holds the endpoint's key.",
            show_default=False,
        ),
    ] = "",
    replies: Annotated[
        Path | None,
        typer.Option(
            help="File of cached replies; OUT/replies.jsonl otherwise.",
            show_default=False,
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="parallel|dynamic|hybrid", help="How questions are written."
        ),
    ] = "hybrid",
    evidence: Annotated[
        str,
        typer.Option(
            metavar="search|gold|none",
            help="gold: annotated; none: no search (Table 4).",
        ),
    ] = "search",
    questions: Annotated[int, typer.Option(min=1, help="How many.")] = 5,
    shots: Annotated[
        int,
        typer.Option(min=0, help="Demonstrations from --training; the paper gives 3."),
    ] = 0,
    training: Annotated[
        Path | None,
        typer.Option(
            help="JSON of claims to take demonstrations from.", show_default=False
        ),
    ] = None,
    undated: Annotated[
        bool, typer.Option("--undated", help="Use pages without a date.")
    ] = False,
    clip: Annotated[
        str,
        typer.Option(
            help=(
                "For the store's pictures: an open_clip architecture, or newsroom,"
                " instead of hashes."
            )
        ),
    ] = "",
    pretrained: Annotated[
        str | None, typer.Option(help="Weights of --clip.", show_default=False)
    ] = None,
    search_url: Annotated[
        str,
        typer.Option(
            help="A search engine's endpoint (pipeline.WebSearch) instead of a store.",
            show_default=False,
        ),
    ] = "",
    search_key_variable: Annotated[
        str,
        typer.Option(
            help="Environment variable that holds its key.", show_default=False
        ),
    ] = "",
    limit: Annotated[
        int,
        typer.Option(min=0, help="How many claims, from the first one on; 0 for all."),
    ] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Claims at a time.")] = 1,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Time for one reply of an endpoint.")
    ] = 120,
    tries: Annotated[
        int, typer.Option(min=1, help="How often to ask an endpoint.")
    ] = 5,
    price_in: Annotated[
        float, typer.Option(min=0, help="Price of a million tokens read.")
    ] = 0,
    price_out: Annotated[
        float, typer.Option(min=0, help="Price of a million tokens written.")
    ] = 0,
) -> None:
    """Verify claims: verite averimatec run --claims C.json --store FOLDER --images
    FOLDER --model rules --out RUN.
    """
    from averimatec.pipeline import Settings, WebSearch, run_files
    from verite.provenance import commit, versions

    if store is not None and search_url:
        raise ParameterError(
            "search in a store or at an endpoint, not in both. Leave --store or"
            " --search-url out."
        )
    settings = Settings(strategy, evidence, questions, shots, undated=undated)
    asked = {
        "url": model_url,
        "key_variable": key_variable,
        "seconds": seconds,
        "tries": tries,
        "prices": (price_in, price_out),
    }
    kept = replies or out / "replies.jsonl"
    opened = _model(model, model_name, kept, asked)
    seeing = (
        _model(model, seeing_name, kept.with_stem(f"{kept.stem}-seeing"), asked)
        if seeing_name
        else None
    )
    search = (
        WebSearch(search_url, out / "found", search_key_variable, seconds, tries)
        if search_url
        else None
    )
    encoder = None
    if clip:
        import verite.newsroom  # noqa: F401  # registers its encoder
        from verite.encoders import Encoder

        encoder = Encoder.load(clip, pretrained)
    if claims is None:
        claims, store, images, training = _made(out, store, images, training)
    try:
        lines = run_files(
            claims,
            out,
            opened,
            settings=settings,
            store=store,
            search=search,
            images=images,
            training=training,
            limit=limit,
            about={"commit": commit(), "versions": versions()},
            seeing=seeing,
            encoder=encoder,
            workers=workers,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped. Claims that are done and replies that came are kept; run the same"
            " command to go on."
        ) from None
    print("\n".join(lines))


def _model(kind: str, name: str, replies: Path, asked: dict[str, Any]) -> Model:
    from averimatec.models import open_model
    from averimatec.pipeline import RuleModel

    if kind == "rules":
        if name or asked["url"]:
            raise ParameterError(
                "rules ask no model. Leave its name and address out, or choose --model"
                " endpoint."
            )
        return RuleModel()
    if kind != "endpoint":
        return open_model(kind, model=name, cache=replies)
    return open_model(kind, model=name, cache=replies, **asked)


def _made(out: Path, *given: Path | None) -> tuple[Path, Path, Path, Path]:
    """The newsroom's claims, made in the run's folder; the same ones each time."""
    from averimatec.made import make_claims

    if any(given):
        raise ParameterError(
            "--store, --images and --training go with --claims. Name the claims, or"
            " leave them out to use made ones."
        )
    made = make_claims(out / "made")
    print(f"claims of the newsroom, which are made up and no evidence: {made.folder}")
    return (
        made.folder / "test.json",
        made.folder / "store",
        made.images,
        made.folder / "train.json",
    )
