"""The package as a whole: what importing it costs, and what its modules offer."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import verite
from verite import errors

TORCH_MODULES = ("verite.detector", "verite.training")
"""These two are written in torch.

Every other module loads it only inside the functions that use it.
"""

ROOT = Path(verite.__file__).parent
MODULES = sorted(
    ".".join(("verite", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
    for path in ROOT.rglob("*.py")
    if path.name != "__main__.py"
)


def test_no_module_but_those_two_loads_torch_open_clip_or_matplotlib() -> None:
    program = """
import importlib, json, pkgutil, sys
heavy, torch_modules = set(sys.argv[1].split()), sys.argv[2].split()
import verite
names = [found.name for found in pkgutil.walk_packages(verite.__path__, "verite.")]
seen, blame = 0, {}
for name in ["verite", *names]:
    if name in torch_modules or name.endswith(".__main__"):
        continue
    importlib.import_module(name)
    seen += 1
    for culprit in sorted(heavy & set(sys.modules)):
        blame.setdefault(culprit, name)
print(json.dumps([seen, blame]))
"""
    heavy = "torch torchvision open_clip matplotlib"
    arguments = [sys.executable, "-c", program, heavy, " ".join(TORCH_MODULES)]
    run = subprocess.run(
        arguments, capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    seen, blame = json.loads(run.stdout)
    assert blame == {}
    assert seen == len(
        set(MODULES) - set(TORCH_MODULES)
    )  # a folder without __init__.py would go unseen


@pytest.mark.parametrize("name", MODULES)
def test_each_module_and_each_of_its_public_names_is_there_and_described(
    name: str,
) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    public_names = getattr(module, "__all__", [])
    assert len(set(public_names)) == len(public_names)
    for public in public_names:
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isfunction(value):
            words = (
                vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
            )  # none of a parent's
            assert words, f"{name}.{public} has no docstring"
            assert not words.startswith(f"{public}("), (
                f"{name}.{public} has the docstring that dataclasses make up"
            )


def test_what_the_package_offers_is_what_its_modules_hold() -> None:
    from verite import datasets

    assert verite.load is datasets.load
    assert verite.Dataset is datasets.Dataset
    assert verite.Card is datasets.Card


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(
        AttributeError, match="module 'verite' has no attribute 'nothing'"
    ):
        verite.nothing  # noqa: B018


def test_the_package_knows_its_version() -> None:
    assert verite.__version__
    assert verite.__version__[0].isdigit()


@pytest.mark.parametrize(
    "name", sorted(set(errors.__all__) - {"VeriteError", "name_some"})
)
def test_one_clause_catches_every_error_of_the_package(name: str) -> None:
    with pytest.raises(errors.VeriteError, match="what to do next"):
        raise getattr(errors, name)("what to do next")


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("DataError", ValueError),
        ("MissingDataError", FileNotFoundError),
        ("ParameterError", ValueError),
        ("DownloadError", OSError),
        ("RunError", RuntimeError),
    ],
)
def test_errors_are_also_of_the_built_in_kind_that_other_code_expects(
    name: str, builtin: type[Exception]
) -> None:
    assert issubclass(getattr(errors, name), builtin)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "1"),
        (5, "1, 2, 3, 4, 5"),
        (6, "1, 2, 3, 4, 5 and 1 more"),
        (2005, "1, 2, 3, 4, 5 and 2,000 more"),
    ],
)
def test_of_many_items_five_are_named_and_the_rest_counted(
    count: int, text: str
) -> None:
    assert errors.name_some(range(1, count + 1)) == text
