"""What all commands share."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import opengcn as og

COMMANDS = ("demo", "inspect", "fit", "threshold", "convert", "evaluate", "compare")


def test_version(run) -> None:
    assert run("--version").out == f"opengcn {og.__version__}\n"


def test_no_command_is_help_and_a_mistake(run) -> None:
    ran = run()
    assert ran.code == 2
    for command in COMMANDS:
        assert command in ran.out
    assert "Exit codes: 0 done" in " ".join(ran.out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_a_page_with_an_example(run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"  opengcn {command} " in ran.out
    assert "--json" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("guess",), "No such command 'guess'"),
        (("threshold",), "Missing argument 'MODEL' (see opengcn threshold --help)"),
        (("threshold", "m", "d", "--tpx", "1"), "--tpx"),
        (("fit", "--train", "t"), "--output"),
    ],
)
def test_a_wrong_command_is_one_line_and_code_2(
    run, arguments: tuple[str, ...], message: str
) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.err.startswith("opengcn: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""


def test_debug_shows_where(process, tmp_path: Path) -> None:
    quiet = process("inspect", tmp_path / "no.npz")
    assert quiet.returncode == 1
    assert quiet.stderr.decode().startswith(f"opengcn: {tmp_path / 'no.npz'}: expected a file")
    assert b"Traceback" not in quiet.stderr
    loud = process("inspect", tmp_path / "no.npz", "--debug")
    assert loud.returncode == 1
    assert b"Traceback" in loud.stderr


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys, opengcn.cli;"
        "heavy = {'torch', 'sklearn', 'matplotlib', 'numba', 'pandas', 'pyarrow'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_shell_completion(process) -> None:
    script = process(_OPENGCN_COMPLETE="source_bash").stdout.decode()
    assert "_OPENGCN_COMPLETE=complete_bash" in script

    def completed(*words: str) -> list[str]:
        line = " ".join(("opengcn", *words))
        ran = process(
            _OPENGCN_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words))
        )
        return ran.stdout.decode().split()

    assert set(completed("")) >= set(COMMANDS)
    assert completed("thr") == ["threshold"]
    assert "--n-classes" in completed("threshold", "--n")
    assert completed("convert", "1", "--to", "cos") == ["cosine", "cosine_distance"]
    assert completed("threshold", "--snippet", "q") == ["qdrant"]


def test_interrupted() -> None:
    command = [sys.executable, "-m", "opengcn", "convert", "-", "--from", "l2", "--to", "cosine"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Where the tests run in the background, a shell has told them to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"1\n")
        running.stdin.flush()
        assert running.stdout.readline() == b"0.5\n"  # it is up, and waits for more
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"Traceback" not in err


def test_a_reader_that_has_had_enough(files: Path) -> None:
    command = f"{sys.executable} -m opengcn inspect {files / 'test.npz'} --json | head -c 1"
    ran = subprocess.run(command, shell=True, capture_output=True, check=True)
    assert ran.stdout == b"{"
    assert ran.stderr == b""
