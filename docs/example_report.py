"""A hook of mkdocs: makes the report that the pages show, from what make_images.py estimated."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import opengcn as og

TPR = 0.9


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the report among the files of the site, in place of what it is made from.

    Parameters
    ----------
    files : mkdocs.structure.files.Files
        Those in docs/.
    config : mkdocs.config.defaults.MkDocsConfig
        The settings.

    Returns
    -------
    files : mkdocs.structure.files.Files
        With images/report.html, without images/estimate.json.
    """
    source = files.get_file_from_path("images/estimate.json")
    assert source is not None
    files.remove(source)
    made = json.loads(source.content_string)
    curve, reference = (
        og.OperatingCurve.from_json(json.dumps(made[name])) for name in ("estimate", "calibration")
    )
    with TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        og.write_report(
            page,
            curve,
            threshold=curve.threshold(tpr=TPR),
            reference=reference,
            provenance=made["provenance"],
        )
        content = page.read_text(encoding="utf-8")
    files.append(File.generated(config, "images/report.html", content=content))
    return files
