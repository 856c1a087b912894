"""What the book adds to Sphinx.

Numbered figures and tables, references, cards; shown on a book of two chapters.
"""

from __future__ import annotations

import html
import io
import json
import re
import warnings
from collections import Counter
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat import v4

from veritebook.course.plain import in_plain_words
from veritebook.figures import Figure, style
from veritebook.notebooks import list_notebooks, open_notebook
from veritebook.tables import Table

REPOSITORY = Path(__file__).resolve().parents[2]

SOURCE = """---
jupytext: {{text_representation: {{extension: .md, format_name: myst}}}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

# {title}

```{{code-cell}} ipython3
:tags: [parameters]

size: int = 3  # (from 1) how many
kind: str = "two words"  # which
```
"""

RECORD = {
    "notebook": "one",
    "commit": "abc",
    "started": "2030-01-01T00:00:00+00:00",
    "seconds": 64.2,
    "peak memory MB": 1284,
    "dataset": "newsroom",
    "parameters": {"size": 7, "kind": "a b"},
    "data": {},
    "results": {},
    "versions": {},
    "machine": "Linux x86_64, 2 cores",
    "inputs": "x",
    "page": "y",
}


def shown(thing):
    """A code cell whose output is a figure or a table."""
    return v4.new_code_cell(
        "0",
        outputs=[
            v4.new_output(
                "execute_result", data=thing._repr_mimebundle_(), execution_count=1
            )
        ],
    )


def table(name="", caption="A caption"):
    return shown(Table(pd.DataFrame({"n": [1]}), caption, name=name))


def figure(name="", caption=""):
    with style() as plt:
        fig, ax = plt.subplots(figsize=(1, 1))
        ax.plot([0, 1])
    return shown(Figure(fig, "A line", caption, name))


def words(text):
    return v4.new_markdown_cell(text)


def write(root, name, cells):
    """Write an executed chapter."""
    path = root / "notebooks" / "executed" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(v4.new_notebook(cells=cells, metadata=about), path)


def make(root, one, two):
    """Write a book of two chapters and some more.

    Few pages are never read side by side.
    """
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (root / "conf.py").write_text(
        "import sys\nsys.path.insert(0,"
        f" {str(REPOSITORY / 'book' / '_ext')!r})\nextensions = ['myst_nb',"
        " 'verite_book']\nnb_execution_mode = 'off'\nexclude_patterns ="
        " ['notebooks/*.md', 'out']\nhtml_theme = 'basic'\nhtml_math_renderer ="
        " 'mathml'\nmyst_enable_extensions = ['dollarmath']\nhtml_sourcelink_suffix ="
        " ''\n"
    )
    fillers = [f"page{number}" for number in range(5)]
    for name in fillers:
        (root / f"{name}.md").write_text(f"# {name}\n")
    listed = "\n".join(["notebooks/executed/one", "notebooks/executed/two", *fillers])
    (root / "index.md").write_text(f"# Book\n\n```{{toctree}}\n{listed}\n```\n")
    write(root, "one", one)
    write(root, "two", two)
    for name in ("one", "two"):
        (root / "notebooks" / f"{name}.md").write_text(
            SOURCE.format(title=name.capitalize())
        )
    (root / "notebooks" / "executed" / "one").mkdir()
    (root / "notebooks" / "executed" / "one" / "record.json").write_text(
        json.dumps(RECORD)
    )
    (root / "book" / "reference").mkdir(parents=True)
    (root / "book" / "reference" / "one.json").write_text(
        json.dumps(RECORD | {"seconds": 4000, "peak memory MB": 2400})
    )


def build(root, builder="html", parallel=1, repository=""):
    """Build; return the folder of the pages, the warnings, and the names of the pages
    that were read.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    warned, read = io.StringIO(), []
    folders = root, root, root / "out" / builder, root / "out" / f"{builder}-doctrees"
    with (
        pytest.MonkeyPatch.context() as patch,
        docutils_namespace(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the tools' own
        patch.chdir(root)
        patch.setenv("GITHUB_REPOSITORY", repository)
        app = Sphinx(
            *map(str, folders),
            builder,
            {"nitpicky": True},
            status=None,
            warning=warned,
            parallel=parallel,
        )
        app.connect("source-read", lambda _, page, __: read.append(page))
        app.build()
    return folders[2], warned.getvalue(), read


ONE = [
    words(
        "# The first\n\nSee {shown}`sizes`, {shown}`line` and {shown}`two/sizes`, by"
        " {eq}`same`."
    ),
    table("parameters"),
    table(),
    table("sizes", 'Sizes, "big" & small'),
    figure(),
    figure("line", "A line"),
    words("$$ a = b $$ (same)\n\n````{note} Solution to 1\nIt is so.\n````"),
]
TWO = [words("# The second one\n\n{shown}`sizes`"), figure(), table("sizes")]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    make(folder, ONE, TWO)
    return folder


@pytest.fixture(scope="module")
def pages(root):
    out, warned, _ = build(root)
    assert warned == ""
    return {
        name: (
            (out / "notebooks" / "executed" / f"{name}.html").read_text(encoding="utf8")
        )
        for name in ("one", "two")
    }


def test_figures_and_tables_are_numbered_apart(pages):
    found = re.findall(
        r'<(?:fig)?caption>(?:<span class="verite-number">([^<]*)</span> ?)?([^<]*)</',
        pages["one"],
    )
    assert [tuple(map(html.unescape, pair)) for pair in found] == [
        ("", "A caption"),
        ("Table\N{NO-BREAK SPACE}1.", "A caption"),
        ("Table\N{NO-BREAK SPACE}2.", 'Sizes, "big" & small'),
        ("Figure\N{NO-BREAK SPACE}1.", ""),
        ("Figure\N{NO-BREAK SPACE}2.", "A line"),
    ]


def test_a_reference_is_a_link(pages):
    for page, address, text in [
        ("one", "#one-table-sizes", "Table 2"),
        ("one", "#one-figure-line", "Figure 2"),
        ("two", "two.html#two-table-sizes", "Table 1 of <em>The second one</em>"),
    ]:
        link = f'<a class="reference internal" href="{address}">{text}</a>'
        assert link in pages["one"].replace("\N{NO-BREAK SPACE}", " ")
        assert pages[page].count(f' id="{address.partition("#")[2]}"') == 1


def test_card(pages):
    card = pages["one"].partition('<div class="verite-card')[2].partition("See <a")[0]
    said = html.unescape(re.sub("<[^>]+>", "", card))
    assert (
        "This page took 64 s and 1.3 GB on 2 cores; its reference run took 1 h 7 min"
        " and 2.4 GB on 2 cores." in said
    )
    assert "verite run one \\\n  -p size 7 \\\n  -p kind 'a b' \\\n  --out mine" in said
    assert '<div class="highlight"><pre>' in card  # what the copy button looks for
    assert (
        'href="../../_sources/notebooks/executed/one.ipynb">Download this notebook'
        in card
    )
    assert "Binder" not in card
    assert "Colab" not in card


def test_card_without_a_record(pages):
    card = pages["two"].partition('<div class="verite-card')[2]
    assert "Time and memory" not in card
    assert "-p size 3" in re.sub("<[^>]+>", "", card)


def test_notebook_to_download_is_in_plain_words(pages, root):
    path = root / "out" / "html" / "_sources" / "notebooks" / "executed" / "one.ipynb"
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    assert (
        "See Table *sizes*, Table *line* and Table *sizes* of [Two](two.ipynb), by (1)."
        in text
    )
    assert r"$$ a = b \tag{1} $$" in text


def test_missing_and_duplicate_names_are_warnings(
    tmp_path,
):
    make(
        tmp_path,
        [words("# One\n\nSee {shown}`nothing` and {shown}`two/sizes`.")],
        [words("# Two"), table("sizes"), table("sizes")],
    )
    _, warned, _ = build(tmp_path)
    missing, twice = sorted(
        warned.strip().splitlines(), key=lambda line: "called 'sizes'" in line
    )
    assert re.search(
        r"executed/one\.ipynb:\d+: WARNING: no figure or table is called 'nothing'",
        missing,
    )
    assert re.search(
        r"executed/two\.ipynb(:\d+)?: WARNING: two figures or tables of this page are"
        r" called 'sizes'",
        twice,
    )


def test_a_changed_number_changes_its_references(
    tmp_path,
):
    """Pages are read side by side first.

    Then one is read again, and another, which refers to it, is written again.
    """
    make(tmp_path, ONE, TWO)
    out, warned, _ = build(tmp_path, parallel=2, repository="owner/book")
    page = out / "notebooks" / "executed" / "one.html"
    assert warned == ""
    assert "Table\N{NO-BREAK SPACE}1 of <em>The second one</em>" in page.read_text(
        encoding="utf8"
    )
    write(tmp_path, "two", [TWO[0], table(), *TWO[1:]])
    _, warned, read = build(tmp_path, repository="owner/book")
    assert warned == ""
    assert read == ["notebooks/executed/two"]
    text = page.read_text(encoding="utf8")
    assert "Table\N{NO-BREAK SPACE}2 of <em>The second one</em>" in text
    assert (
        'href="https://mybinder.org/v2/gh/owner/book/HEAD?labpath=notebooks%2Fone.md">Open'
        " it on Binder</a>" in text
    )
    assert (
        'href="https://colab.research.google.com/github/owner/book/blob/launch/one.ipynb">Open'
        " it on Colab</a>" in text
    )
    assert {path.name for path in (tmp_path / "out" / "launch").iterdir()} == {
        "one.ipynb",
        "two.ipynb",
    }


def test_single_page_has_unique_ids_and_working_references(
    tmp_path,
):
    make(tmp_path, ONE, TWO)
    out, warned, _ = build(tmp_path, "singlehtml")
    assert warned == ""
    text = (out / "index.html").read_text(encoding="utf8")
    ids = Counter(re.findall(r'\bid="([^"]+)"', text))
    assert [one for one, times in ids.items() if times > 1] == []
    targets = re.findall(
        r'class="reference internal" href="(?:index\.html)?#([^"]+)">(?:Table|Figure)',
        text,
    )
    assert targets == [
        "one-table-sizes",
        "one-figure-line",
        "two-table-sizes",
        "two-table-sizes",
    ]
    assert set(targets) <= set(ids)
    assert "This page took 64 s" in text
    assert "Rerun with your own values" not in text


@pytest.mark.parametrize("name", list_notebooks())
def test_plain_words_of_a_chapter(name):
    notebook = open_notebook(name)
    for cell in notebook.node.cells:
        if cell.cell_type == "markdown":
            assert not re.search(
                r"\{(cite|term|shown|eq|dropdown)\}|\$\$ \([\w-]+\)$|\[\]\(",
                in_plain_words(cell.source, notebook),
                re.M,
            )
