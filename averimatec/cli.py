"""``verite averimatec``.

Make claims, describe them, score a submission, check a judge.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from averimatec.cli_run import run_command
from verite.errors import ParameterError, StoppedError

if TYPE_CHECKING:
    from averimatec.judges import Judge

__all__ = ["averimatec"]

averimatec = typer.Typer(
    name="averimatec",
    help="Claims verified with evidence: data, scoring, checks of a judge.",
    no_args_is_help=True,
)
averimatec.command("run")(run_command)

Kind = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="deterministic|endpoint|huggingface|cached",
        help="Who compares; see the book.",
    ),
]
Name = Annotated[
    str,
    typer.Option(
        "--judge-model",
        help="Model of an endpoint, or folder of a local one.",
        show_default=False,
    ),
]
Url = Annotated[
    str,
    typer.Option(
        "--judge-url",
        help="OpenAI-compatible, such as http://localhost:8000/v1.",
        show_default=False,
    ),
]
Key = Annotated[
    str,
    typer.Option(
        "--key-variable",
        help="Environment variable that holds the endpoint's key.",
        show_default=False,
    ),
]
Replies = Annotated[
    Path | None,
    typer.Option(
        "--replies",
        help="File of cached replies; OUT/replies.jsonl otherwise.",
        show_default=False,
    ),
]
Images = Annotated[
    Path | None, typer.Option(help="Folder of the claims' images.", show_default=False)
]
Clip = Annotated[
    str,
    typer.Option(
        help=(
            "For the deterministic judge: an open_clip architecture, or newsroom,"
            " instead of hashes."
        )
    ),
]
Weights = Annotated[
    str | None,
    typer.Option("--pretrained", help="Weights of --clip.", show_default=False),
]
Seconds = Annotated[
    float, typer.Option(min=0.1, help="Time for one reply of an endpoint.")
]
Tries = Annotated[int, typer.Option(min=1, help="How often to ask an endpoint.")]
Modes = Annotated[
    list[str],
    typer.Option(
        "--mode",
        help=(
            "text-only, interleaved, separated; all if not given. The last one decides"
            " which verdicts count."
        ),
        show_default=False,
    ),
]


@averimatec.command("make")
def make_command(
    out: Annotated[
        Path, typer.Argument(help="Folder for the splits, images/ and store/.")
    ],
    claims: Annotated[int, typer.Option(min=12, help="How many.")] = 48,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace claims that are there.")
    ] = False,
) -> None:
    """Write synthetic claims of the newsroom, and a knowledge store to verify them by.

    Verite averimatec make FOLDER.
    """
    from averimatec.made import make_claims

    if (out / "made.json").exists() and not force:
        raise ParameterError(
            f"{out / 'made.json'} is there. Choose another folder, or replace it with"
            " --force."
        )
    made = make_claims(out, claims, seed)
    print("synthetic: they teach, and are no evidence")
    for split, listed in made.splits.items():
        print(f"{split + ':':7}{len(listed):>5} claims: {out / f'{split}.json'}")
    print(
        f"store: {len(made.store.pages):>5} pages:  {out / 'store'}\nimages:"
        f" {made.images}"
    )


@averimatec.command("stats")
def stats_command(
    splits: Annotated[
        list[Path],
        typer.Argument(
            help="JSON of claims, in the order of time: train.json val.json test.json."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the tables as CSV.", show_default=False),
    ] = None,
    images: Images = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Knowledge store, whose dates are those of the evidence.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace tables that are there.")
    ] = False,
) -> None:
    """Describe claims as the paper's Tables 2 and 5 to 9 do, and check dates,
    duplicates and images.
    """
    from averimatec.reports import describe

    print("\n".join(describe(splits, out=out, images=images, store=store, force=force)))


@averimatec.command("score")
def score_command(
    gold: Annotated[
        Path, typer.Option(help="JSON of claims with questions, answers and labels.")
    ],
    submission: Annotated[
        Path, typer.Option(help="What a system says of them, in the official format.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for scores.csv, claims.csv, problems.csv and score.json."
        ),
    ],
    judge: Kind = "deterministic",
    judge_model: Name = "",
    judge_url: Url = "",
    key_variable: Key = "",
    replies: Replies = None,
    images: Annotated[
        list[Path],
        typer.Option(
            help="Folder of images; may be given again, as for those that a run found."
        ),
    ] = [],  # noqa: B006
    clip: Clip = "",
    pretrained: Weights = None,
    statements: Annotated[
        Path | None,
        typer.Option(
            help="Reference evidence that a model put into words.", show_default=False
        ),
    ] = None,
    mode: Modes = [],  # noqa: B006
    rouge: Annotated[
        str, typer.Option(metavar="recall|f1", help="Which ROUGE-1 justifications get.")
    ] = "recall",
    missing: Annotated[
        str,
        typer.Option(
            metavar="error|wrong", help="What claims without a prediction are."
        ),
    ] = "error",
    workers: Annotated[int, typer.Option(min=1, help="Claims judged at a time.")] = 1,
    seconds: Seconds = 120,
    tries: Tries = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the intervals.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace scores that are there.")
    ] = False,
) -> None:
    """Score a submission: verite averimatec score --gold G.json --submission S.json
    --out FOLDER.
    """
    from averimatec.reports import score_files
    from averimatec.scoring import MODES

    chosen = _judge(
        judge,
        judge_model,
        judge_url,
        key_variable,
        replies or out / "replies.jsonl",
        clip,
        pretrained,
        seconds,
        tries,
    )
    try:
        lines = score_files(
            gold,
            submission,
            out,
            chosen,
            images=images,
            statements=statements,
            modes=tuple(mode) or MODES,
            rouge=rouge,
            missing=missing,
            workers=workers,
            seed=seed,
            force=force,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped. Replies that came are kept; run the same command to go on."
        ) from None
    print("\n".join(lines))


@averimatec.command("check")
def check_command(
    gold: Annotated[
        Path, typer.Argument(help="JSON of claims with questions and answers.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for checks.csv and changed images.")
    ],
    judge: Kind = "deterministic",
    judge_model: Name = "",
    judge_url: Url = "",
    key_variable: Key = "",
    replies: Replies = None,
    images: Images = None,
    clip: Clip = "",
    pretrained: Weights = None,
    claims: Annotated[
        int,
        typer.Option(
            min=1, help="How many claims, from the first one on; the paper took 20."
        ),
    ] = 20,
    mode: Modes = [],  # noqa: B006
    seconds: Seconds = 120,
    tries: Tries = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of changes and intervals.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace checks that are there.")
    ] = False,
) -> None:
    """Check a judge as the paper's Table 11 does.

    Recall falls where it should, and stays where it should.
    """
    from averimatec.reports import check_files
    from averimatec.scoring import MODES

    chosen = _judge(
        judge,
        judge_model,
        judge_url,
        key_variable,
        replies or out / "replies.jsonl",
        clip,
        pretrained,
        seconds,
        tries,
    )
    try:
        lines = check_files(
            gold,
            out,
            chosen,
            images=images,
            claims=claims,
            modes=tuple(mode) or MODES,
            seed=seed,
            force=force,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped. Replies that came are kept; run the same command to go on."
        ) from None
    print("\n".join(lines))


def _judge(
    kind: str,
    model: str,
    url: str,
    key: str,
    replies: Path,
    clip: str,
    pretrained: str | None,
    seconds: float,
    tries: int,
) -> Judge:
    """Open a judge as the options name it."""
    from averimatec.judges import LexicalJudge, ModelJudge
    from averimatec.models import open_model

    if kind != "deterministic":
        if clip:
            raise ParameterError(
                "--clip is the deterministic judge's. Leave it out, or choose that"
                " judge."
            )
        settings = {"seconds": seconds, "tries": tries} if kind == "endpoint" else {}
        return ModelJudge(
            open_model(
                kind, model=model, url=url, key_variable=key, cache=replies, **settings
            )
        )
    if model or url or key:
        raise ParameterError(
            "the deterministic judge asks no model. Leave its options out, or choose"
            " --judge endpoint."
        )
    if not clip:
        return LexicalJudge()
    import verite.newsroom  # noqa: F401  # registers its encoder
    from verite.encoders import Encoder

    return LexicalJudge(encoder=Encoder.load(clip, pretrained))
