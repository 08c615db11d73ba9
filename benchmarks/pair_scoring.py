"""Pairs scored a second: dense graphs and compiled loops against the edge-list form.

    python benchmarks/pair_scoring.py                 # needs torch_geometric for the peer
    python benchmarks/pair_scoring.py --nodes 256 1024

The peer is what one would write with an edge-list library: PyG's GATConv on every edge of
the complete graph, then the pair network on the concatenated features of both ends, both
orders of a pair averaged. Same weights, same sub-graphs, outputs checked against each other,
two threads (the peer: two or one, whichever is faster). Then the time of a whole estimate
against the size of the test set, read from a memory-mapped file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import opengcn as og
from opengcn.graph.inference import Sampling, score_rows, subgraph_estimate
from opengcn.graph.losses import LossWeights, total_loss
from opengcn.graph.network import ConnectivityNetwork, NetworkShape
from opengcn.threads import one_torch_thread

DIM = 128
EDGE_LIST_LIMIT = 1024  # nodes: a million edges, gigabytes of messages


class EdgeList(nn.Module):
    """The same network on an edge list."""

    def __init__(self, network: ConnectivityNetwork) -> None:
        super().__init__()
        from torch_geometric.nn import GATConv

        layer: Any = network.encoder.layers[0]
        self.conv = GATConv(DIM, layer.value.out_features)
        with torch.no_grad():
            self.conv.lin.weight.copy_(layer.value.weight)
            self.conv.att_src.copy_(layer.vector[0][None])
            self.conv.att_dst.copy_(layer.vector[1][None])
            self.conv.bias.copy_(layer.bias)
        self.head = network.head

    def forward(self, x: Tensor) -> Tensor:
        """Return symmetric logits of one graph, from nodes of shape (nodes, dim)."""
        nodes = len(x)
        i, j = (
            t.flatten()
            for t in torch.meshgrid(torch.arange(nodes), torch.arange(nodes), indexing="ij")
        )
        off = i != j
        h = torch.relu(self.conv(x, torch.stack([i[off], j[off]])))
        z = torch.cat([h, x], dim=1)
        both = torch.cat([z[i], z[j]], dim=1)
        ordered: Tensor = self.head.second(torch.relu(self.head.first(both))).view(nodes, nodes)
        return 0.5 * (ordered + ordered.T)


def best(job: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return min(times)


def step(network: Callable[[Tensor], Tensor], x: Tensor, same: Tensor) -> None:
    """Run forward and backward of the paper's objective."""
    logits = network(x)
    batch = logits if logits.dim() == 3 else logits[None]
    total_loss(x if x.dim() == 3 else x[None], batch, same, LossWeights()).backward()  # type: ignore[no-untyped-call]


def measure(nodes: int, repeats: int) -> dict[str, Any]:
    """Return pairs a second of both forms at one graph size."""
    network = ConnectivityNetwork(DIM, NetworkShape(), seed=0)
    data = og.datasets.synthetic(n_classes=max(-(-nodes // 5), 2), samples=5, dim=DIM)
    X = np.array(data.embeddings[:nodes])
    nodes, pairs = len(X), len(X) * (len(X) - 1) / 2
    labels = torch.from_numpy(data.codes[:nodes])[None]
    same = labels[:, :, None] == labels[:, None]
    x = torch.from_numpy(X)
    row: dict[str, Any] = {"nodes": nodes}
    score_rows(network, X)
    row["dense"] = pairs / best(lambda: score_rows(network, X), repeats)
    if nodes <= 2048:
        with one_torch_thread():  # as in training
            step(network, x[None], same)
            row["dense_training"] = pairs / best(lambda: step(network, x[None], same), repeats)
    if nodes <= EDGE_LIST_LIMIT:
        edge_list = EdgeList(network)

        def score() -> Tensor:
            with torch.inference_mode():
                logits: Tensor = edge_list(x)
                return logits

        difference = (score() - torch.from_numpy(score_rows(network, X)[1])).fill_diagonal_(0)
        row["largest_difference"] = float(difference.abs().max())
        # On a busy machine torch is faster on one thread: the peer takes its better number.
        for threads in (2, 1):
            torch.set_num_threads(threads)
            rate = pairs / best(score, repeats)
            row["edge_list"] = max(rate, row.get("edge_list", 0.0))
            if nodes <= 256:
                rate = pairs / best(lambda: step(edge_list, x, same), repeats)
                row["edge_list_training"] = max(rate, row.get("edge_list_training", 0.0))
        torch.set_num_threads(2)
    return row


def estimate_time(n: int, folder: Path) -> dict[str, Any]:
    """Return the seconds of an estimate on n rows that are read from disk."""
    path = folder / f"{n}.npy"
    array = np.lib.format.open_memmap(path, "w+", np.float32, (n, DIM))
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((90, DIM), dtype=np.float32)
    for begin in range(0, n, 50_000):
        size = min(50_000, n - begin)
        noise = rng.standard_normal((size, DIM), dtype=np.float32)
        array[begin : begin + size] = centres[rng.integers(90, size=size)] + noise
    array.flush()
    test = og.EmbeddingSet.load(path, in_memory=False)
    network = ConnectivityNetwork(DIM, NetworkShape(), seed=0)
    sampling = Sampling(tolerance=0.0, most=400)  # the same number of sub-graphs for every n
    took = best(lambda: subgraph_estimate(network, test, 0.5, sampling, 0, show=False), 3)
    path.unlink()
    return {"n": n, "seconds_for_400_subgraphs": took}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[256, 1024, 4096])
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/pair_scoring.json"))
    given = parser.parse_args()
    torch.set_num_threads(2)

    rows = [measure(nodes, given.repeats) for nodes in given.nodes]
    table = Table(title="Million pairs a second, 2 threads")
    for heading in (
        "nodes",
        "dense",
        "edge list",
        "ratio",
        "dense, training",
        "edge list",
        "ratio",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [str(row["nodes"])]
        for kind in ("", "_training"):
            ours, theirs = row.get(f"dense{kind}"), row.get(f"edge_list{kind}")
            cells += [f"{v / 1e6:.2f}" if v else "-" for v in (ours, theirs)]
            cells.append(f"{ours / theirs:.0f} x" if ours and theirs else "-")
        table.add_row(*cells)
    console = Console(width=100)
    console.print(table)
    with tempfile.TemporaryDirectory() as folder:
        times = [estimate_time(n, Path(folder)) for n in given.rows]
    flat = Table("rows of the test set", "400 sub-graphs of 256 nodes")
    for line in times:
        flat.add_row(f"{line['n']:,}", f"{line['seconds_for_400_subgraphs']:.2f} s")
    console.print(flat)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps({"scoring": rows, "estimate": times}, indent=1) + "\n")


if __name__ == "__main__":
    main()
