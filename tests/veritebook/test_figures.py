from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from verite.errors import ParameterError
from verite.pairs import MISCAPTIONED, MISINFORMATION, OUT_OF_CONTEXT, TRUE
from veritebook.figures import COLOURS, Figure, Pictures, style

SVG = "{http://www.w3.org/2000/svg}"


def drawn(alt="A line that rises."):
    with style() as plt:
        fig, ax = plt.subplots()
        ax.plot([0, 1], [0, 1], color=COLOURS["text"], label="a line", clip_on=True)
        ax.set(xlabel="words & <tags>")
        ax.legend()
    return Figure(fig, alt, "Below")


def svg_of(figure):
    page = figure._repr_mimebundle_()["text/html"]
    return ET.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])


def test_a_figure_needs_an_alternative_text():
    with style() as plt:
        fig, _ = plt.subplots()
    with pytest.raises(ParameterError, match="alternative text"):
        Figure(fig, "  ")
    plt.close(fig)


def test_the_alternative_text_is_the_name_of_the_image():
    root = svg_of(drawn('A "rising" line & more'))
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'A "rising" line & more'


def test_words_stay_words_and_take_the_colour_of_the_page():
    words = {
        text.text: text.get("style", "") for text in svg_of(drawn()).iter(f"{SVG}text")
    }
    assert "words & <tags>" in words
    assert "a line" in words
    assert all("currentColor" in look for look in words.values())


def test_no_ink_and_no_background_of_its_own_is_left():
    page = drawn()._repr_mimebundle_()["text/html"]
    assert "#010203" not in page
    assert "#ffffff" not in page


def test_ids_of_two_figures_on_a_page_do_not_meet():
    one, two = (
        {node.get("id") for node in svg_of(drawn()).iter() if node.get("id")}
        for _ in range(2)
    )
    assert one
    assert not one & two


def test_every_reference_inside_a_figure_has_its_target():
    root = svg_of(drawn())
    ids = {node.get("id") for node in root.iter()}
    text = ET.tostring(root, encoding="unicode")
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= ids
    assert set(re.findall(r'href="#([^"]+)"', text)) <= ids


def test_a_figure_is_also_a_picture_for_places_without_html():
    bundle = drawn()._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert bundle["text/plain"] == "[figure: A line that rises.]"


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return sum(
        weight * channel
        for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )


@pytest.mark.parametrize("name", COLOURS)
def test_colours_have_a_contrast_of_three_to_one_on_light_and_on_dark(name):
    for ground in ("#ffffff", "#121212"):
        high, low = sorted((luminance(COLOURS[name]), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3, ground


MEETING = [
    ("image+text", "image;text", "text", "image", "neutral"),
    (TRUE, OUT_OF_CONTEXT, MISCAPTIONED, "neutral"),
]
"""Colours that stand in one figure."""


@pytest.mark.filterwarnings(
    "ignore:.*simulation of tritanomaly is based on the shift paradigm"
)
@pytest.mark.parametrize(
    "sight", ["all cones", "Protanomaly", "Deuteranomaly", "Tritanomaly"]
)
@pytest.mark.parametrize("names", MEETING, ids=["modalities", "labels"])
def test_colours_of_a_figure_stay_apart_for_readers_without_one_kind_of_cone(
    names, sight
):
    """Machado et al. (2009) at full severity, on linear sRGB.

    CIEDE2000 between each two colours. About 2 is just seen side by side.
    """
    with (
        np.printoptions()
    ):  # this library sets, for the whole process, how numpy prints
        import colour

    seen = (
        np.eye(3)
        if sight == "all cones"
        else colour.blindness.matrix_cvd_Machado2009(sight, 1.0)
    )
    linear = {
        name: colour.models.eotf_sRGB(colour.notation.HEX_to_RGB(COLOURS[name]))
        for name in names
    }
    lab = {
        name: colour.XYZ_to_Lab(colour.RGB_to_XYZ(np.clip(seen @ rgb, 0, 1), "sRGB"))
        for name, rgb in linear.items()
    }
    distances = {
        pair: float(colour.delta_E(lab[pair[0]], lab[pair[1]]))
        for pair in itertools.combinations(names, 2)
    }
    assert min(distances.values()) > 10, distances


def test_every_colour_is_measured_against_those_it_meets():
    assert {name for names in MEETING for name in names} == set(COLOURS) - {
        MISINFORMATION
    }
    assert COLOURS[MISINFORMATION] == COLOURS[MISCAPTIONED]


def test_a_row_of_pictures_carries_its_name():
    page = Pictures(
        [Image.new("RGB", (4, 4))], ["a"], ["b"], name="x & y"
    )._repr_mimebundle_()["text/html"]
    assert page.startswith('<div class="verite-pictures" data-name="x &amp; y">')


def test_pictures_have_alternative_texts_and_escape_what_is_said():
    page = Pictures(
        [Image.new("RGB", (4, 4))], ["<a flood>"], ["x & y"]
    )._repr_mimebundle_()["text/html"]
    assert 'alt="&lt;a flood&gt;"' in page
    assert "<figcaption>x &amp; y</figcaption>" in page
