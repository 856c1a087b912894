"""``verite averimatec``: make, describe and verify claims, score, check a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verite.errors import ParameterError, StoppedError

if TYPE_CHECKING:
    import pandas as pd

    from averimatec.claims import Claim
    from averimatec.judges import Judge
    from averimatec.models import EndpointModel, Model
    from verite.encoders import Encoder

__all__ = ["averimatec"]

averimatec = typer.Typer(
    name="averimatec",
    help="Claims verified with evidence: data, runs, scoring, checks of a judge.",
    no_args_is_help=True,
)

Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
JudgeKind = Annotated[
    str, typer.Option("--judge", metavar="deterministic|endpoint|cached")
]
JudgeModel = Annotated[str, typer.Option(help="Model of the endpoint.")]
JudgeUrl = Annotated[
    str, typer.Option(help="OpenAI-compatible, such as http://localhost:8000/v1.")
]
KeyVariable = Annotated[
    str, typer.Option(help="Environment variable that holds the endpoint's key.")
]
Replies = Annotated[
    Path | None, typer.Option(help="Folder of cached replies; default: OUT/replies.")
]
Images = Annotated[Path | None, typer.Option(help="Folder of the claims' images.")]
Clip = Annotated[
    str,
    typer.Option(
        help="Compare images by this open_clip architecture, or newsroom, not by hash."
    ),
]
Pretrained = Annotated[str | None, typer.Option(help="Weights of --clip.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Time for one answer.")]
Tries = Annotated[int, typer.Option(min=1, help="Requests per answer.")]
Modes = Annotated[
    list[str],
    typer.Option(
        "--mode",
        help="text-only, interleaved, separated (all by default). The last one decides"
        " which verdicts count.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Workers = Annotated[int, typer.Option(min=1, help="Claims at a time.")]


@averimatec.command("make")
def make_command(
    out: Annotated[
        Path, typer.Argument(help="Folder for the splits, images/ and store/.")
    ],
    claims: Annotated[int, typer.Option(min=12, help="Number of claims.")] = 48,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Write synthetic claims of the newsroom, and a knowledge store for them."""
    from averimatec.made import make_claims
    from verite.files import check_overwrite

    check_overwrite(out / "made.json", force)
    made = make_claims(out, claims, seed)
    print("synthetic: for teaching, no evidence about real claims")
    for split, members in made.splits.items():
        print(f"{split + ':':7}{len(members):>5} claims: {out / f'{split}.json'}")
    print(f"store: {len(made.store.pages):>5} pages:  {out / 'store'}")
    print(f"images: {made.images}")


@averimatec.command("stats")
def stats_command(
    splits: Annotated[
        list[Path],
        typer.Argument(
            help="JSON of claims, in the order of time: train.json val.json test.json."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for tables as CSV.")] = None,
    images: Images = None,
    store: Annotated[
        Path | None, typer.Option(help="Knowledge store, for the dates of evidence.")
    ] = None,
    force: Force = False,
) -> None:
    """Describe claims by Tables 2 and 5 to 9, check dates, duplicates and images."""
    from averimatec.claims import read_claims
    from averimatec.reports import missing_lines, table_lines
    from averimatec.statistics import (
        duplicate_claims,
        late_evidence,
        split_order,
        statistics,
    )
    from averimatec.store import read_store

    claims = {path.stem: read_claims(path) for path in splits}
    if len(claims) < len(splits):
        raise ParameterError("two files have the same name. Rename one.")
    dates = read_store(store).dates() if store else None
    late, judged = _by_split(claims, lambda part: late_evidence(part, dates))
    duplicates, _ = _by_split(claims, duplicate_claims)
    tables = {
        "statistics": statistics(claims),
        "order": split_order(claims),
        "late": late,
        "duplicates": duplicates,
    }
    print(*table_lines(tables["statistics"]), sep="\n")
    print("order in time", tables["order"].to_string(index=False), "", sep="\n")
    print(
        f"evidence dated after its claim: {len(late):,} of {judged:,} answers with a"
        " known date"
    )
    print(
        "pairs of claims that may be duplicates (cosine or Jaccard index > .3):"
        f" {len(duplicates):,}"
    )
    if images:
        print(*missing_lines(claims, images), sep="\n")
    if out:
        _write(out, tables, force=force)


@averimatec.command("score")
def score_command(
    gold: Annotated[
        Path, typer.Option(help="JSON of claims with questions, answers and labels.")
    ],
    submission: Annotated[
        Path, typer.Option(help="Output of a system, in the official format.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for scores.csv, claims.csv, problems.csv and score.json."
        ),
    ],
    judge: JudgeKind = "deterministic",
    judge_model: JudgeModel = "",
    judge_url: JudgeUrl = "",
    key_variable: KeyVariable = "",
    replies: Replies = None,
    images: Annotated[
        list[Path],
        typer.Option(help="Folder of images; repeat it for those that a run found."),
    ] = [],  # noqa: B006
    clip: Clip = "",
    pretrained: Pretrained = None,
    statements: Annotated[
        Path | None, typer.Option(help="Reference evidence put into words by a model.")
    ] = None,
    mode: Modes = [],  # noqa: B006
    rouge: Annotated[
        str, typer.Option(metavar="recall|f1", help="ROUGE-1 of justifications.")
    ] = "recall",
    missing: Annotated[
        str, typer.Option(metavar="error|wrong", help="Claims without a prediction.")
    ] = "error",
    workers: Workers = 1,
    seconds: Seconds = 120,
    tries: Tries = 5,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Score a submission."""
    from averimatec.claims import image_files, read_claims
    from averimatec.reports import score_lines
    from averimatec.scoring import MODES, score_submission
    from averimatec.submission import read_statements, read_submission
    from verite.files import check_overwrite, sha256, write_json

    check_overwrite(out / "score.json", force)
    endpoint = _endpoint(judge_url, judge_model, key_variable, seconds, tries)
    chosen = _judge(judge, endpoint, replies or out / "replies", clip, pretrained)
    claims = read_claims(gold)
    files = {name: p for folder in images for name, p in image_files(folder).items()}
    with _stoppable():
        scores = score_submission(
            claims,
            read_submission(submission),
            chosen,
            files=files,
            statements=read_statements(statements, claims) if statements else None,
            modes=tuple(mode) or MODES,
            rouge=rouge,
            missing=missing,
            workers=workers,
            seed=seed,
        )
    print(*score_lines(scores), "", sep="\n")
    tables = {"scores": scores.table, "claims": scores.claims}
    _write(out, tables | {"problems": scores.problems}, chosen, force)
    inputs = {
        path.name: sha256(path) for path in (gold, submission, statements) if path
    }
    rows = scores.table.astype(object).where(scores.table.notna(), None)
    about = {**scores.about, "inputs": inputs, "scores": rows.to_dict("records")}
    write_json(out / "score.json", about)


@averimatec.command("check")
def check_command(
    gold: Annotated[
        Path, typer.Argument(help="JSON of claims with questions and answers.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for checks.csv and changed images.")
    ],
    judge: JudgeKind = "deterministic",
    judge_model: JudgeModel = "",
    judge_url: JudgeUrl = "",
    key_variable: KeyVariable = "",
    replies: Replies = None,
    images: Images = None,
    clip: Clip = "",
    pretrained: Pretrained = None,
    claims: Annotated[
        int, typer.Option(min=1, help="Number of claims, the first ones.")
    ] = 20,
    mode: Modes = [],  # noqa: B006
    seconds: Seconds = 120,
    tries: Tries = 5,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Check that a judge's recall falls or stays where it should (Table 11)."""
    from averimatec.claims import image_files, read_claims
    from averimatec.reports import check_lines
    from averimatec.robustness import check_judge
    from averimatec.scoring import MODES
    from verite.files import check_overwrite

    check_overwrite(out / "checks.csv", force)
    endpoint = _endpoint(judge_url, judge_model, key_variable, seconds, tries)
    chosen = _judge(judge, endpoint, replies or out / "replies", clip, pretrained)
    some = [claim for claim in read_claims(gold) if claim.questions][:claims]
    with _stoppable():
        checks = check_judge(
            chosen,
            some,
            out / "changed",
            files=image_files(images) if images else None,
            modes=tuple(mode) or MODES,
            seed=seed,
        )
    print(f"judge:  {chosen.name}\nclaims: {len(some):,}\n")
    print(*check_lines(checks), sep="\n")
    _write(out, {"checks": checks}, chosen, force)


@averimatec.command("run")
def run_command(
    out: Annotated[
        Path,
        typer.Option(help="Folder for submission.json, run.json, claims/ and images/."),
    ],
    claims: Annotated[
        Path | None, typer.Option(help="JSON of claims; default: synthetic ones.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Knowledge store: a folder or a file.")
    ] = None,
    images: Images = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="rules|endpoint|cached", help="rules are a stand-in, no model."
        ),
    ] = "rules",
    model_name: JudgeModel = "",
    model_url: JudgeUrl = "",
    seeing_name: Annotated[
        str, typer.Option(help="Another model of it, for prompts with images.")
    ] = "",
    key_variable: KeyVariable = "",
    replies: Replies = None,
    strategy: Annotated[
        str, typer.Option(metavar="parallel|dynamic|hybrid", help="Order of questions.")
    ] = "hybrid",
    evidence: Annotated[
        str,
        typer.Option(
            metavar="search|gold|none", help="gold: annotated; none: no search."
        ),
    ] = "search",
    questions: Annotated[int, typer.Option(min=1, help="Questions per claim.")] = 5,
    shots: Annotated[
        int,
        typer.Option(min=0, help="Demonstrations from --training; the paper gives 3."),
    ] = 0,
    training: Annotated[
        Path | None, typer.Option(help="JSON of claims for demonstrations.")
    ] = None,
    undated: Annotated[
        bool, typer.Option("--undated", help="Use pages without a date.")
    ] = False,
    clip: Clip = "",
    pretrained: Pretrained = None,
    search_url: Annotated[
        str, typer.Option(help="Endpoint of a search engine, instead of a store.")
    ] = "",
    search_key_variable: KeyVariable = "",
    limit: Annotated[
        int, typer.Option(min=0, help="Number of claims, the first ones; 0 for all.")
    ] = 0,
    workers: Workers = 1,
    seconds: Seconds = 120,
    tries: Tries = 5,
    price_in: Annotated[
        float, typer.Option(min=0, help="Per million tokens read.")
    ] = 0,
    price_out: Annotated[
        float, typer.Option(min=0, help="Per million tokens written.")
    ] = 0,
) -> None:
    """Verify claims with evidence."""
    from averimatec.claims import image_files, read_claims
    from averimatec.made import make_claims
    from averimatec.models import PairedModel
    from averimatec.pipeline import Settings, StoreSearch, WebSearch, verify_claims
    from averimatec.reports import run_lines
    from averimatec.store import Store, read_store

    if store and search_url:
        raise ParameterError("give --store or --search-url, not both.")
    if (out / "train.json").exists():
        raise ParameterError(f"{out} holds claims. Choose another folder for the run.")
    settings = Settings(
        strategy, evidence, questions, shots, undated=undated, workers=workers
    )
    kept, prices = replies or out / "replies", (price_in, price_out)
    endpoint = _endpoint(model_url, model_name, key_variable, seconds, tries, prices)
    chosen = _model(model, endpoint, kept)
    if seeing_name:
        endpoint = _endpoint(
            model_url, seeing_name, key_variable, seconds, tries, prices
        )
        seeing = _model(model, endpoint, kept.with_name(f"{kept.name}-images"))
        chosen = PairedModel(chosen, seeing)
    if claims is None:
        if store or images or training:
            raise ParameterError("--store, --images and --training need --claims.")
        made = make_claims(out / "made")
        print(f"synthetic claims, no evidence about real ones: {made.folder}")
        claims, training = made.folder / "test.json", made.folder / "train.json"
        store, images = made.folder / "store", made.images
    if not (store or search_url) and evidence == "search":
        raise ParameterError("nothing to search in: give --store or --search-url.")
    selected = read_claims(claims)
    with _stoppable():
        outcome = verify_claims(
            selected[:limit] if limit else selected,
            WebSearch(search_url, out / "found", search_key_variable, seconds, tries)
            if search_url
            else StoreSearch(
                read_store(store) if store else Store(()),
                undated=undated,
                encoder=_encoder(clip, pretrained),
            ),
            chosen,
            out,
            settings=settings,
            files=image_files(images) if images else None,
            training=read_claims(training) if training else (),
        )
    print(*run_lines(outcome), f"\nresults: {out}", sep="\n")


def _endpoint(
    url: str,
    model: str,
    key_variable: str,
    seconds: float,
    tries: int,
    prices: tuple[float, float] = (0.0, 0.0),
) -> EndpointModel | None:
    """The endpoint that the options name, None if they name none."""
    from averimatec.models import EndpointModel

    if not (url or model or key_variable):
        return None
    if not (url and model):
        raise ParameterError("endpoint: give the model's name and its address.")
    return EndpointModel(url, model, key_variable, seconds, tries, prices)


def _model(kind: str, endpoint: EndpointModel | None, replies: Path) -> Model:
    from averimatec.models import open_model
    from averimatec.pipeline import RuleModel

    if kind != "rules":
        return open_model(kind, endpoint, replies)
    if endpoint:
        raise ParameterError("rules ask no model: choose --model endpoint.")
    return RuleModel()


def _judge(
    kind: str,
    endpoint: EndpointModel | None,
    replies: Path,
    clip: str,
    pretrained: str | None,
) -> Judge:
    from averimatec.judges import LexicalJudge, ModelJudge
    from averimatec.models import open_model

    if kind == "deterministic":
        if endpoint:
            raise ParameterError(
                "the deterministic judge asks no model: choose --judge endpoint."
            )
        return LexicalJudge(encoder=_encoder(clip, pretrained))
    if clip:
        raise ParameterError("--clip is an option of the deterministic judge.")
    return ModelJudge(open_model(kind, endpoint, replies))


def _encoder(clip: str, pretrained: str | None) -> Encoder | None:
    import verite.newsroom  # noqa: F401  # registers its encoder
    from verite.encoders import Encoder

    return Encoder.load(clip, pretrained) if clip else None


def _by_split(
    splits: Mapping[str, Sequence[Claim]],
    find: Callable[[Sequence[Claim]], pd.DataFrame],
) -> tuple[pd.DataFrame, int]:
    """One table of all splits, and how many answers were judged."""
    import pandas as pd

    tables = {split: find(claims) for split, claims in splits.items()}
    judged = sum(table.attrs.get("judged", 0) for table in tables.values())
    for split, table in tables.items():
        table["split"], table.attrs = split, {}
    return pd.concat(tables.values(), ignore_index=True), judged


def _write(
    out: Path,
    tables: Mapping[str, pd.DataFrame],
    judge: Judge | None = None,
    force: bool = False,
) -> None:
    """Write tables; cells that a spreadsheet would run are escaped."""
    from verite.audit.suspects import for_spreadsheets
    from verite.files import check_overwrite, write_csv

    for name in tables:
        check_overwrite(out / f"{name}.csv", force)
    for name, table in tables.items():
        named = table.assign(judge=judge.name) if judge else table
        write_csv(out / f"{name}.csv", for_spreadsheets(named))
    print(f"tables: {out}")


@contextmanager
def _stoppable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped. Finished work is kept; run the same command to continue."
        ) from None
