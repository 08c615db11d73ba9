from __future__ import annotations

import threading

import torch
from threadpoolctl import threadpool_info

from opengcn.threads import cores, one_blas_thread, one_torch_thread


def blas_threads() -> list[int]:
    """Return the threads of numpy's BLAS; other packages may have loaded one of their own."""
    ours = [i for i in threadpool_info() if i["user_api"] == "blas" and "numpy" in i["filepath"]]
    assert ours
    return [i["num_threads"] for i in ours]


def test_blas_limits_that_overlap_are_taken_away_by_the_last() -> None:
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait(10)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}  # the other still needs it
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_torch_gets_its_threads_back() -> None:
    before = torch.get_num_threads()
    with one_torch_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_cores() -> None:
    assert cores() >= 1
