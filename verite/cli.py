"""The command ``verite``; other packages mount theirs by entry points.

Each command is a thin function that calls one of the package and prints its lines.
"""

from __future__ import annotations

import logging
import signal
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from verite.datasets.cli import data, newsroom_command
from verite.errors import ParameterError, StoppedError, VeriteError
from verite.options import (
    CaptionVectors,
    Force,
    Out,
    Parameters,
    Seed,
    join_options,
    parse_options,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="verite",
    help="VERITE, executed: run the notebooks, build the book, fetch the data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("newsroom")(newsroom_command)
app.add_typer(data, name="data")


def main() -> None:
    """Run the command line; a user's mistake is one message and exit code 1."""
    # As on Ctrl-C, so that child processes end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(args=join_options(sys.argv[1:]))
    except VeriteError as error:
        # The client of a stopped notebook complains about its kernel at the end.
        logging.disable()
        print(f"verite: {error}", file=sys.stderr)
        raise SystemExit(130 if isinstance(error, StoppedError) else 1) from None


@app.command("synth")
def synth_command(
    name: Annotated[
        str,
        typer.Argument(
            help="RSt, CSt, NC-t2t, R-NESt, CLIP-NESt, MEIR, CHASMA, CHASMA-D, or"
            " several joined by ' + '."
        ),
    ],
    source: Annotated[
        str,
        typer.Option("--data", metavar="NAME|CSV", help="Data set or CSV, true pairs."),
    ],
    out: Out,
    vectors: Annotated[
        Path | None, typer.Option(help="Vectors of the pairs (verite encode).")
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(metavar="NAME|CSV", help="Misleading captions for CHASMA."),
    ] = None,
    pool_vectors: Annotated[
        Path | None, typer.Option(help="Vectors of the pool (verite encode).")
    ] = None,
    parameter: Parameters = None,
    events: Annotated[
        int | None, typer.Option(min=1, help="Size of a newsroom; default 200.")
    ] = None,
    seed: Seed = 0,
    faiss: Annotated[
        bool, typer.Option("--faiss", help="Search in an index on disk.")
    ] = False,
    force: Force = False,
) -> None:
    """Make misleading pairs from true ones.

    Example: verite synth "R-NESt + NC-t2t" --data newsroom --out FOLDER
    """
    from verite.provenance import commit, versions
    from verite.synthesis.command import synthesise

    try:
        lines = synthesise(
            name,
            source,
            out,
            vectors=vectors,
            pool=pool,
            pool_vectors=pool_vectors,
            options=parse_options(parameter),
            events=events,
            seed=seed,
            faiss=faiss,
            force=force,
            about={"commit": commit(), "versions": versions()},
        )
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped. Results of a long search so far are kept; run the same command to"
            " continue."
        ) from None
    print(*lines, sep="\n")


@app.command("encode")
def encode_command(
    table: Annotated[
        Path | None,
        typer.Argument(help="CSV of pairs; image_path is relative to its folder."),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(
            help="open_clip architecture, a model configuration (.json), or newsroom."
        ),
    ] = "newsroom",
    pretrained: Annotated[
        str | None,
        typer.Option(help="open_clip's tag, or a checkpoint (.safetensors)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for vectors and ledger.")
    ] = None,
    images_from: Annotated[
        Path | None, typer.Option(help="Folder of the images, if not the table's.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Images or captions per batch.")
    ] = 64,
    autocast: Annotated[
        bool, typer.Option("--autocast", help="Compute in bfloat16 if faster.")
    ] = False,
    normalise: Annotated[bool, typer.Option(help="Scale vectors to length 1.")] = True,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps, or auto.")] = "auto",
    train_newsroom: Annotated[
        bool, typer.Option("--train-newsroom", help="Retrain the newsroom's encoder.")
    ] = False,
) -> None:
    """Encode the images and captions of a table; run it again to continue.

    Example: verite encode pairs.csv --out FOLDER
    """
    if train_newsroom:
        from verite.newsroom.clip import load_newsroom_clip

        print(f"newsroom's encoder: {load_newsroom_clip(retrain=True)[1]}")
        if table is None:
            return
    if table is None:
        raise ParameterError(
            "which table? Write: verite encode TABLE --encoder ViT-L-14 --pretrained"
            " openai --out FOLDER."
        )
    if out is None:
        raise ParameterError("no folder for the vectors. Add --out FOLDER.")
    from verite.encoders.tables import encode_table

    try:
        lines = encode_table(
            table,
            out,
            encoder=encoder,
            pretrained=pretrained,
            images_from=images_from,
            batch_size=batch_size,
            autocast=autocast,
            normalise=normalise,
            device=device,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped. Finished shards are in {out / 'shards'}; run the same command to"
            " continue."
        ) from None
    print(*lines, sep="\n")


@app.command("build")
def build_command(
    articles: Annotated[
        Path, typer.Argument(help="Table of fact-checks, as VERITE_articles.csv.")
    ],
    out: Out,
    images: Annotated[
        list[Path] | None,
        typer.Option(help="Vectors of the images, and of a pool; repeat for more."),
    ] = None,
    texts: CaptionVectors = None,
    candidates: Annotated[
        int, typer.Option(min=1, help="Out-of-context candidates per article.")
    ] = 10,
    same_picture: Annotated[
        float, typer.Option(min=-1, max=1, help="Least cosine of duplicate images.")
    ] = 0.9,
    force: Force = False,
) -> None:
    """Build a benchmark from articles: check, unpack to pairs, propose images, report.

    Example: verite build articles.csv --out FOLDER
    """
    from verite.building import build

    lines = build(
        articles,
        out,
        images=images or (),
        texts=texts,
        k=candidates,
        same_picture=same_picture,
        force=force,
    )
    print(*lines, sep="\n")


@app.command("score")
def score_command(
    predictions: Annotated[
        Path, typer.Argument(help="CSV of predictions: pair_id,prediction.")
    ],
    benchmark: Annotated[
        str,
        typer.Option(
            metavar="verite|vmu-twitter|cosmos|CSV",
            help="Benchmark that they are for, or a CSV of pairs.",
        ),
    ],
    against: Annotated[
        Path | None, typer.Option(help="Predictions of a second system.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for score.json and model-card.md.")
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="error|wrong|skip", help="How to count pairs without a prediction."
        ),
    ] = "error",
    parameter: Parameters = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column of ids, if not pair_id.")
    ] = None,
    prediction_column: Annotated[
        str | None, typer.Option(help="Column of predictions, if not prediction.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPELLING=LABEL",
            help="Meaning of a spelling, such as 1=misinformation.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the system, if not the file's.")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Score predictions under every protocol.

    Example: verite score PREDICTIONS.csv --benchmark verite --against OTHER.csv
    """
    from verite.provenance import commit, versions
    from verite.scoring import check_output, readable, score_predictions, write_scores

    if out is not None:
        check_output(out, force)
    scores = score_predictions(
        predictions,
        benchmark,
        against=against,
        missing=missing,
        options=parse_options(parameter),
        id_column=id_column,
        prediction_column=prediction_column,
        labels=parse_options(label),
        seed=seed,
    )
    print(readable(scores))
    if out is not None:
        about = {"commit": commit(), "versions": versions()}
        name = name or predictions.stem
        paths = write_scores(scores, out, name, about=about, force=force)
        print("", *paths, sep="\n")


@app.command("audit")
def audit_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="CSV|NAME", help="CSV, TSV, JSON lines, parquet, or a data set."
        ),
    ],
    out: Out = Path("audit"),
    label_column: Annotated[
        str | None, typer.Option(help="Guessed if not given, as all columns.")
    ] = None,
    caption_column: str | None = None,
    image_column: Annotated[
        str | None, typer.Option(help="Ids or file names of images.")
    ] = None,
    group_column: Annotated[
        str | None, typer.Option(help="What must not be split, such as an event.")
    ] = None,
    split_column: str | None = None,
    id_column: str | None = None,
    images: Annotated[
        Path | None, typer.Option(help="Vectors of images: verite encode's, or .npy.")
    ] = None,
    image_ids: Annotated[
        Path | None, typer.Option(help="Ids of the vectors in .npy, one per line.")
    ] = None,
    texts: CaptionVectors = None,
    text_ids: Annotated[
        Path | None, typer.Option(help="Ids of the vectors in .npy, one per line.")
    ] = None,
    image_folder: Annotated[
        Path | None, typer.Option(help="Folder of the image files.")
    ] = None,
    probes: Annotated[
        str, typer.Option(help="Families of probes, with commas; default: all.")
    ] = "",
    folds: Annotated[
        int, typer.Option(min=2, help="Folds of the cross-validation.")
    ] = 5,
    seed: Seed = 0,
    permutations: Annotated[
        int, typer.Option(min=200, max=1999, help="Permutations per test.")
    ] = 1000,
    fix: Annotated[
        bool, typer.Option("--fix", help="Also write a cleaned copy, with changes.")
    ] = False,
    force: Force = False,
) -> None:
    """Measure how well a model could do on a benchmark with one modality alone.

    Example: verite audit PAIRS.csv --out FOLDER
    """
    from verite.audit import PROBES
    from verite.audit.command import audit_files
    from verite.provenance import commit, versions

    columns = {"label": label_column, "caption": caption_column, "image": image_column}
    columns |= {"group": group_column, "split": split_column, "id": id_column}
    families = tuple(name.strip() for name in probes.split(",") if name.strip())
    lines = audit_files(
        source,
        out,
        reading={
            "columns": {role: name for role, name in columns.items() if name},
            "images": images,
            "image_ids": image_ids,
            "texts": texts,
            "text_ids": text_ids,
            "folder": image_folder,
        },
        parameters={
            "probes": families or PROBES,
            "folds": folds,
            "seed": seed,
            "permutations": permutations,
        },
        apply_fixes=fix,
        force=force,
        about={"commit": commit(), "versions": versions()},
    )
    print(*lines, sep="\n")


# The commands of the other packages that are installed.
for _package in sorted(entry_points(group="verite.commands"), key=lambda e: e.name):
    app.add_typer(_package.load())
