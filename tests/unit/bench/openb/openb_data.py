"""A small trace in the format of openb, and a plain reference of its experiments."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from math import exp
from pathlib import Path
from typing import Any

Pod = tuple[int, int, int, int, str]
"""cpu, memory, GPUs, thousandths of each, models."""

MODELS = ("T4", "P100", "V100")
SHAPES = [(1, 300), (1, 460), (1, 810), (1, 1000), (1, 1000), (2, 1000), (4, 1000), (0, 0)]
HEADER = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"]


def write_trace(folder: Path, *, nodes: int = 16, pods: int = 150, seeds: tuple[int, ...] = (42,)) -> None:
    rng = random.Random(7)
    with (folder / "openb_node_list_gpu_node.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sn", "cpu_milli", "memory_mib", "gpu", "model"])
        for number in range(nodes):
            size = rng.choice([(64000, 2), (96000, 8), (32000, 1), (64000, 4)])
            rows.writerow([f"openb-node-{number:04d}", size[0], 65536, size[1], rng.choice(MODELS)])
    with (folder / "openb_pod_list_default.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(HEADER)
        for number in range(pods):
            gpus, milli = rng.choice(SHAPES)
            spec = "|".join(rng.sample(MODELS, 2)) if gpus and rng.random() < 0.2 else ""
            rows.writerow([f"openb-pod-{number:04d}", rng.choice([2000, 3152, 8000]), 1024, gpus, milli, spec])
    with (folder / "openb_orders.jsonl").open("w") as file:
        for seed in seeds:
            order = {
                "trace": "default",
                "seed": seed,
                "pods": rng.sample(range(pods), pods) + rng.choices(range(pods), k=pods // 3),
                "node_ranks": rng.sample(range(nodes), nodes),
            }
            file.write(json.dumps(order) + "\n")


class Reference:
    """The rules of the experiments, one node after the other."""

    def __init__(self, folder: Path, seed: int = 42) -> None:
        nodes = list(csv.DictReader((folder / "openb_node_list_gpu_node.csv").read_text().splitlines()))
        self.pods = [
            _pod(row) for row in csv.DictReader((folder / "openb_pod_list_default.csv").read_text().splitlines())
        ]
        orders = [json.loads(line) for line in (folder / "openb_orders.jsonl").read_text().splitlines()]
        order = next(each for each in orders if each["seed"] == seed)
        self.order = [self.pods[number] for number in order["pods"]]
        ranked = sorted(zip(order["node_ranks"], nodes, strict=True), key=lambda pair: pair[0])
        self.nodes: list[dict[str, Any]] = [
            {
                "cpu": int(row["cpu_milli"]),
                "memory": int(row["memory_mib"]),
                "left": [1000] * int(row["gpu"]),
                "model": row["model"],
                "kinds": set(),
            }
            for _, row in ranked
        ]
        self.capacity = sum(len(node["left"]) for node in self.nodes) * 1000
        counted = Counter((cpu, milli, gpus, spec) for cpu, _, gpus, milli, spec in self.pods)
        self.targets: list[tuple[tuple[int, int, int, str], int]] = []
        for target, count in sorted(counted.items(), key=lambda item: (item[1], item[0]), reverse=True):
            if sum(each for _, each in self.targets) < 0.95 * len(self.pods):
                self.targets.append((target, count))

    def run(self, policy: str) -> tuple[list[int], list[float], list[float]]:
        """Ranks of the pods' nodes (-1: none), allocation and fragmentation after each arrival."""
        ranks, allocation, fragmentation = [], [], []
        for pod in self.order:
            fitting = [node for node in self.nodes if self.fits(node, pod)]
            if fitting:
                best = fitting[0]
                if len(fitting) > 1:
                    best = max(fitting, key=lambda node: self.score(policy, node, pod))
                self.place(policy, best, pod)
            ranks.append(next(rank for rank, node in enumerate(self.nodes) if node is best) if fitting else -1)
            idle = sum(sum(node["left"]) for node in self.nodes)
            allocation.append(round(100 * (self.capacity - idle) / self.capacity, 2))
            wasted = sum(self.fragmented(node["cpu"], node["left"], node["model"]) for node in self.nodes)
            fragmentation.append(round(100 * wasted / sum(count for _, count in self.targets) / idle, 2))
        return ranks, allocation, fragmentation

    def fits(self, node: dict[str, Any], pod: Pod) -> bool:
        cpu, memory, gpus, milli, spec = pod
        if node["cpu"] < cpu or node["memory"] < memory:
            return False
        allowed = not gpus or not spec or node["model"] in spec.split("|")
        return allowed and sum(left >= milli for left in node["left"]) >= gpus

    def fragmented(self, cpu_left: int, left: list[int], model: str) -> int:
        total = 0
        for (cpu, milli, gpus, spec), count in self.targets:
            usable = milli and cpu_left >= cpu and (not spec or model in spec.split("|"))
            if usable and sum(each >= milli for each in left) >= gpus:
                total += count * sum(each for each in left if each < milli)
            else:
                total += count * sum(left)
        return total

    def expected(self, cpu_left: int, left: list[int], model: str) -> float:
        """The same for one pod of the targets, added up by cause in double precision, as the original does."""
        taken = sum(count for _, count in self.targets) / len(self.pods)
        sums = [0.0] * 6
        for (cpu, milli, gpus, spec), count in self.targets:
            share, idle, has_cpu = count / len(self.pods) / taken, sum(left), cpu_left >= cpu
            has_gpus = sum(each >= milli for each in left) >= gpus
            if not milli:
                sums[3 if has_cpu else 4] += share * idle
            elif spec and model not in spec.split("|"):
                sums[5] += share * idle
            elif has_gpus:
                sums[1 if has_cpu else 2] += share * (sum(e for e in left if e < milli) if has_cpu else idle)
            else:
                sums[1 if has_cpu else 0] += share * idle
        total = 0.0
        for each in sums:
            total += each
        return total

    def gradient(self, node: dict[str, Any], pod: Pod, chosen: list[int]) -> int:
        after = [left - pod[3] * (index in chosen) for index, left in enumerate(node["left"])]
        before = self.expected(node["cpu"], node["left"], node["model"])
        change = before - self.expected(node["cpu"] - pod[0], after, node["model"])
        return int(1 / (1 + exp(-(change / 1000))) * 100)

    def ways(self, node: dict[str, Any], pod: Pod) -> list[list[int]]:
        fitting = [index for index, left in enumerate(node["left"]) if left >= pod[3]]
        return [[index] for index in fitting] if pod[2] == 1 and pod[3] < 1000 else [fitting[: pod[2]]]

    def score(self, policy: str, node: dict[str, Any], pod: Pod) -> int:
        cpu, _, gpus, milli, _ = pod
        idle, left = sum(node["left"]), node["left"]
        if policy == "DotProd":
            return int(100 * (1 - (node["cpu"] / 128000 * (cpu / 128000) + idle / 8000 * (milli * gpus / 8000)) / 2))
        if policy == "BestFit":
            return int((1 - ((node["cpu"] - cpu) / 128000 * 0.5 + (idle - milli * gpus) / 8000 * 0.5)) * 100)
        if policy == "FGD":
            return max(self.gradient(node, pod, way) for way in self.ways(node, pod))
        if not gpus:
            return 0
        if policy == "GpuClustering":
            kinds = node["kinds"]
            bonus = 25 if not kinds else 75 if kinds == {kind(pod)} else 50 if kind(pod) in kinds else 0
            return 25 * (8000 - idle) // 8000 + bonus
        if all(each == 1000 for each in left):
            return max(33 - len(left), len(left))
        taken = sorted(each for each in left if each >= milli)[:gpus]
        free = taken.count(1000)
        return max(50 - free, 33) if free else max(100 - sum(each * 100 // 1000 for each in taken) // 10, 50)

    def place(self, policy: str, node: dict[str, Any], pod: Pod) -> None:
        cpu, memory, gpus, milli, _ = pod
        if gpus:
            if policy == "FGD":
                chosen = max(self.ways(node, pod), key=lambda way: self.gradient(node, pod, way))
            else:
                fitting = sorted((left, index) for index, left in enumerate(node["left"]) if left >= milli)
                chosen = [index for _, index in fitting[:gpus]]
            for index in chosen:
                node["left"][index] -= milli
            node["kinds"].add(kind(pod))
        node["cpu"] -= cpu
        node["memory"] -= memory


def kind(pod: Pod) -> str:
    return "share" if pod[2] == 1 and pod[3] < 1000 else str(pod[2])


def _pod(row: dict[str, str]) -> Pod:
    numbers = [int(row[name]) for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")]
    return numbers[0], numbers[1], numbers[2], numbers[3], row["gpu_spec"]
