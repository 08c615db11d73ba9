from __future__ import annotations

from opengcn.scenarios.definitions import (
    CORRUPTIONS,
    SCENARIOS,
    STANDARD,
    TESTS,
    Setting,
    own_settings,
    standard_settings,
)
from opengcn.scenarios.methods import ABLATIONS, BASELINES, METHODS


def test_the_paper_has_thirteen_corruptions_and_six_baselines() -> None:
    assert len(CORRUPTIONS) == 13
    assert len(BASELINES) == 6


def test_every_setting_belongs_to_its_scenario() -> None:
    for setting in STANDARD:
        assert setting.test in SCENARIOS[setting.scenario].tests
        assert setting.test in TESTS
    assert len(set(STANDARD)) == len(STANDARD)


def test_every_method_runs_somewhere() -> None:
    assert {m for s in SCENARIOS.values() for m in s.methods} == set(METHODS)
    assert SCENARIOS["ablation"].methods == ABLATIONS


def test_own_data_run_whatever_they_have() -> None:
    found = own_settings("mine", ["same", "snow-1", "snow-5", "tail"], augmented=False)
    assert found == [
        Setting("samedist", "mine", "same"),
        Setting("shiftdist", "mine", "snow-1"),
        Setting("shiftdist", "mine", "snow-5"),
        Setting("diffdist", "mine", "tail"),
        Setting("ablation", "mine", "same"),
    ]


def test_augmented_variant_needs_augmented_images() -> None:
    found = own_settings("mine", ["same", "snow"], augmented=True)
    assert Setting("shiftdist-augmented", "mine", "snow") in found


def test_usual_data_sets_are_known_by_name() -> None:
    assert {s.scenario for s in standard_settings("cars")} == {
        *("samedist", "shiftdist", "diffdist", "ablation")
    }
    assert standard_settings("mine") == []


def test_seed_reaches_the_methods_that_have_one() -> None:
    for method in METHODS.values():
        made = method.make(7)
        assert getattr(made, "seed", None) == (7 if method.seeded else None), method.name
