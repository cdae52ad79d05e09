"""How fast it is: each row of docs/performance.md's "Training on a GPU", in turns with PyTorch."""

import statistics
import sys

from campaign import Failed, Peer, Skipped
from device_stage import device

STEPS = ("4-64-64-2/1024", "4-64-64-2/8192", "4-64-64-2/65536", "17-256-256-6/2048",
         "17-256-256-6/65536", "nature-cnn/1024", "impala-deep/1024", "lstm-128/8192")
ADAM, PUBLISH = "adam/100M", "publish/6.7MB"
TURNS = 2


class Peers:
    """murmurate and the ways of PyTorch, one process each."""

    def __init__(self, campaign):
        script = str(campaign.folder / "torch_step.py")
        where = "cpu" if campaign.device == "host" else "cuda"
        small = ["--small"] if campaign.small else []
        self.ours = Peer(campaign, "murmurate", [*campaign.bench("bench_device_step"), "-"])
        self.torch = {mode: Peer(campaign, f"PyTorch, {mode}",
                                 [sys.executable, script, mode, "--device", where, *small, "-"])
                      for mode in ("eager", "graph", "compile")}

    def end(self):
        for peer in self.ours, *self.torch.values():
            peer.end()


def in_turns(row, peers):
    """Each peer's answers, over its turns the one in the middle."""
    answers, broken = {}, []
    for _ in range(TURNS):
        for peer in peers:
            try:
                answer = peer.ask(row)
            except Failed as why:
                answer = {"row": row, "by": peer.name, "error": str(why)}
            if "error" in answer:
                broken.append(answer)
            else:
                answers.setdefault(answer["by"], []).append(answer)
        peers = [peer for peer in peers if peer.process is not None]
    figures = []
    for turns in answers.values():
        best = min(turns, key=lambda turn: abs(turn["us"]
                                               - statistics.median_low(t["us"] for t in turns)))
        figures.append(best | {"turns": [turn["us"] for turn in turns]})
    return figures + list({str(answer): answer for answer in broken}.values())


def check(figures):
    """Ours is there, and the peers have the same model."""
    ours = [figure for figure in figures if figure["by"] == "murmurate"]
    if not ours or "error" in ours[0]:
        raise Failed(ours[0]["error"] if ours else "no answer")
    for figure in figures:
        count = figure.get("parameters", 0)
        if figure.get("parameters") and abs(count - ours[0]["parameters"]) > count / 50 + 64:
            raise Failed(f"{figure['by']} has {count} parameters, not {ours[0]['parameters']}")


def step(row, peers, modes):
    def stage(campaign):
        campaign.figures += in_turns(row, [peers.ours, *(peers.torch[mode] for mode in modes)])
        check(campaign.figures)
    return stage


def compiled(row, peers):
    def stage(campaign):
        try:
            figure = peers.torch["compile"].ask(row)
        except Failed as why:  # a peer's failure is not murmurate's
            raise Skipped(str(why)) from why
        if "error" in figure:
            raise Skipped(figure["error"])
        return [figure]
    return stage


def stages(campaign):
    peers = Peers(campaign)
    limit_s = 60
    return peers, (
        ("device", 45, device),
        *((row, limit_s, step(row, peers, ("eager", "graph"))) for row in STEPS),
        (ADAM, limit_s, step(ADAM, peers, ("eager", "graph"))),
        (PUBLISH, 20, step(PUBLISH, peers, ())),
        *((f"{row}, torch.compile", 75, compiled(row, peers)) for row in
          ("4-64-64-2/1024", "17-256-256-6/2048", "nature-cnn/1024", "4-64-64-2/65536",
           "17-256-256-6/65536", "impala-deep/1024", "lstm-128/8192", "4-64-64-2/8192")),
    )
