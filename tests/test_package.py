"""The package as a whole: what importing it costs, and what it promises."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import opengcn as og
from opengcn.calibrators.base import Calibrator


def test_version_is_in_one_place() -> None:
    assert og.__version__ == version("opengcn")


def test_a_function_stays_a_function_after_its_module_is_imported() -> None:
    code = "import opengcn as og; og.compare_splits; assert callable(og.compare); assert callable(og.convert)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_is_light() -> None:
    code = (
        "import sys, opengcn; opengcn.EmbeddingSet; opengcn.OperatingCurve;"
        "heavy = {'torch', 'sklearn', 'matplotlib', 'numba', 'pandas', 'pyarrow', 'rich'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_is_quick() -> None:
    """In processor time: on a busy machine the clock on the wall says nothing."""
    code = "import time; begin = time.process_time(); import opengcn; print(time.process_time() - begin)"
    took = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
        for _ in range(2)
    ]
    assert min(took) < 1.5


def public() -> list[str]:
    """Every public name; of public modules, those that they list as well."""
    names = []
    for name in og.__all__:
        names.append(name)
        value = getattr(og, name)
        if isinstance(value, ModuleType):
            names += [f"{name}.{inner}" for inner in value.__all__]
    return names


@pytest.mark.parametrize("name", public())
def test_every_public_name_shows_how_it_is_used(name: str) -> None:
    """The examples themselves are run with the tests, as doctests."""
    value = og
    for part in name.split("."):
        value = getattr(value, part)
    if isinstance(value, (tuple, frozenset)):
        return  # a constant speaks for itself
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
    assert any("import" not in example.source for example in examples)


def test_dir_lists_every_public_name() -> None:
    assert set(og.__all__) <= set(dir(og))


CALIBRATORS: dict[str, Calibrator] = {
    name: getattr(og, name)()
    for name in og.__all__
    if inspect.isclass(getattr(og, name)) and issubclass(getattr(og, name), Calibrator)
} | {"paper": og.OpenGCN("paper", finetune=False, pretrain_steps=50)}
CALIBRATORS["OpenGCN"].set_params(episodes=10)

DATA = og.datasets.synthetic(n_classes=30, samples=8, dim=16)
TRAIN, REST = DATA.split_classes(0.5)
CAL, TEST = REST.split_classes(0.3)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_parameters_are_those_of_scikit_learn(name: str) -> None:
    model = CALIBRATORS[name]
    if "__init__" in vars(type(model)):
        given = set(inspect.signature(type(model).__init__).parameters) - {"self"}
        assert set(model.get_params()) == given
    copy = clone(model)
    assert type(copy) is type(model)
    assert copy.get_params() == model.get_params()
    assert repr(copy) == repr(model)
    for parameter, value in model.get_params().items():
        assert copy.set_params(**{parameter: value}) is copy
        assert getattr(copy, parameter) is value
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(no_such_parameter=1)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_estimate_needs_fit(name: str) -> None:
    with pytest.raises(NotFittedError, match="expected fit before estimate"):
        clone(CALIBRATORS[name]).estimate(TEST)


@pytest.mark.filterwarnings("ignore:.*same-class pairs:opengcn.OpenGCNWarning")  # ten rehearsals
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n == "HiLander" else n for n in CALIBRATORS],
)
def test_what_fit_learns_ends_in_an_underscore(name: str) -> None:
    model = clone(CALIBRATORS[name])
    before = dict(vars(model))
    assert model.fit(TRAIN, CAL) is model
    learned = set(vars(model)) - set(before)
    assert learned
    assert all(attribute.endswith("_") for attribute in learned), learned
    assert {name: vars(model)[name] for name in before} == before  # parameters are left alone
    curve = model.estimate(TEST.unlabelled())
    assert np.isfinite(curve.tpr).all()
    assert not learned & set(vars(clone(model)))
