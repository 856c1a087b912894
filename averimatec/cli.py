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

averimatec = typer.Typer(
    name="averimatec",
    help="Claims verified with evidence: data, runs, scoring, checks of a judge.",
    no_args_is_help=True,
)

ClaimsFile = Annotated[Path, typer.Option(help="JSON of annotated claims.")]
Clip = Annotated[str, typer.Option(help="Compare images by this CLIP, not by hash.")]
Evidence = Annotated[str, typer.Option(metavar="search|gold|none")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Images = Annotated[Path | None, typer.Option(help="Folder of the claims' images.")]
JudgeKind = Annotated[str, typer.Option(metavar="deterministic|endpoint|cached")]
KeyVariable = Annotated[str, typer.Option(help="Environment variable of the key.")]
Limit = Annotated[int, typer.Option(min=0, help="Only the first claims; 0 for all.")]
Missing = Annotated[str, typer.Option(metavar="error|wrong", help="If not predicted.")]
Modes = Annotated[
    list[str],
    typer.Option("--mode", help="text-only, interleaved, separated; the last counts."),
]
ModelKind = Annotated[str, typer.Option(metavar="rules|endpoint|cached")]
ModelName = Annotated[str, typer.Option(help="Model of the endpoint.")]
ModelUrl = Annotated[str, typer.Option(help="OpenAI-compatible: http://.../v1.")]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Pretrained = Annotated[str | None, typer.Option(help="Weights of --clip.")]
Price = Annotated[float, typer.Option(min=0, help="Per million tokens.")]
Questions = Annotated[int, typer.Option(min=1, help="Questions per claim.")]
Replies = Annotated[Path | None, typer.Option(help="Default: OUT/replies.")]
Rouge = Annotated[str, typer.Option(metavar="recall|f1", help="Of justifications.")]
SearchUrl = Annotated[str, typer.Option(help="Search engine, instead of a store.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Time for one answer.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Seeing = Annotated[str, typer.Option(help="Another model, for prompts with images.")]
Shots = Annotated[int, typer.Option(min=0, help="Demonstrations from --training.")]
Some = Annotated[int, typer.Option(min=1, help="Number of claims, the first ones.")]
Splits = Annotated[list[Path], typer.Argument(help="JSON of claims, oldest first.")]
Statements = Annotated[Path | None, typer.Option(help="A model's statements.")]
StorePath = Annotated[Path | None, typer.Option(help="Knowledge store to search.")]
Strategy = Annotated[str, typer.Option(metavar="parallel|dynamic|hybrid")]
Submission = Annotated[Path, typer.Option(help="Predictions in the official format.")]
Training = Annotated[Path | None, typer.Option(help="JSON of claims with questions.")]
Tries = Annotated[int, typer.Option(min=1, help="Requests per answer.")]
Undated = Annotated[bool, typer.Option("--undated", help="Use pages without a date.")]
Workers = Annotated[int, typer.Option(min=1, help="Claims at a time.")]


@averimatec.command("make")
def make_command(
    out: Annotated[Path, typer.Argument(help="Folder for splits, images and store.")],
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


@averimatec.command("stats")
def stats_command(
    splits: Splits,
    out: Annotated[Path | None, typer.Option(help="Folder for tables.")] = None,
    images: Images = None,
    store: StorePath = None,
    force: Force = False,
) -> None:
    """Describe claims by Tables 2 and 5 to 9, check dates, duplicates and images."""
    from averimatec.claims import read_claims
    from averimatec.corpus import (
        duplicate_claims,
        late_evidence,
        split_order,
        statistics,
    )
    from averimatec.reports import missing_lines, table_lines
    from averimatec.store import read_store

    claims = {path.stem: read_claims(path) for path in splits}
    if len(claims) < len(splits):
        raise ParameterError("two files have the same name. Rename one.")
    dates = read_store(store).dates() if store else None
    late, judged = _by_split(claims, lambda part: late_evidence(part, dates))
    duplicates, _ = _by_split(claims, duplicate_claims)
    table, order = statistics(claims), split_order(claims)
    print(*table_lines(table), "order in time", order.to_string(index=False), sep="\n")
    print(
        f"\nevidence dated after its claim: {len(late):,} of {judged:,} dated answers"
    )
    print(f"pairs of claims that may be duplicates: {len(duplicates):,}")
    if images:
        print(*missing_lines(claims, images), sep="\n")
    if out:
        tables = {"statistics": table, "order": order, "late": late}
        _write(out, tables | {"duplicates": duplicates}, force=force)


@averimatec.command("score")
def score_command(
    gold: ClaimsFile,
    submission: Submission,
    out: Out,
    judge: JudgeKind = "deterministic",
    judge_model: ModelName = "",
    judge_url: ModelUrl = "",
    key_variable: KeyVariable = "",
    replies: Replies = None,
    images: Annotated[list[Path], typer.Option(help="Folders of images.")] = [],  # noqa: B006
    clip: Clip = "",
    pretrained: Pretrained = None,
    statements: Statements = None,
    mode: Modes = [],  # noqa: B006
    rouge: Rouge = "recall",
    missing: Missing = "error",
    workers: Workers = 1,
    seconds: Seconds = 120,
    tries: Tries = 5,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Score a submission."""
    from averimatec.claims import image_files, read_claims
    from averimatec.conventions import MODES
    from averimatec.reports import score_lines
    from averimatec.scoring import score_submission
    from averimatec.submission import read_statements, read_submission
    from verite.files import check_overwrite, sha256, write_json

    check_overwrite(out / "score.json", force)
    endpoint = _endpoint(judge_url, judge_model, key_variable, seconds, tries)
    encoder = _encoder(clip, pretrained)
    chosen = _judge(judge, endpoint, replies or out / "replies", encoder)
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
    gold: Annotated[Path, typer.Argument(help="JSON of annotated claims.")],
    out: Out,
    judge: JudgeKind = "deterministic",
    judge_model: ModelName = "",
    judge_url: ModelUrl = "",
    key_variable: KeyVariable = "",
    replies: Replies = None,
    images: Images = None,
    clip: Clip = "",
    pretrained: Pretrained = None,
    claims: Some = 20,
    mode: Modes = [],  # noqa: B006
    seconds: Seconds = 120,
    tries: Tries = 5,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Check that a judge's recall falls or stays where it should (Table 11)."""
    from averimatec.claims import image_files, read_claims
    from averimatec.conventions import MODES
    from averimatec.reports import check_lines
    from averimatec.robustness import check_judge
    from verite.files import check_overwrite

    check_overwrite(out / "checks.csv", force)
    endpoint = _endpoint(judge_url, judge_model, key_variable, seconds, tries)
    encoder = _encoder(clip, pretrained)
    chosen = _judge(judge, endpoint, replies or out / "replies", encoder)
    some = [claim for claim in read_claims(gold) if claim.questions][:claims]
    files = image_files(images) if images else None
    modes = tuple(mode) or MODES
    with _stoppable():
        checks = check_judge(
            chosen, some, out / "changed", files=files, modes=modes, seed=seed
        )
    print(f"judge:  {chosen.name}\nclaims: {len(some):,}\n")
    print(*check_lines(checks), sep="\n")
    _write(out, {"checks": checks}, chosen, force)


@averimatec.command("run")
def run_command(
    out: Out,
    claims: Annotated[Path | None, typer.Option(help="Default: synthetic.")] = None,
    store: StorePath = None,
    images: Images = None,
    model: ModelKind = "rules",
    model_name: ModelName = "",
    model_url: ModelUrl = "",
    seeing_name: Seeing = "",
    key_variable: KeyVariable = "",
    replies: Replies = None,
    strategy: Strategy = "hybrid",
    evidence: Evidence = "search",
    questions: Questions = 5,
    shots: Shots = 0,
    training: Training = None,
    undated: Undated = False,
    clip: Clip = "",
    pretrained: Pretrained = None,
    search_url: SearchUrl = "",
    search_key_variable: KeyVariable = "",
    limit: Limit = 0,
    workers: Workers = 1,
    seconds: Seconds = 120,
    tries: Tries = 5,
    price_in: Price = 0,
    price_out: Price = 0,
) -> None:
    """Verify claims with evidence, by default by rules, which are no model."""
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
    folder, common = replies or out / "replies", (key_variable, seconds, tries)
    prices = price_in, price_out
    endpoint = _endpoint(model_url, model_name, *common, prices)
    chosen = _model(model, endpoint, folder)
    if seeing_name:
        endpoint = _endpoint(model_url, seeing_name, *common, prices)
        seeing = _model(model, endpoint, folder.with_name(f"{folder.name}-images"))
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
    pages = read_store(store) if store else Store(())
    encoder = _encoder(clip, pretrained)
    selected = read_claims(claims)
    with _stoppable():
        outcome = verify_claims(
            selected[:limit] if limit else selected,
            WebSearch(search_url, out / "found", search_key_variable, seconds, tries)
            if search_url
            else StoreSearch(pages, undated=undated, encoder=encoder),
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
    kind: str, endpoint: EndpointModel | None, replies: Path, encoder: Encoder | None
) -> Judge:
    from averimatec.judges import LexicalJudge, ModelJudge
    from averimatec.models import open_model

    if kind == "deterministic":
        if endpoint:
            raise ParameterError("deterministic judges ask no model: use endpoint.")
        return LexicalJudge(encoder=encoder)
    if encoder:
        raise ParameterError("--clip is an option of the deterministic judge.")
    return ModelJudge(open_model(kind, endpoint, replies))


def _encoder(clip: str, pretrained: str | None) -> Encoder | None:
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
        message = "stopped. Finished work is kept; run the same command to continue."
        raise StoppedError(message) from None
