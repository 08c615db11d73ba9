"""The scenarios, as data: which D_test of which data set each consists of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opengcn.scenarios.methods import ABLATIONS, METHODS

__all__ = [
    "CORRUPTIONS",
    "DATA",
    "SCENARIOS",
    "SUBSTITUTES",
    "TESTS",
    "Scenario",
    "Setting",
    "own_settings",
    "split_severity",
    "standard_settings",
]

# How a D_test is made (see `opengcn.scenarios.data`), with its title.
CORRUPTIONS = {
    "gaussian_noise": "Noise: Gauss",
    "shot_noise": "Noise: Shot",
    "impulse_noise": "Noise: Impulse",
    "defocus_blur": "Blur: Defocus",
    "motion_blur": "Blur: Motion",
    "zoom_blur": "Blur: Zoom",
    "snow": "Weather: Snow",
    "fog": "Weather: Fog",
    "brightness": "Weather: Bright",
    "contrast": "Digital: Contrast",
    "elastic_transform": "Digital: Elastic",
    "pixelate": "Digital: Pixel",
    "jpeg_compression": "Digital: JPEG",
}
TESTS = {
    "same": "unseen classes",
    **CORRUPTIONS,
    "sketch": "Sketch",
    "other": "Cross-dataset",
    "tail": "Long tail",
    "zipf": "Zipf tail",
}
# Titles of the usual data sets, and what those stand for that the paper does not have.
DATA = {
    "cars": "Cars",
    "cub": "CUB",
    "cars_overfit": "Cars, over-fitted",
    "cub_overfit": "CUB, over-fitted",
    "omniglot": "Omniglot",
    "glyphs": "Glyphs",
    "cross_dogs_to_cub": "Dogs to CUB",
    "longtail_caltech": "Caltech",
}
SUBSTITUTES = {
    "cross_dogs_to_cub": "Dogs to CUB is a substitute for iNaturalist to CUB",
    "longtail_caltech": "The tail of Caltech-101 is a substitute for the tail of iNaturalist",
}


@dataclass(frozen=True)
class Scenario:
    """One of the paper's scenarios.

    Attributes
    ----------
    title : str
        Its name in the paper.
    about : str
        How D_test differs from D_cal, in a sentence.
    tests : tuple of str
        The kinds of D_test that belong to it, keys of `TESTS`.
    methods : tuple of str
        The methods that run in it.
    augmented : bool
        Whether D_train is joined by corrupted images of its classes.
    """

    title: str
    about: str
    tests: tuple[str, ...]
    methods: tuple[str, ...] = tuple(name for name in METHODS if name not in ABLATIONS)
    augmented: bool = False


SCENARIOS = {
    "samedist": Scenario(
        "SameDist", "D_cal and D_test are random classes of one data set.", ("same",)
    ),
    "shiftdist": Scenario(
        "ShiftDist",
        "D_test is corrupted; D_train and D_cal are clean.",
        tuple(CORRUPTIONS),
    ),
    "shiftdist-augmented": Scenario(
        "ShiftDist, corruptions rehearsed",
        "D_test is corrupted; D_train has corrupted images beside its clean ones.",
        tuple(CORRUPTIONS),
        augmented=True,
    ),
    "diffdist": Scenario(
        "DiffDist",
        "D_test is of another domain than D_cal, or of rarer classes.",
        ("sketch", "other", "tail", "zipf"),
    ),
    "ablation": Scenario(
        "Ablation of the loss terms",
        "SameDist, with parts of the paper's loss left out.",
        ("same",),
        ABLATIONS,
    ),
}


@dataclass(frozen=True)
class Setting:
    """A column of a results table: one D_test in one scenario.

    Attributes
    ----------
    scenario : str
        A key of `SCENARIOS`.
    data : str
        The data set.
    test : str
        How D_test is made: a key of `TESTS`; a corruption may end in its severity, as in
        "snow-3".
    """

    scenario: str
    data: str
    test: str


# What runs on the usual data sets. Others run whatever they have: see `own_settings`.
STANDARD = (
    *(
        Setting("samedist", data, "same")
        for data in ("cars", "cub", "cars_overfit", "cub_overfit", "omniglot", "glyphs")
    ),
    *(Setting("shiftdist", "cars", corruption) for corruption in CORRUPTIONS),
    Setting("diffdist", "cars", "sketch"),
    Setting("diffdist", "cross_dogs_to_cub", "other"),
    Setting("diffdist", "longtail_caltech", "tail"),
    Setting("diffdist", "cars", "zipf"),
    Setting("diffdist", "cub", "zipf"),
    *(Setting("ablation", data, "same") for data in ("cars", "cub")),
)


def standard_settings(data: str) -> list[Setting]:
    """Return the settings of a usual data set; none for others.

    Parameters
    ----------
    data : str
        Name of a data set.

    Returns
    -------
    settings : list of Setting
        In the order of the tables.
    """
    return [setting for setting in STANDARD if setting.data == data]


def own_settings(data: str, tests: Iterable[str], *, augmented: bool) -> list[Setting]:
    """Return every setting that a user's own data set can have.

    Parameters
    ----------
    data : str
        Name of the data set.
    tests : iterable of str
        The kinds of D_test that it can make.
    augmented : bool
        Whether it has corrupted images of the training classes.

    Returns
    -------
    settings : list of Setting
        In the order of the tables.
    """
    tests = list(tests)
    return [
        Setting(name, data, test)
        for name, scenario in SCENARIOS.items()
        if augmented or not scenario.augmented
        for kind in scenario.tests
        for test in tests
        if split_severity(test)[0] == kind
    ]


def split_severity(test: str) -> tuple[str, str]:
    """Split the severity off a corruption.

    Parameters
    ----------
    test : str
        As in "snow" or "snow-3".

    Returns
    -------
    kind, severity : str
        As in ("snow", "3"); the severity is "" where none is given.

    Examples
    --------
    >>> split_severity("snow-3")
    ('snow', '3')
    >>> split_severity("same")
    ('same', '')
    """
    kind, dash, severity = test.rpartition("-")
    return (kind, severity) if dash else (test, "")
