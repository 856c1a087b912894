"""Command line: ``verite audit``, ``score``, ``synth`` and what ``verite --help`` lists
besides.

Each package mounts its commands here through an entry point of the group
``verite.commands``.
"""

from __future__ import annotations

import logging
import signal
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from verite.errors import ParameterError, StoppedError, VeriteError
from verite.options import join_options, parse_options

__all__ = ["app", "main"]

app = typer.Typer(
    name="verite",
    help="VERITE, executed: run the notebooks, build the book, fetch the data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data = typer.Typer(
    help="Where the data are, what is there, and how to get the rest.",
    no_args_is_help=True,
)
app.add_typer(data, name="data")


def main() -> None:
    """Run the command line.

    An error of the input's is one message and exit code 1, never a traceback.
    """
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # so that what was started is ended too
    try:
        app(args=join_options(sys.argv[1:]))
    except VeriteError as error:
        # What is left of a stopped notebook's client complains about its kernel while
        # this process ends.
        logging.disable()
        print(f"verite: {error}", file=sys.stderr)
        raise SystemExit(130 if isinstance(error, StoppedError) else 1) from None


@app.command("newsroom")
def newsroom_command(
    out: Annotated[Path, typer.Argument(help="Folder for pairs.csv and images/.")],
    preset: Annotated[
        str, typer.Option(help="What kind of benchmark to make.")
    ] = "verite",
    events: Annotated[int, typer.Option(help="Size: number of events.")] = 200,
    seed: Annotated[int, typer.Option(help="Decides everything.")] = 0,
    parameter: Annotated[
        list[str],
        typer.Option(
            "-p", "--parameter", metavar="KEY VALUE", help="A knob and its value."
        ),
    ] = [],  # noqa: B006
    force: Annotated[
        bool, typer.Option(help="Replace a newsroom that is there.")
    ] = False,
) -> None:
    """Write a newsroom as files: verite newsroom FOLDER -p giveaway_rate 0.5."""
    from verite.datasets import load
    from verite.files import check_overwrite, write_csv
    from verite.newsroom.knobs import parse_knobs

    table = out / "pairs.csv"
    check_overwrite(table, force)
    knobs = parse_knobs(parse_options(parameter))
    data = load(
        "newsroom",
        preset=preset,
        events=events,
        seed=seed,
        image_dir=out / "images",
        encoder=None,
        **knobs,
    )
    pairs = data.pairs.assign(
        image_path=[f"images/{Path(path).name}" for path in data.pairs["image_path"]]
    )
    write_csv(table, pairs)
    print(
        f"{data.card.title}\n{len(pairs):,} pairs:"
        f" {table}\n{pairs['image_id'].nunique():,} images: {out / 'images'}"
    )


@app.command("synth")
def synth_command(
    name: Annotated[
        str,
        typer.Argument(
            help=(
                "RSt, CSt, NC-t2t, R-NESt, CLIP-NESt, MEIR, CHASMA, CHASMA-D, or some"
                " joined by ' + '."
            )
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--data",
            metavar="NAME|CSV",
            help="Truthful pairs: a data set, or a CSV of pairs.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for pairs.csv and record.json.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Folder that verite encode wrote for the pairs.", show_default=False
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|CSV",
            help="Misleading captions for CHASMA.",
            show_default=False,
        ),
    ] = None,
    pool_vectors: Annotated[
        Path | None,
        typer.Option(
            help="Folder that verite encode wrote for the pool.", show_default=False
        ),
    ] = None,
    parameter: Annotated[
        list[str],
        typer.Option(
            "-p", "--parameter", metavar="KEY VALUE", help="A maker's own parameter."
        ),
    ] = [],  # noqa: B006
    events: Annotated[
        int | None,
        typer.Option(
            min=1, help="Size of a newsroom; 200 if not given.", show_default=False
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Decides every draw, and the newsroom.")
    ] = 0,
    faiss: Annotated[
        bool,
        typer.Option(
            "--faiss", help="Search in an index on the disk, for pools past memory."
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a table that is there.")
    ] = False,
) -> None:
    """Make misleading pairs from truthful ones.

    Verite synth "R-NESt + NC-t2t" --data newsroom --out FOLDER.
    """
    from verite.provenance import commit, versions
    from verite.synthesis.command import synthesise

    try:
        done = synthesise(
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
            "stopped. What a long search had found is kept; run the same command to"
            " go on."
        ) from None
    print("\n".join(done))


@app.command("encode")
def encode_command(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="CSV of pairs; image_path is relative to its folder.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(
            help="open_clip architecture, a model configuration (.json), or newsroom."
        ),
    ] = "newsroom",
    pretrained: Annotated[
        str | None,
        typer.Option(
            help="Tag of open_clip's, or a checkpoint (.safetensors).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the vectors and the ledger.", show_default=False),
    ] = None,
    images_from: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images, if not the table's.", show_default=False
        ),
    ] = None,
    batch_size: Annotated[
        int,
        typer.Option(
            min=1, help="Images or captions that go through the model together."
        ),
    ] = 64,
    autocast: Annotated[
        bool,
        typer.Option("--autocast", help="Compute in bfloat16 where that is faster."),
    ] = False,
    normalise: Annotated[bool, typer.Option(help="Give vectors length 1.")] = True,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps, or auto.")] = "auto",
    train_newsroom: Annotated[
        bool,
        typer.Option("--train-newsroom", help="Train the newsroom's encoder again."),
    ] = False,
) -> None:
    """Encode the images and captions of a table.

    What was stopped goes on where it was.
    """
    if train_newsroom:
        from verite.newsroom.clip import load_newsroom_clip

        print(f"newsroom's encoder: {load_newsroom_clip(retrain=True)[1]}")
    if table is None:
        if not train_newsroom:
            raise ParameterError(
                "which table? Write: verite encode TABLE --encoder ViT-L-14"
                " --pretrained openai --out FOLDER."
            )
        return
    if out is None:
        raise ParameterError("where should the vectors go? Add --out FOLDER.")
    import verite.newsroom  # noqa: F401  # registers its encoder
    from verite.encoders.tables import encode_table

    try:
        done = encode_table(
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
            f"stopped. Finished shards are kept in {out / 'shards'}; run the same"
            " command to go on."
        ) from None
    print("\n".join(done))


@app.command("build")
def build_command(
    articles: Annotated[
        Path,
        typer.Argument(
            help="Table of fact-checked articles, in the format of VERITE_articles.csv."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for pairs, findings and report.")],
    images: Annotated[
        list[Path],
        typer.Option(
            help="Vectors of the images, own ones and a pool's; more files if repeated."
        ),
    ] = [],  # noqa: B006
    texts: Annotated[
        Path | None, typer.Option(help="Vectors of the captions.", show_default=False)
    ] = None,
    candidates: Annotated[
        int, typer.Option(min=1, help="Out-of-context candidates an article.")
    ] = 10,
    same_picture: Annotated[
        float,
        typer.Option(
            min=-1, max=1, help="Cosine from which on two images are one picture."
        ),
    ] = 0.9,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a report that is there.")
    ] = False,
) -> None:
    """Build a benchmark from articles.

    Check, compare, unpack to pairs, propose out-of-context images, report.
    """
    from verite.building import build

    print(
        "\n".join(
            build(
                articles,
                out,
                images=images,
                texts=texts,
                k=candidates,
                same_picture=same_picture,
                force=force,
            )
        )
    )


@app.command("score")
def score_command(
    predictions: Annotated[
        Path,
        typer.Argument(
            help="CSV with an id and a predicted label a row: pair_id,prediction."
        ),
    ],
    benchmark: Annotated[
        str,
        typer.Option(
            metavar="verite|vmu-twitter|cosmos|CSV",
            help="What they are for, or a CSV of pairs.",
        ),
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            help="Predictions of a second system, to compare with.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for score.json and model-card.md.", show_default=False
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="error|wrong|skip", help="What pairs without a prediction count."
        ),
    ] = "error",
    parameter: Annotated[
        list[str],
        typer.Option(
            "-p", "--parameter", metavar="KEY VALUE", help="Option of the benchmark."
        ),
    ] = [],  # noqa: B006
    id_column: Annotated[
        str | None,
        typer.Option(
            help="Column of ids, if not pair_id or the like.", show_default=False
        ),
    ] = None,
    prediction_column: Annotated[
        str | None,
        typer.Option(
            help="Column of predictions, if not prediction.", show_default=False
        ),
    ] = None,
    label: Annotated[
        list[str],
        typer.Option(
            metavar="SPELLING=LABEL",
            help="What a spelling means, such as 1=misinformation.",
        ),
    ] = [],  # noqa: B006
    name: Annotated[
        str,
        typer.Option(
            help="The system's name for the model card; the file's if not given.",
            show_default=False,
        ),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of intervals and test.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace results that are there.")
    ] = False,
) -> None:
    """Score predictions under every protocol.

    Verite score PREDICTIONS.csv --benchmark verite --against OTHER.csv.
    """
    from verite.provenance import commit, versions
    from verite.scoring import check_output, readable, score_predictions, write_scores

    if unclear := next((each for each in label if "=" not in each), None):
        raise ParameterError(
            f"--label {unclear}: expected SPELLING=LABEL, such as 1=misinformation."
        )
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
        paths = write_scores(
            scores, out, name or predictions.stem, about=about, force=force
        )
        print("\n" + "\n".join(map(str, paths)))


@app.command("audit")
def audit_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="CSV|NAME",
            help="CSV, TSV, JSON lines or parquet, or a data set.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for audit.html, audit.json and suspects.csv.")
    ] = Path("audit"),
    label_column: Annotated[
        str,
        typer.Option(help="Guessed if not given, as all columns.", show_default=False),
    ] = "",
    caption_column: Annotated[str, typer.Option(show_default=False)] = "",
    image_column: Annotated[
        str, typer.Option(help="Ids or file names of images.", show_default=False)
    ] = "",
    group_column: Annotated[
        str,
        typer.Option(
            help="What must not be split, such as an event.", show_default=False
        ),
    ] = "",
    split_column: Annotated[str, typer.Option(show_default=False)] = "",
    id_column: Annotated[str, typer.Option(show_default=False)] = "",
    images: Annotated[
        Path | None,
        typer.Option(
            help="Vectors of the images: verite encode's, or .npy.", show_default=False
        ),
    ] = None,
    image_ids: Annotated[
        Path | None,
        typer.Option(
            help="Ids of the vectors in .npy, one a line.", show_default=False
        ),
    ] = None,
    texts: Annotated[
        Path | None, typer.Option(help="Vectors of the captions.", show_default=False)
    ] = None,
    text_ids: Annotated[
        Path | None,
        typer.Option(
            help="Ids of the vectors in .npy, one a line.", show_default=False
        ),
    ] = None,
    image_folder: Annotated[
        Path | None, typer.Option(help="Where the image files lie.", show_default=False)
    ] = None,
    probes: Annotated[
        str,
        typer.Option(
            help="Families of probes, with commas; all if not given.",
            show_default=False,
        ),
    ] = "",
    folds: Annotated[
        int, typer.Option(min=2, help="Folds of the cross-validation.")
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, help="Decides folds, permutations and resamples.")
    ] = 0,
    permutations: Annotated[
        int, typer.Option(min=200, max=1999, help="Of each test.")
    ] = 1000,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Also write a cleaned copy, and what was changed."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an audit that is there.")
    ] = False,
) -> None:
    """Look at what a benchmark lets a model get away with that sees one modality alone.

    Verite audit PAIRS.csv --out FOLDER.
    """
    from verite.audit import PROBES
    from verite.audit.command import audit_files
    from verite.provenance import commit, versions

    named = {"label": label_column, "caption": caption_column, "image": image_column}
    named |= {"group": group_column, "split": split_column, "id": id_column}
    families = tuple(name.strip() for name in probes.split(",") if name.strip())
    lines = audit_files(
        source,
        out,
        reading={
            "columns": {role: name for role, name in named.items() if name},
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
    print("\n".join(lines))


@data.command("list")
def data_list() -> None:
    """Name the data sets, with licence and source."""
    from verite import datasets

    for name in datasets.names():
        card = datasets.card(name)
        print(
            f"{name}: {card.title}\n  source:  {card.source}\n  licence: {card.licence}"
        )


@data.command("status")
def data_status() -> None:
    """Say which files are there, and whether they are what the publisher offers."""
    from verite import datasets

    found = list(datasets.status())
    for one in found:
        print(
            f"{one.dataset:16} {one.path:60}"
            f" {f'{one.bytes:>11,} bytes' if one.present else 'not there':>17} "
            f" verified: {one.verified}"
        )
    for name in dict.fromkeys(one.dataset for one in found if not one.present):
        print(f"\n{name} is not whole here. {datasets.instructions(name)}")


@data.command("fetch")
def data_fetch(name: str) -> None:
    """Download a data set, or say how to ask for it."""
    from verite import datasets

    for path in datasets.fetch(name):
        print(path)


@data.command("pairs")
def dataparse_options(
    name: Annotated[str, typer.Argument(help="A data set.")],
    out: Annotated[Path, typer.Argument(help="CSV to write.")],
    parameter: Annotated[
        list[str],
        typer.Option(
            "-p", "--parameter", metavar="KEY VALUE", help="An option of the data set."
        ),
    ] = [],  # noqa: B006
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there.")
    ] = False,
) -> None:
    """Write a data set's pairs as a CSV, for verite encode and verite synth.

    Verite data pairs newsclippings OUT -p subset captions.
    """
    from verite import datasets
    from verite.files import check_overwrite, write_csv

    check_overwrite(out, force)
    if name == "newsroom":
        raise ParameterError(
            "a newsroom has images that have to be drawn. Write one with: verite"
            " newsroom FOLDER."
        )
    pairs = datasets.load(
        name, **datasets.parse_options(name, parse_options(parameter))
    ).pairs
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
        typer.Option(
            help="Folder for images and ledger; VERITE's own if not given.",
            show_default=False,
        ),
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
        str,
        typer.Option(help="Host that may have a private address.", show_default=False),
    ] = "",
) -> None:
    """Download images politely; a ledger records the status of each link.

    Run it again to request what is missing.
    """
    from verite.datasets.images import fetch_images, read_links, summary, verite_links
    from verite.datasets.reading import home
    from verite.http import Limits

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
            allow_host=allow_host,
            retry_failed=retry_failed,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped. Images that were saved are in {out}; run the same command to"
            " continue."
        ) from None
    paths = [f"images: {out}", f"ledger: {out / 'ledger.csv'}"]
    print("\n".join([*summary(images), *paths]))


@data.command("path")
def data_path() -> None:
    """Print the folder of the data: VERITE_DATA, or the user's cache."""
    from verite import datasets

    print(datasets.home())


# The commands of the other packages that are installed.
for _package in sorted(entry_points(group="verite.commands"), key=lambda e: e.name):
    app.add_typer(_package.load())
