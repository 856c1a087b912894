"""The executed notebooks and the built book, as ``make book`` makes them.

One figure of each chapter, and every page.
"""

from __future__ import annotations

import functools
import html
import http.server
import itertools
import json
import re
import shlex
import shutil
import threading
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from verite.files import sha256
from veritebook.book import build_book, read_record
from veritebook.notebooks import open_notebook
from veritebook.places import find_places
from veritebook.results import read_results
from veritebook.status import in_words

REPOSITORY = Path(__file__).resolve().parents[2]
CONTENTS = yaml.safe_load((REPOSITORY / "_toc.yml").read_text())
PAGES = [
    CONTENTS["root"],
    *(chapter["file"] for part in CONTENTS["parts"] for chapter in part["chapters"]),
]
COMPARED = (
    "accuracy",
    "classes",
    "TF-IDF",
    "differences",
    "bias, two classes",
    "patterns",
    "still",
    "own",
    "ablation",
    "Table 6",
)
LECTURES = sorted(
    path.stem for path in (REPOSITORY / "book" / "teaching" / "slides").glob("*.md")
)
CHAPTERS = [page.split("/")[-1] for page in PAGES if page.startswith("notebooks/")]


@pytest.fixture(scope="module")
def book() -> Path:
    """Folder of the built pages.

    They are built once: the tests of one file run in one process.
    """
    return build_book().parent


@pytest.fixture(scope="module")
def results(book):
    """Results of a chapter, as figures by table, row and column."""

    @functools.cache
    def of(name):
        return (
            read_results(find_places().executed / name / "results.csv")
            .set_index(["table", "row", "column"])
            .sort_index()
        )

    return of


@pytest.fixture(scope="module")
def real(results):
    """Skip where the chapters were made from the newsroom."""
    if set(results("building-verite")["source"]) == {"newsroom"}:
        pytest.skip(
            "the chapters were made from the newsroom: set VERITE_DATA to its folder"
        )


def test_building_verite_counts_the_release(results, real):
    found = results("building-verite")["value"]
    assert found["Table 1", "VERITE"].to_dict() == {
        "true": 338,
        "out-of-context": 325,
        "miscaptioned": 338,
    }
    assert found["sizes", "images", "distinct"] == 663
    assert found["sizes", "captions", "distinct"] == 675
    assert found["releases", "only in today's file", "pairs"] == 1
    assert found["releases", "in both, caption edited", "pairs"] == 1
    assert found["articles", "all", "without"] == 13
    assert found["articles", "snopes", "articles"] == 260


def test_building_verite_measures_what_one_modality_can_know(results, real):
    found = results("building-verite")["value"]
    assert found["ceilings", "Three classes", "image"] == pytest.approx(66.2, abs=0.05)
    assert found["ceilings", "Three classes", "text"] == pytest.approx(67.5, abs=0.05)
    assert found["ceilings", "True vs OOC (VERITE-B)", "image"] == 100
    assert found["ceilings", "True vs MC (VERITE-B)", "text"] == 100
    assert found["words", "true vs miscaptioned", "best cut, %"] == pytest.approx(
        62.0, abs=0.05
    )
    assert found["cosine", "True vs OOC (VERITE-B)", "best cut, %"] == pytest.approx(
        78.3, abs=0.05
    )


def test_detector_on_verite_finds_two_modalities_above_one(results):
    """Image and text together, and the interval of the paired difference above zero."""
    found = results("detector-on-verite")
    three = found.loc["accuracy", "Three classes"]
    for unimodal in ("text", "image"):
        assert three.loc["image+text", "low"] > three.loc[unimodal, "high"]
        assert (
            found.loc[
                ("differences", "Three classes", f"image+text − {unimodal}"), "low"
            ]
            > 0
        )


def test_detector_on_verite_comes_near_the_first_try(results, real):
    """A first try with a higher learning rate, one seed and other folds gave 54.5,
    55.3, 47.7 and 43.3.
    """
    found = results("detector-on-verite").loc["accuracy", "Three classes"]["value"]
    reference = read_results(
        find_places().reference / "detector-on-verite.csv"
    ).set_index(["table", "row", "column"])["value"]
    first = {"image+text": 54.5, "image;text": 55.3, "text": 47.7, "image": 43.3}
    for inputs, expected in first.items():
        assert reference["accuracy", "Three classes", inputs] == pytest.approx(
            expected, abs=3
        )
        if (
            inputs != "image;text"
        ):  # by default the chapter leaves it to the reference run
            assert found[inputs] == pytest.approx(expected, abs=3)


def test_measuring_bias_gives_table_7_from_tables_4_and_5(results):
    found = results("measuring-bias")["value"]
    expected = {
        "image+text vs text": 27.94,
        "image+text vs image": 43.27,
        "image;text vs text": 21.38,
        "image;text vs image": 36.28,
    }
    for comparison, value in expected.items():
        assert found["Table 7", "VERITE", f"{comparison}: delta"] == pytest.approx(
            value, abs=0.005
        )
    assert found["Table 7", "VERITE", "image+text vs image: d"] == pytest.approx(
        -10.41, abs=0.005
    )


def test_the_bias_lab_finds_single_modalities_at_chance_and_both_above_with_all_knobs_at_rest(  # noqa: E501 - a test name
    results,
):
    found = results("bias-lab").xs(("as set", "accuracy"), level=("table", "column"))
    for what in ("text", "image"):
        # About three standard errors: weights differ between processors.
        assert abs(found.loc[what, "value"] - 50) < 6
        assert found.loc[what, "high"] < found.loc["image+text", "low"]


def test_the_bias_lab_sees_text_climb_with_giveaways_until_it_leads(results):
    found = (
        results("bias-lab")
        .loc["giveaway_rate, not balanced"]["value"]
        .unstack("column")
    )
    text = found["text"].loc[["0", "0.25", "0.5", "0.75", "1"]]
    assert text.is_monotonic_increasing
    assert text["0"] < 55
    assert text["1"] > found.loc["1", "image+text"] - 2


def test_the_newsrooms_encoder_finds_captions_of_events_it_never_saw(results):
    found = results("bias-lab").loc["recall"]["value"].unstack("column")
    assert found["recall at 1"].min() > 60
    assert found["recall at 5"].min() > 90


def test_synthetic_data_finds_out_of_context_pairs_in_two_modalities_and_not_in_one(
    results,
):
    found = results("synthetic-data").loc["Table 4"]
    for name in ("RSt", "CSt", "NC-t2t"):
        single = found.loc[name].loc[["text", "image"]]
        assert single["value"].between(45, 56).all()
        assert found.loc[name].loc["image;text", "low"] > single["high"].max() + 5
    assert (
        found.loc[("NC-t2t", "text"), "value"] == 50
    )  # each caption stands once under each label
    assert set(
        found.xs("image", level="column").loc[
            ["R-NESt", "CLIP-NESt", "MEIR", "CHASMA"], "value"
        ]
    ) == {50}


def test_synthetic_data_shows_nearer_donors_and_what_the_encoder_sees_of_a_swap(
    results,
):
    found = results("synthetic-data")
    donors = found.loc["donors"].droplevel("column")
    assert donors.loc["RSt", "high"] < donors.loc["CSt", "low"]
    assert donors.loc["CSt", "high"] < donors.loc["NC-t2t", "low"]
    drops = found.loc["drops"].xs("R-NESt", level="column")
    assert drops.loc["CARDINAL", "high"] < 0.01
    assert drops.loc["PERSON", "low"] > 0.03
    kept = found.loc["aggregate"]["value"].unstack("column").loc["train, kept"]
    assert kept.nunique() == 1


def test_chasma_chooses_captions_that_fit_better_than_random_ones_and_leaves_images_balanced(  # noqa: E501 - a test name
    results,
):
    found = results("chasma")
    fits = found.loc["cosine"].xs("with the image", level="column")
    assert fits.loc["random", "high"] < fits.loc["chosen by the true caption", "low"]
    assert (
        fits.loc["chosen by the true caption", "high"]
        < fits.loc["chosen by the image", "low"]
    )
    assert (
        found.loc["own"]
        .xs("image", level="column")
        .loc[["random", "CHASMA", "miscaptioned"], "value"]
        == 50
    ).all()
    assert (
        found.loc[("options", "exclude_near", "nearly the true caption, %"), "value"]
        == 0
    )
    assert found.loc[("options", "as in the paper", "pairs made, %"), "value"] == 100


def test_chasma_on_verite_finds_the_caption_alone_ahead_as_the_paper_does(
    results, real
):
    found = results("chasma")
    fits = found.loc["cosine"].xs("with the image", level="column")["value"]
    assert fits[["true", "own article"]].tolist() == pytest.approx(
        [0.304, 0.292], abs=0.001
    )
    assert fits["chosen by the image"] == pytest.approx(0.229, abs=0.002)
    tested = found.loc["miscaptioned"]
    assert tested.loc[("CHASMA-D", "text"), "low"] > 55
    assert (
        found.loc[
            ("differences", "CHASMA-D", "image+text − text, true vs miscaptioned"),
            "value",
        ]
        < 0
    )
    assert (
        found.loc["out-of-context", "value"]
        .drop("the benchmark itself", level="row")
        .between(45, 55)
        .all()
    )
    assert (
        found.loc[
            ("out-of-context", "the benchmark itself", "cosine, threshold"), "low"
        ]
        > 70
    )


def test_multimodal_misinformation_shows_what_comparing_image_and_caption_can_find(
    results,
):
    cuts = (
        results("multimodal-misinformation")
        .loc["cuts"]["value"]
        .unstack("column")["best cut"]
    )
    assert cuts["out-of-context"] > 90
    assert cuts["miscaptioned"] > 70
    assert cuts["associative imagery"] < 60


def test_errata_judge_the_papers_sentences_and_find_the_articles_behind_its_shares(
    results,
):
    found = results("errata")
    assert found.loc["claims", "value"].droplevel("column").to_dict() == {
        "follows": 23, "follows in part": 4, "does not follow": 3,
        "cannot be checked": 1,
    }  # fmt: skip
    assert found.loc[("topics", "best fit", "articles"), "value"] == 272
    assert found.loc[("topics", "all articles", "furthest, points"), "value"] > 0.1


def of_a_newsroom(name):
    """Whether a chapter's own data were a newsroom, its tables on a newsroom aside."""
    return read_record(find_places(), name)["dataset"].startswith("newsroom")


def test_vmu_twitter_finds_the_image_ahead_where_images_come_back_and_captions_hardly_read(  # noqa: E501 - a test name
    results,
):
    found = results("vmu-twitter")
    accuracy = found.loc["Table 2"].xs("accuracy", level="column")["value"]
    assert accuracy.idxmax() == "image"
    assert accuracy["image"] > 90
    assert accuracy["text"] < 70
    new = found.loc["new images"]["value"].unstack("column")
    gained = new["accuracy"] - new["accuracy, corrected protocol"]
    assert (
        gained["image"] > 2
    )  # what selecting on the test set adds where test images are new
    for table in ("flips", "flips, new images"):
        flips = found.loc[table]
        for what in ("image+text", "image;text"):
            assert (
                flips.loc[(what, "another caption"), "high"]
                < flips.loc[(what, "another image"), "low"] - 10
            )
        assert (
            flips.loc[("image", "another caption"), "value"]
            == flips.loc[("text", "another image"), "value"]
            == 0
        )
        assert flips[["low", "high", "n"]].notna().all(axis=None)


def test_vmu_twitter_counts_the_real_posts(results):
    if of_a_newsroom("vmu-twitter"):
        pytest.skip(
            "the chapter was made from the newsroom: set VERITE_DATA to its folder"
        )
    found = results("vmu-twitter")
    assert found.loc[("images", "all", "most"), "value"] == 1786
    assert found.loc[("ceilings", "image", "ceiling"), "value"] == 100
    assert found.loc[("names", "images", "named fake or real"), "value"] > 60
    assert found.loc[("names", "images", "of these, name right"), "value"] == 100
    assert found.loc[("seen", "test", "image seen in training"), "value"] == 0
    assert (
        found.loc[
            (
                "seen",
                "validation, a tenth of the posts at random",
                "image seen in training",
            ),
            "low",
        ]
        > 98
    )
    text = found.loc["TF-IDF"].xs("accuracy", level="column")
    assert text.loc["TF-IDF on captions", "value"] == pytest.approx(
        68.4, abs=2.5
    )  # other settings of TF-IDF reach from 64 to 68
    assert text.loc["TF-IDF on captions", "value"] == pytest.approx(66.2, abs=0.05)
    assert text.loc["larger class", "value"] == pytest.approx(55.2, abs=0.05)


def test_cosmos_finds_the_caption_ahead_of_both_and_verdicts_that_hang_on_little(
    results,
):
    found = results("cosmos")
    ahead = found.loc["differences"].xs("text − image+text", level="column")
    assert ahead.loc["CHASMA-D", "low"] > 0
    assert ahead.loc["trained on itself", "value"] > 0
    table = found.loc["Table 3"]["value"].unstack("column")
    assert table.loc["CHASMA-D"].idxmax() == "text"
    # Out-of-context pairs teach nothing about text: no better than chance.
    assert table.loc[["RSt", "NC-t2t", "CSt"], "text"].between(35, 56).all()
    flips = found.loc["flips, detectors"]
    unseen = flips.loc[["lower case", "a doubled space"]]
    assert (unseen["value"] == 0).all()
    assert (flips.loc["any of them", "low"] > 10).all()
    words = found.loc["flips"].droplevel("column")["value"]
    assert (
        words[
            [
                "lower case",
                "a doubled space",
                "full stop at the end",
                "a comma more",
                "clauses swapped",
            ]
        ]
        .eq(0)
        .all()
    )


def test_cosmos_reads_the_real_captions(results):
    if of_a_newsroom("cosmos"):
        pytest.skip(
            "the chapter was made from the newsroom: set VERITE_DATA to its folder"
        )
    found = results("cosmos")["value"]
    assert found[
        "source", "the article is from www.snopes.com", "accuracy"
    ] == pytest.approx(97.9, abs=0.05)
    assert found["duplicates", "captions that repeat an earlier one", "count"] == 146
    assert found["ceilings"].droplevel("column").round(1).to_dict() == {
        "image": 100,
        "text": 99.8,
    }
    # Duplicates pay where pairs are dealt one by one; with groups kept whole they do
    # not.
    assert found["TF-IDF", "pairs dealt one by one", "accuracy"] == pytest.approx(
        89.4, abs=1
    )
    assert found["TF-IDF", "groups kept whole", "accuracy"] == pytest.approx(
        84.7, abs=0.5
    )
    assert 1 < found["flips", "any of them", "TF-IDF"] < 10


def test_the_detector_of_one_token_has_idle_weights_and_that_of_two_learns_attention_on_longer_vectors_only(  # noqa: E501 - a test name
    results,
):
    found = results("detector")
    assert found.loc["one token", "value"].tolist() == [0]
    idle = found.loc["idle", "value"].unstack("column")
    assert idle["text"].between(25, 47).all()
    assert (idle["text"] == idle["image"]).all()
    spread = found.loc["spread", "value"].unstack("column").mean(axis=1)
    assert spread["length 15"] > 5 * spread["length 1"]
    longer = found.loc["attention"].xs("image takes of caption", level="column")[
        "value"
    ]
    assert longer.between(0.2, 0.8).all()


def test_the_detectors_attention_is_even_on_verites_vectors_of_length_one(
    results, real
):
    found = results("detector")
    even = (
        found.loc["attention", "value"]
        .unstack("column")
        .filter(like="length 1:", axis=0)
    )
    assert len(even) == 3
    assert (even - 0.5).abs().max(axis=None) < 0.001
    assert found.loc[("still", "length 1: even − learned", "difference"), "value"] == 0
    assert found.loc[("lengths", "image", "mean"), "value"] == pytest.approx(
        18.06, abs=0.01
    )


def test_results_leave_one_modality_at_chance_on_a_balanced_benchmark_and_both_well_above(  # noqa: E501 - a test name
    results,
):
    found = results("results").loc["Table 5"]
    for what in ("text", "image"):
        one = found.xs(what, level="column")
        assert (one["low"] < 100 / 3 + 1).all()
        assert (one["high"] > 100 / 3 - 1).all()
    for what in ("image+text", "image;text"):
        assert (found.xs(what, level="column")["low"] > 45).all()
    deltas = results("results").loc["bias"].xs("delta", level="column")
    assert (deltas["low"] > 0).all()


def test_results_on_verites_own_pairs_rise_above_chance_with_both_and_never_with_the_image(  # noqa: E501 - a test name
    results, real
):
    found = results("results").loc["Table 5, own pairs"]
    assert found["n"].eq(1001).all()
    assert (found.xs("image+text", level="column")["low"] > 36).all()
    assert (found.xs("image", level="column")["high"] < 38).all()


def test_modality_balancing_holds_captions_down_in_one_half_and_not_in_the_other(
    results, real
):
    found = results("modality-balancing")
    balance = found.loc["balance", "value"].unstack("column")
    assert (
        balance.loc["True vs OOC (VERITE-B)", "image ceiling, %"]
        == balance.loc["True vs MC (VERITE-B)", "text ceiling, %"]
        == 100
    )
    assert balance.loc["all three classes", "text ceiling, %"] == pytest.approx(
        67.5, abs=0.05
    )
    text = found.loc["Table 6"].xs("text", level="column")
    assert text.loc["CHASMA-D, true-vs-mc", "low"] > 60
    assert 48 < text.loc["CHASMA-D, true-vs-ooc", "value"] < 53
    whole = found.loc[("differences", "CHASMA-D", "image+text − text, both halves")]
    assert whole["value"] < 0


def test_the_papers_own_halves_leave_text_ahead_for_two_training_sets(results):
    found = (
        results("modality-balancing")
        .loc["published halves", "value"]
        .droplevel("column")
    )
    assert found.round(1).to_dict() == {"CHASMA-D": 2.4, "Fakeddit": 3.6}


def test_the_audit_finds_the_knob_that_was_turned_and_nothing_in_a_newsroom_at_rest(
    results,
):
    found = results("audit-your-benchmark")["value"].droplevel("column")
    rest, lurid = (
        found.xs(f"{name}: probes", level="table")
        for name in ("newsroom", "newsroom, giveaways")
    )
    assert lurid["first words"] > 45
    assert lurid["length"] < 38
    assert rest.drop("similarity").between(28, 38).all()


def test_the_audit_finds_what_is_known_of_the_real_benchmarks(results, real):
    found = results("audit-your-benchmark")["value"].droplevel("column")
    probes = found.xs("verite: probes", level="table")
    assert probes["TF-IDF"] == pytest.approx(44.6, abs=2)
    assert probes["text embedding"] > 45
    assert found["vmu-twitter: probes", "ids"] > 85
    assert found["cosmos: probes", "column article_url"] > 97
    assert (
        results("audit-your-benchmark").loc[
            (
                "consistency on verite",
                "three-class, both pairs of one caption",
                "words",
            ),
            "value",
        ]
        == 0
    )


def test_claims_of_the_newsroom_have_all_verdicts_in_order_of_time(results):
    found = results("from-pairs-to-claims")["value"]
    assert found.loc["recipes"].droplevel("row").groupby("column").sum().to_dict() == {
        "Supported": 12, "Refuted": 20, "Conflicting/Cherrypicking": 8,
        "Not Enough Evidence": 8,
    }  # fmt: skip
    assert (found.loc["order"] == 0).all()
    kappa = found.loc["kappa"].unstack("column")
    assert (kappa["Randolph"] > kappa["Fleiss"] + 0.1).all()


def test_claims_of_averitec_and_evidence_of_verite_are_counted(results, real):
    found = results("from-pairs-to-claims")["value"].droplevel("column")
    assert found["AVeriTeC", "claims"] == 500
    assert found["late, AVeriTeC", "later than the claim"] > 0
    alike = (
        results("from-pairs-to-claims")
        .loc["evidence"]
        .xs("largest cosine, x 100", level="column")
    )
    assert (
        alike.loc["miscaptioned", "low"]
        > alike.loc["true", "high"]
        > alike.loc["out-of-context", "value"]
    )


def test_verification_needs_a_search_and_counts_a_verdict_less_the_higher_the_threshold(
    results,
):
    found = results("verification-with-evidence")
    four = found.loc["Table 4", "value"].unstack("row")
    assert four.loc["all", "gold evidence"] > four.loc["all", "no search"] + 0.5
    curve = found.loc["lambda", "value"].droplevel("column")
    curve.index = curve.index.astype(float)
    assert curve.sort_index().is_monotonic_decreasing


def test_the_deterministic_judge_falls_where_it_should_and_says_where_it_does_not_stay(
    results,
):
    found = (
        results("verification-with-evidence")
        .loc["Table 11"]
        .xs("separated", level="column")
    )
    for name in ("Completeness", "Shuffle", "Irrelevant Image"):
        assert found.loc[name, "high"] < -10
    stays = [
        "Argument structure",
        "Fluency",
        "Image Invariance",
        "Inv. contract",
        "Inv. num2text",
        "Inv. text2num",
        "Redundant words",
    ]
    assert found.loc[stays, "value"].abs().max() < 5
    assert found.loc["Inv. synonyms", "value"] < -5


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_record_stands_beside_the_results_it_describes(results, name):
    record = read_record(find_places(), name)
    assert record["results"]["results.csv"] == sha256(
        find_places().executed / name / "results.csv"
    )
    assert record["parameters"]
    assert record["versions"]["torch"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_accuracy_has_its_n_and_its_interval(results, name):
    found = results(name)
    measured = found[
        found.index.get_level_values("table").isin(COMPARED)
        & (found["source"] != "paper")
    ]
    assert measured[["low", "high", "n"]].notna().all(axis=None)
    assert (measured["low"] <= measured["value"]).all()
    assert (measured["value"] <= measured["high"]).all()


class Look(HTMLParser):
    """What a page refers to, and how it shows pictures and tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.nameless: list[str] = []
        self.figures = 0
        self.loose_headers = 0
        self.language = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "html":
            self.language = found.get("lang") or ""
        if (
            tag in {"script", "img", "link"}
            and (address := found.get("src") or found.get("href"))
            and found.get("rel") != "canonical"
        ):
            self.links.append(address)
        if (
            tag == "img"
            and not found.get("alt", "").strip()
            and "logo" not in found.get("class", "")
        ):
            self.nameless.append(str(found))
        if tag == "svg" and found.get("role") == "img":
            self.figures += 1
            if not (found.get("aria-label") or "").strip():
                self.nameless.append("svg")
        if (
            tag == "th"
            and "scope" not in found
            and "head" not in found.get("class", "")
        ):
            self.loose_headers += 1


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_no_other_host_and_names_its_pictures(book, page):
    text = (book / f"{page}.html").read_text(encoding="utf8")
    look = Look(text)
    assert [link for link in look.links if re.match(r"(https?:)?//", link)] == []
    assert look.nameless == []
    assert look.language == "en"
    assert "thebe" not in " ".join(look.links)
    assert len(text) < 2_000_000


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_shows_parameters_comparison_figures_and_provenance(book, name):
    text = (book / "notebooks" / "executed" / f"{name}.html").read_text(encoding="utf8")
    assert f"Parameters of {name}" in text
    assert ">published</th>" in text
    assert ">reference</th>" in text
    assert ">this build" in text
    assert '<dl class="verite-provenance">' in text
    assert Look(text).figures >= 1
    assert "<math " in text
    assert "Traceback" not in text
    assert "Warning:" not in text


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_card_of_a_chapter_says_what_its_run_took_and_repeats_it(book, name):
    text = (book / "notebooks" / "executed" / f"{name}.html").read_text(encoding="utf8")
    card = html.unescape(
        text.partition('<div class="verite-card')[2].partition("</details>")[0]
    )
    record = read_record(find_places(), name)
    assert f"This page took {in_words(record['seconds'])}" in card
    for key, value in record["parameters"].items():
        assert shlex.join(["-p", key, str(value)]) in card
    assert f"_sources/notebooks/executed/{name}.ipynb" in card


@pytest.mark.parametrize("name", CHAPTERS)
def test_figures_and_tables_of_a_chapter_are_numbered_in_order(book, name):
    text = (book / "notebooks" / "executed" / f"{name}.html").read_text(encoding="utf8")
    for kind, tag in (("Figure", "figcaption"), ("Table", "caption")):
        found = re.findall(
            rf'<{tag}><span class="verite-number">{kind}\xa0(\d+)\.</span>', text
        )
        assert [int(one) for one in found] == list(range(1, len(found) + 1))
        assert found


@pytest.mark.parametrize("name", CHAPTERS)
def test_references_of_a_chapter_lead_to_what_they_name(book, name):
    page = book / "notebooks" / "executed" / f"{name}.html"
    asked = re.findall(
        r'<a class="reference internal"'
        r' href="([^"#]*)#([^"]+)">((?:Figure|Table)\xa0\d+)(?: of'
        r" <em>[^<]*</em>)?</a>",
        page.read_text(encoding="utf8"),
    )
    assert len(asked) >= 2
    for file, anchor, number in asked:
        there = (page.parent / file if file else page).read_text(encoding="utf8")
        assert there.count(f' id="{anchor}"') == 1
        assert (
            re.search(
                r'class="verite-number">([^<]*)\.<',
                there.partition(f' id="{anchor}"')[2],
            )[1]
            == number
        )


def test_every_place_that_the_paper_is_found_in_is_there_on_the_built_page(book):
    links = re.findall(
        r'href="\.\./(notebooks/executed/[\w-]+\.html)#([^"]+)"',
        (book / "book" / "where.html").read_text(encoding="utf8"),
    )
    assert len(links) >= 17
    for page, anchor in links:
        assert f'id="{anchor}"' in (book / page).read_text(encoding="utf8"), (
            page,
            anchor,
        )


def test_the_status_page_lists_every_chapter(book):
    text = (book / "book" / "status.html").read_text(encoding="utf8")
    for name in CHAPTERS:
        assert f"{name}.html" in text


def test_committed_reference_results_hold_aggregates_of_real_data_or_say_that_they_are_synthetic():  # noqa: E501 - a test name
    paths = list(find_places().reference.glob("*.csv"))
    expected = {
        "audit-your-benchmark",
        "bias-lab",
        "building-verite",
        "chasma",
        "cosmos",
        "detector",
        "detector-on-verite",
        "modality-balancing",
    }
    expected |= {
        "from-pairs-to-claims",
        "results",
        "synthetic-data",
        "verification-with-evidence",
        "vmu-twitter",
    }
    assert {path.stem for path in paths} == expected
    for path in paths:
        found = read_results(path)
        record = json.loads(path.with_suffix(".json").read_text())
        assert record["results"]["results.csv"] == sha256(path)
        if open_notebook(path.stem).synthetic:
            assert set(found["source"]) == {"newsroom"}
        else:
            made_up = found["source"] == "newsroom"
            assert set(found.loc[made_up, "table"]) <= set(
                open_notebook(path.stem).newsroom_tables
            ), path
            assert not made_up.all(), path
            assert record["data"]


@pytest.fixture(scope="module")
def browser():
    """Chromium, where the machine has it."""
    program = next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )
    if program is None:
        pytest.skip("needs Chromium: install the package chromium")
    from playwright.sync_api import sync_playwright

    flags = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run"
        " --disable-background-networking --disable-component-update --disable-sync"
    )
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=flags.split()
        )
        yield running
        running.close()


@pytest.fixture(scope="module")
def address(book):
    """Where the book is served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(book))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def open_tab(browser):
    """Open a tab of its own with the given options of a Playwright context.

    All are closed at the end.
    """
    contexts = []

    def opened(**options):
        contexts.append(browser.new_context(**options))
        return contexts[-1].new_page()

    yield opened
    for context in contexts:
        context.close()


def barriers(tab):
    """What axe-core calls serious or critical on a page, its folded parts opened."""
    from axe_playwright_python.sync_playwright import Axe

    tab.emulate_media(
        reduced_motion="reduce"
    )  # what is folded open is there at once, not half faded in
    # Contrast is measured word by word: of the words of code one of each kind and
    # ground is enough, and takes a third of the time.
    tab.evaluate("""() => {
        for (const part of document.querySelectorAll("details")) part.open = true;
        const seen = new Set();
        for (const word of document.querySelectorAll("pre span[class]")) {
            const block = word.closest(".cell_input, .cell_output, .highlight");
            const kind = `${block?.className}: ${word.className}`;
            if (seen.has(kind)) word.replaceWith(...word.childNodes);
            seen.add(kind);
        }
    }""")
    found = (
        Axe().run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    )
    grave = [rule for rule in found if rule["impact"] in {"serious", "critical"}]
    return [
        (rule["id"], node["target"], node["html"][:200])
        for rule in grave
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 390), ("dark", 1280)]
)  # both schemes, both widths
@pytest.mark.parametrize("page", [*PAGES, "search", "genindex"])
def test_a_page_is_whole_in_the_browser(book, browser, address, page, scheme, width):
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 844}
    )
    tab = context.new_page()
    asked, errors = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console",
        lambda message: (
            errors.append(message.text) if message.type == "error" else None
        ),
    )
    tab.goto(f"{address}{page}.html", wait_until="networkidle")
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert errors == []
    files = {
        book / url.removeprefix(address).partition("?")[0].partition("#")[0]
        for url in asked
        if url.startswith(address)
    }
    assert (
        sum(path.stat().st_size for path in files) < 2_000_000
    )  # with its styles, scripts and fonts, not compressed
    tab.wait_for_function(
        f"document.documentElement.dataset.theme === '{scheme}'"
    )  # set by a script, on a busy machine a little later
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # Ink follows the page: text of figures and tables is as light or dark as the text
    # around it, but in the cells of a heat map.
    ink = """() => [...document.querySelectorAll(
        ".verite-figure svg text, .verite-table td, .verite-note"
    )].filter(text => {
        const place = text.getBoundingClientRect();
        const x = (place.left + place.right) / 2, y = (place.top + place.bottom) / 2;
        const maps = text.ownerSVGElement?.querySelectorAll("image") ?? [];
        return ![...maps].some(map => {
            const ground = map.getBoundingClientRect();
            return ground.left < x && x < ground.right
                && ground.top < y && y < ground.bottom;
        });
    }).map(text => getComputedStyle(text)[text.ownerSVGElement ? "fill" : "color"])"""
    body = tab.evaluate(
        "getComputedStyle(document.querySelector('.bd-article p') ||"
        " document.body).color"
    )
    assert set(tab.evaluate(ink)) <= {body}
    assert barriers(tab) == []
    context.close()


def test_the_sliders_show_the_figures_that_were_asked_for_without_a_request(
    browser, address
):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    tab = context.new_page()
    tab.goto(f"{address}notebooks/executed/bias-lab.html", wait_until="networkidle")
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    states = json.loads(tab.locator(".verite-sliders").get_attribute("data-figures"))[
        "states"
    ]

    def shown():
        return tab.locator(".verite-bar-text").all_text_contents()

    def expected(**wanted):
        [state] = [
            each
            for each in states
            if all(each[name] == value for name, value in wanted.items())
        ]
        return [
            "{:.1f} [{:.1f}, {:.1f}]".format(*state["accuracy"][what])
            for what in ("text", "image", "image+text")
        ]

    setting = {"knob": "giveaway_rate", "balanced": True, "asymmetric": False}
    assert shown() == expected(**setting, value=0)
    tab.get_by_role("slider").focus()
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
    assert shown() == expected(**setting, value=1)
    tab.get_by_role("checkbox", name="modality balancing").uncheck()
    tab.get_by_role("checkbox", name="half of all events").check()
    assert shown() == expected(
        knob="giveaway_rate", balanced=False, asymmetric=True, value=1
    )
    assert (
        "text alone: higher than image+text"
        in tab.locator(".verite-verdict").text_content()
    )
    tab.get_by_role("combobox", name="Knob").select_option("asymmetric_rate")
    assert tab.get_by_role("checkbox", name="half of all events").is_disabled()
    assert shown() == expected(
        knob="asymmetric_rate", balanced=False, asymmetric=False, value=1
    )
    assert asked == []
    context.close()


def test_axe_finds_a_picture_without_a_name_and_pale_words_in_a_folded_part(open_tab):
    tab = open_tab()
    tab.set_content(
        "<html lang=en><title>A page</title><main><h1>A page</h1><img"
        " src='data:,'><details><summary>More</summary><pre><span class=n>dark</span>"
        " <span class=k style='color: #ccc'>pale</span></pre>"
    )
    assert {rule for rule, _, _ in barriers(tab)} == {"image-alt", "color-contrast"}


def test_the_search_finds_chasma_by_keyboard(open_tab, address):
    tab = open_tab()
    tab.goto(f"{address}book/index.html", wait_until="networkidle")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("CHASMA")
    tab.keyboard.press("Enter")
    found = tab.locator("#search-results").get_by_role(
        "link", name="CHASMA", exact=True
    )
    found.first.click()
    assert tab.get_by_role("heading", level=1).text_content().startswith("CHASMA")


def test_the_copy_button_copies_the_code_and_shows_itself_to_the_keyboard(
    open_tab, address
):
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.goto(
        f"{address}notebooks/executed/multimodal-misinformation.html",
        wait_until="networkidle",
    )
    code = tab.locator("div.highlight", has=tab.locator("button.copybtn:visible")).first
    button = code.locator("button.copybtn")
    tab.wait_for_function(
        "button => getComputedStyle(button).opacity === '0'",
        arg=button.element_handle(),
    )
    button.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function(
        "button => getComputedStyle(button).opacity === '1'",
        arg=button.element_handle(),
    )
    assert (
        code.locator("pre").text_content().strip()
        == tab.evaluate("navigator.clipboard.readText()").strip()
    )


def test_the_card_opens_and_its_command_is_copied(open_tab, address):
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.goto(f"{address}notebooks/executed/errata.html", wait_until="networkidle")
    tab.get_by_text("Rerun with your own values").click()
    tab.locator(".verite-card button.copybtn").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function(
        "navigator.clipboard.readText().then(text => text.startsWith('verite run"
        " errata '))"
    )


def test_the_card_opens_and_references_lead_on_without_javascript(open_tab, address):
    tab = open_tab(java_script_enabled=False, viewport={"width": 390, "height": 844})
    tab.goto(f"{address}notebooks/executed/errata.html")
    command = tab.locator(".verite-card pre")
    assert not command.is_visible()
    tab.get_by_text("Rerun with your own values").click()
    assert command.is_visible()
    tab.get_by_role("link", name=re.compile("of Measuring unimodal bias")).click()
    assert tab.locator("#measuring-bias-table-conventions").bounding_box()["y"] > 0


def test_the_download_button_gives_a_notebook_that_runs(
    open_tab, address, tmp_path, monkeypatch
):
    tab = open_tab()
    tab.goto(f"{address}notebooks/executed/errata.html", wait_until="networkidle")
    tab.get_by_role("button", name="Download this page").click()
    with tab.expect_download() as download:
        tab.get_by_role("link", name=".ipynb").click()
    assert download.value.suggested_filename == "errata.ipynb"
    notebook = nbformat.read(download.value.path(), as_version=4)
    nbformat.validate(notebook)
    assert any('Page("errata", globals())' in cell.source for cell in notebook.cells)
    monkeypatch.setenv("PYTHONPATH", str(find_places().root))
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert (tmp_path / "verite-runs" / "errata" / "results.csv").is_file()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_text_tables_and_figures_without_scripts(open_tab, address, page):
    tab = open_tab(java_script_enabled=False)
    tab.goto(f"{address}{page}.html")
    shown = """selector =>
        [...document.querySelectorAll(`.bd-article :is(${selector})`)]
        .filter(part => !part.closest("details:not([open])"))
        .map(part => part.checkVisibility()
            && part.getBoundingClientRect().height > 0)"""
    assert all(tab.evaluate(shown, "h1, h2, p, pre, table, figure, svg, math"))
    if page.startswith("notebooks/"):
        for kind in ("p", "table", "figure svg, figure img"):
            assert tab.evaluate(shown, kind), kind
    # The theme's colours are there as well: without them tables lose their lines and
    # links their colour.
    assert tab.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--pst-color-text-base')"
    )


@pytest.mark.parametrize(
    ("wish", "still"), [("reduce", True), ("no-preference", False)]
)
def test_nothing_moves_for_readers_who_ask_for_less_motion(
    open_tab, address, wish, still
):
    tab = open_tab(reduced_motion=wish)
    tab.goto(f"{address}notebooks/executed/bias-lab.html", wait_until="networkidle")
    moves = tab.evaluate(
        """[...document.querySelectorAll("*")].flatMap(node =>
            ["", "::before", "::after"].flatMap(part => {
                const style = getComputedStyle(node, part);
                return [
                    ...style.transitionDuration.split(", "),
                    ...style.animationDuration.split(", "),
                    style.scrollBehavior,
                ];
            }))"""
    )
    assert (set(moves) == {"0s", "auto"}) == still


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("lecture", LECTURES)
def test_every_slide_is_whole_and_turned_by_keyboard(
    open_tab, address, lecture, scheme, width
):
    tab = open_tab(color_scheme=scheme, viewport={"width": width, "height": 720})
    asked, errors = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console",
        lambda message: (
            errors.append(message.text) if message.type == "error" else None
        ),
    )
    tab.goto(f"{address}slides/{lecture}.html", wait_until="networkidle")
    tab.wait_for_function("Reveal.isReady()")
    # Nothing reaches below the line that says where a figure is from, or beyond the
    # screen.
    beyond = """() => {
        const slide = Reveal.getCurrentSlide(), source = slide.querySelector(".source");
        const foot = source?.getBoundingClientRect().top ?? innerHeight;
        return [...slide.querySelectorAll(
            ".verite-figure, .verite-table, .verite-pictures, ul, blockquote"
        )]
            .map(part => part.getBoundingClientRect())
            .filter(place => place.bottom > foot + 1 || place.right > innerWidth)
            .length;
    }"""
    turned = tab.evaluate("Reveal.getTotalSlides()")
    assert turned >= 15
    for number in range(turned):
        assert tab.evaluate("Reveal.getSlidePastCount()") == number
        assert tab.evaluate(beyond) == 0, number
        tab.keyboard.press("ArrowRight")
    assert tab.evaluate("Reveal.isLastSlide()")
    assert errors == []
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lecture", LECTURES)
def test_slides_hold_no_barriers(open_tab, address, lecture, scheme):
    """All of them at once, as they are laid out for printing."""
    tab = open_tab(color_scheme=scheme, viewport={"width": 1280, "height": 720})
    tab.goto(f"{address}slides/{lecture}.html?print-pdf", wait_until="networkidle")
    tab.wait_for_function(
        "document.querySelectorAll('.pdf-page').length === Reveal.getTotalSlides()"
    )
    assert barriers(tab) == []


@pytest.mark.parametrize("lecture", LECTURES)
def test_slides_stand_one_below_the_other_without_scripts(open_tab, address, lecture):
    tab = open_tab(java_script_enabled=False)
    tab.goto(f"{address}slides/{lecture}.html")
    tops = tab.evaluate(
        """[...document.querySelectorAll(".slides section section")]
        .map(slide =>
            slide.checkVisibility() ? slide.getBoundingClientRect().top : null)"""
    )
    assert len(tops) >= 15
    assert None not in tops
    assert all(above + 40 < below for above, below in itertools.pairwise(tops))
    parts = (
        'document.querySelectorAll("section h2, section li, figure svg, table,'
        ' aside.notes")'
    )
    assert all(
        tab.evaluate(
            f"[...{parts}].map(part => part.checkVisibility() &&"
            " part.getBoundingClientRect().height > 0)"
        )
    )


def test_slides_and_the_course_page_lead_to_each_other(book):
    course = (book / "book" / "teaching" / "course.html").read_text(encoding="utf8")
    assert (
        sorted(re.findall(r'href="\.\./\.\./slides/([\w-]+)\.html"', course))
        == LECTURES
    )
    for lecture in LECTURES:
        links = re.findall(
            r'href="(\.\./[^"#]+)"',
            (book / "slides" / f"{lecture}.html").read_text(encoding="utf8"),
        )
        assert len(links) >= 12
        assert [link for link in links if not (book / "slides" / link).is_file()] == []


def test_the_whole_book_on_one_sheet_keeps_its_links_and_fits_the_paper(book, browser):
    """What ``verite pdf`` prints; printing itself is tried on a small book."""
    from veritebook.printing import lay_out, one_page, read_contents

    sheet = book.parent / "tested-sheet.html"
    contents = read_contents(find_places())
    try:
        sheet.write_text(one_page(book, contents, {"title": "The book"}), "utf8")
        tab = lay_out(browser, sheet)
        ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(x => x.id)")
        links = tab.evaluate(
            "[...document.querySelectorAll('a[href^=\"#\"]')]"
            ".map(a => decodeURIComponent(a.getAttribute('href').slice(1)))"
        )
        assert len(ids) == len(set(ids))
        assert len(links) > 200
        assert set(links) <= set(ids)
        wide = """[...document.querySelectorAll(".sheet *")]
            .filter(part => !part.closest("svg, math"))
            .filter(part => part.getBoundingClientRect().right > innerWidth + 1)
            .map(part => part.outerHTML.slice(0, 200))"""
        assert tab.evaluate(wide) == []
        tall = """[...document.querySelectorAll("figure")]
            .filter(part => part.getBoundingClientRect().height > innerHeight).length"""
        assert tab.evaluate(tall) == 0
        tab.close()
    finally:
        sheet.unlink(missing_ok=True)
