"""Commands on data: ``verite data`` and ``verite newsroom``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verite.datasets.download import fetch, instructions, status
from verite.datasets.images import fetch_images, read_links, summary, verite_links
from verite.datasets.newsroom import write_newsroom
from verite.datasets.reading import home
from verite.datasets.registry import card, load, names
from verite.datasets.registry import parse_options as parse_values
from verite.errors import ParameterError, StoppedError
from verite.files import check_overwrite, write_csv
from verite.http import Limits
from verite.options import Force, Parameters, Seed, parse_options

__all__ = ["data", "newsroom_command"]

data = typer.Typer(
    help="Where the data are, which files exist, and how to get the rest.",
    no_args_is_help=True,
)


def newsroom_command(
    out: Annotated[Path, typer.Argument(help="Folder for pairs.csv and images/.")],
    preset: Annotated[str, typer.Option(help="Kind of benchmark to make.")] = "verite",
    events: Annotated[int, typer.Option(help="Number of events.")] = 200,
    seed: Seed = 0,
    parameter: Parameters = None,
    force: Force = False,
) -> None:
    """Write a newsroom as files.

    Example: verite newsroom FOLDER -p giveaway_rate 0.5
    """
    lines = write_newsroom(
        out,
        preset=preset,
        events=events,
        seed=seed,
        knobs=parse_options(parameter),
        force=force,
    )
    print(*lines, sep="\n")


@data.command("list")
def data_list() -> None:
    """List the data sets, with licence and source."""
    for name in names():
        about = card(name)
        print(f"{name}: {about.title}")
        print(f"  source:  {about.source}\n  licence: {about.licence}")


@data.command("status")
def data_status() -> None:
    """List the files of the data sets: size, and whether the digest is right."""
    files = status()
    for file in files:
        size = f"{file.bytes:,} bytes" if file.present else "missing"
        print(f"{file.dataset:16} {file.path:60} {size:>17}  verified: {file.verified}")
    for name in dict.fromkeys(file.dataset for file in files if not file.present):
        print(f"\n{name} is incomplete. {instructions(name)}")


@data.command("fetch")
def data_fetch(name: str) -> None:
    """Download a data set, or say how to ask for it."""
    print(*fetch(name), sep="\n")


@data.command("pairs")
def data_pairs(
    name: Annotated[str, typer.Argument(help="A data set.")],
    out: Annotated[Path, typer.Argument(help="CSV to write.")],
    parameter: Parameters = None,
    force: Force = False,
) -> None:
    """Write a data set's pairs as a CSV, for verite encode and verite synth.

    Example: verite data pairs newsclippings OUT -p subset captions
    """
    check_overwrite(out, force)
    if name == "newsroom":
        raise ParameterError(
            "a newsroom has images to be drawn. Write it with: verite newsroom FOLDER."
        )
    options = parse_values(name, parse_options(parameter))
    pairs = load(name, **options).pairs
    write_csv(out, pairs)
    print(f"{len(pairs):,} pairs: {out}")


@data.command("images")
def data_images(
    source: Annotated[
        str,
        typer.Argument(
            metavar="verite|CSV", help="VERITE's images, or a CSV of links."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for images and ledger; default: VERITE's own."),
    ] = None,
    id_column: Annotated[str, typer.Option(help="Column of names of images.")] = "id",
    url_column: Annotated[str, typer.Option(help="Column of links.")] = "url",
    workers: Annotated[int, typer.Option(min=1, help="Hosts at a time.")] = 16,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds between two requests to one host.")
    ] = 0.5,
    tries: Annotated[
        int, typer.Option(min=1, help="Requests per link if a host fails.")
    ] = 3,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit per image.")] = 60,
    megabytes: Annotated[
        float, typer.Option(min=0.001, help="Size limit per image.")
    ] = 20,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also retry links that are gone.")
    ] = False,
    allow_host: Annotated[
        str | None, typer.Option(help="Host that may have a private address.")
    ] = None,
) -> None:
    """Download images politely; a ledger records the status of each link.

    Run it again to request what is missing.
    """
    if source == "verite" and out is None:
        out = home() / "verite" / "images"
    if out is None:
        raise ParameterError("no folder for the images. Add --out FOLDER.")
    if source == "verite":
        links = verite_links()
    else:
        links = read_links(source, id_column, url_column)
    limits = Limits(tries=tries, seconds=seconds, bytes=round(megabytes * 1e6))
    try:
        images = fetch_images(
            links,
            out,
            limits=limits,
            workers=workers,
            delay=delay,
            allow_host=allow_host or "",
            retry_failed=retry_failed,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped. Images that were saved are in {out}; run the same command to"
            " continue."
        ) from None
    paths = [f"images: {out}", f"ledger: {out / 'ledger.csv'}"]
    print(*summary(images), *paths, sep="\n")


@data.command("path")
def data_path() -> None:
    """Print the folder of the data: VERITE_DATA, or the user's cache."""
    print(home())
