from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import opengcn as og
from opengcn.report.drift import drift
from opengcn.report.target import Target
from opengcn.report.wording import describe

HOSTILE = '</script><script>alert(1)</script><!-- <b title="x">&amp;'


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{EN DASH}", "-")


def test_the_data_come_back_whole(estimate, reference, report) -> None:
    threshold = estimate.threshold(tpr=0.9)
    page = report(estimate, threshold=threshold, reference=reference, provenance={"Model": "m"})
    data = page.data
    assert og.OperatingCurve.from_json(json.dumps(data["curve"])) == estimate
    assert og.OperatingCurve.from_json(json.dumps(data["reference"])) == reference
    assert og.Threshold.from_json(json.dumps(data["threshold"])) == threshold
    assert data["prior"] == 0.004
    assert data["provenance"] == {"Model": "m"}
    low, high = data["frame"]
    assert low < threshold.distance < high


def test_numbers_are_there_without_javascript(estimate, report) -> None:
    threshold = estimate.threshold(tpr=0.9)
    page = report(estimate, threshold=threshold)
    for name, text in describe(estimate.at(threshold.distance), 0.004).items():
        assert set(page.shown[name]) == {text}, name
    assert f"distance < {threshold.distance:.4f}" in page.text
    assert "Asked to find 90 % of the true matches" in page.text


def test_strings_of_users_stay_strings(estimate, report) -> None:
    curve = og.OperatingCurve(estimate.tpr, estimate.tnr, HOSTILE, {"note": HOSTILE})
    threshold = og.Threshold(0.9, target=HOSTILE)
    plain_page = report(estimate, threshold=estimate.threshold(tpr=0.9))
    page = report(curve, threshold=threshold, provenance={HOSTILE: HOSTILE, "$css": "${js}"})
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in plain_page.tags} | {"p"}
    assert page.texts.count(HOSTILE) == 3  # the source, a name and a value
    assert f"Asked for {HOSTILE}" in page.texts
    assert "${js}" in page.texts
    assert page.data["provenance"][HOSTILE] == HOSTILE
    assert page.data["threshold"]["target"] == HOSTILE


def test_nothing_is_loaded(estimate, reference, report) -> None:
    page = report(estimate, threshold=estimate.threshold(tpr=0.9), reference=reference)
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "action"):
            assert str(attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    assert "default-src 'none'" in str(policy)


def test_file_is_small_and_free_of_addresses(estimate, reference, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    og.write_report(path, estimate, threshold=estimate.threshold(tpr=0.9), reference=reference)
    html = path.read_text(encoding="utf-8")
    assert len(html) < 250_000
    assert not re.search(r"https?://|url\(|@import", html)


def test_provenance_keeps_its_order(estimate, report) -> None:
    given = {"Model": "m.ogcn", "Data": "fingerprint 12ab", "Date": "2025-01-02"}
    page = report(estimate, threshold=estimate.threshold(tpr=0.9), provenance=given)
    start = page.texts.index("Model")
    assert page.texts[start : start + 6] == [text for item in given.items() for text in item]


@pytest.mark.parametrize("infinite", [float("inf"), -float("inf"), float("nan")])
def test_numbers_that_json_has_not_are_left_out(estimate, report, infinite: float) -> None:
    curve = og.OperatingCurve(estimate.tpr, estimate.tnr, info={"prior": infinite, "x": infinite})
    page = report(curve, threshold=curve.threshold(tpr=0.9))
    assert page.data["prior"] is None
    assert page.data["curve"]["info"]["x"] is None


def test_too_strict_a_target_comes_with_a_warning(estimate, report) -> None:
    few = og.OperatingCurve(estimate.tpr, estimate.tnr, info={"nodes": 60, "prior": 0.1})
    page = report(few, threshold=few.threshold(tnr=0.9999))
    assert "Do not rely on this threshold. Too little data" in page.text
    assert page.text.count("Too little data") > 1  # in the table as well
    page = report(estimate, threshold=estimate.threshold(tnr=0.9999))
    assert "Do not rely" not in page.text


def test_unchecked_targets_are_called_unchecked(estimate, report) -> None:
    bare = og.OperatingCurve(estimate.tpr, estimate.tnr)
    unchecked = "none of these targets was checked"
    assert unchecked in report(bare, threshold=bare.threshold(tpr=0.9)).text
    assert unchecked not in report(estimate, threshold=estimate.threshold(tpr=0.9)).text


def test_a_curve_without_a_band_says_so(estimate, report) -> None:
    bare = og.OperatingCurve(estimate.tpr, estimate.tnr)
    page = report(bare, threshold=bare.threshold(tpr=0.9))
    assert "does not say how sure it is" in page.text
    assert "Shaded" not in page.text
    assert page.shown["tpr_interval"] == ["none"]
    assert "Against the calibration set" not in page.text  # none was given


def test_tables_have_headings_and_captions(estimate, report) -> None:
    page = report(estimate, threshold=estimate.threshold(tpr=0.9))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == tags.count("caption") == 3
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")


def test_wrong_arguments_leave_no_file(estimate, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with pytest.raises(og.OpenGCNError, match="expected OperatingCurve, received float"):
        og.write_report(path, 0.9, threshold=estimate.threshold(tpr=0.9))
    with pytest.raises(og.OpenGCNError, match="expected Threshold, received float"):
        og.write_report(path, estimate, threshold=0.9)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_stays_as_it_is(estimate, tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match="report.html"):
        og.write_report(tmp_path / "report.html", estimate, threshold=estimate.threshold(tpr=0.9))
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_drift_says_what_the_calibration_threshold_would_do(estimate, reference) -> None:
    text = plain(drift(estimate, reference, Target("tpr", 0.9)))
    theirs = reference.threshold(tpr=0.9)
    here = estimate.at(theirs.distance)
    assert f"threshold for TPR 90 %, distance < {theirs.distance:.4f}, would here find" in text
    assert f"about {100 * here.tpr:.1f} % of the true matches" in text
    assert f"{100 * here.tpr_low:.1f}-{100 * here.tpr_high:.1f} %" in text
    assert "outside the interval" in text


def test_drift_within_the_band_may_be_chance(estimate) -> None:
    near = og.OperatingCurve(estimate.tpr, estimate.tnr)
    assert "may be chance" in drift(estimate, near, Target("tpr", 0.9))
    assert "would here reject about 99.90" in plain(drift(estimate, near, Target("tnr", 0.999)))


def test_drift_with_holes_in_the_curves(estimate, reference) -> None:
    unknown = np.full(201, np.nan)
    no_tpr = og.OperatingCurve(unknown, estimate.tnr)
    assert "cannot be compared at TPR 90 %" in plain(drift(no_tpr, reference, None))
    text = drift(no_tpr, reference, Target("tnr", 0.99))
    assert "reject about" in text
    assert "true matches" not in text
    short = og.OperatingCurve(0.5 * reference.tpr, reference.tnr)
    assert "no threshold for TPR 90 %" in plain(drift(estimate, short, None))
