"""Training steps in PyTorch: the peers of bench_device_step, with the same models and minibatches.

  python3 python/bench/torch_step.py MODE [--device cuda|cpu] [--small] [ROW...]
  python3 python/bench/torch_step.py MODE ... -      rows from stdin, one a line

MODE: eager, graph (one CUDA graph a step) or compile (torch.compile, reduce-overhead). A step is
what it is in murmurate: gather of a minibatch that lies on the device, forward, PPO's loss,
backward, clip by the norm, Adam (fused). The rows of every step are the same ones, and all steps
of an LSTM's sequence are of one episode: both are less work here than there. Each row is a line
of JSON: the median of 30 rounds, in microseconds; a row that cannot be measured is a line with
"error".
"""

import argparse
import json
import sys
import time

import torch
from torch import nn

BY = {"eager": "PyTorch", "graph": "PyTorch, CUDA graph", "compile": "torch.compile"}
LENGTH = 128  # steps of a trajectory


def dense(observations, units, outputs):
    return nn.Sequential(nn.Linear(observations, units), nn.Tanh(), nn.Linear(units, units),
                         nn.Tanh(), nn.Linear(units, outputs))


class Dense(nn.Module):
    """Policy and value with layers of their own."""

    def __init__(self, observations, units, actions):
        super().__init__()
        self.shape, self.actions = (observations,), actions
        self.policy = dense(observations, units, actions)
        self.value = dense(observations, units, 1)

    def forward(self, observation):
        return self.policy(observation), self.value(observation).squeeze(-1)


class Pictures(nn.Module):
    """84 x 84 x 4 bytes through convolutions and one dense layer."""

    shape, actions = (84, 84, 4), 6

    def __init__(self, convolutions, flat, units):
        super().__init__()
        self.trunk = nn.Sequential(convolutions, nn.Flatten(), nn.Linear(flat, units), nn.ReLU())
        self.policy, self.value = nn.Linear(units, self.actions), nn.Linear(units, 1)

    def forward(self, observation):
        picture = observation.permute(0, 3, 1, 2).float() / 255  # channels last as they lie
        seen = self.trunk(picture)
        return self.policy(seen), self.value(seen).squeeze(-1)


def nature_cnn():
    return Pictures(nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2),
                                  nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU()), 7 * 7 * 64, 512)


class Residual(nn.Module):
    def __init__(self, filters):
        super().__init__()
        self.layers = nn.Sequential(nn.ReLU(), nn.Conv2d(filters, filters, 3, padding=1),
                                    nn.ReLU(), nn.Conv2d(filters, filters, 3, padding=1))

    def forward(self, x):
        return x + self.layers(x)


def impala_deep():
    layers, channels = [], 4
    for filters in 16, 32, 32:
        layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.MaxPool2d(3, 2, 1),
                   Residual(filters), Residual(filters)]
        channels = filters
    return Pictures(nn.Sequential(*layers, nn.ReLU()), 11 * 11 * 32, 256)


class Lstm(nn.Module):
    """Sequences: rows are [sequence][step]."""

    shape, actions = (17,), 6

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(17, 64), nn.Tanh())
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.policy, self.value = nn.Linear(128, self.actions), nn.Linear(128, 1)

    def forward(self, observation):
        seen, _ = self.lstm(self.first(observation))
        seen = seen.flatten(0, 1)
        return self.policy(seen), self.value(seen).squeeze(-1)


# Name: the model, its minibatch, how products are computed.
ROWS = {
    "4-64-64-2/1024": (lambda: Dense(4, 64, 2), 1024, "fp32"),
    "4-64-64-2/8192": (lambda: Dense(4, 64, 2), 8192, "fp32"),
    "4-64-64-2/65536": (lambda: Dense(4, 64, 2), 65536, "fp32"),
    "17-256-256-6/2048": (lambda: Dense(17, 256, 6), 2048, "tf32"),
    "17-256-256-6/65536": (lambda: Dense(17, 256, 6), 65536, "tf32"),
    "nature-cnn/1024": (nature_cnn, 1024, "bf16"),
    "impala-deep/1024": (impala_deep, 1024, "bf16"),
    "lstm-128/8192": (Lstm, 8192, "fp32"),
}
ADAM = "adam/100M"


class Step:
    """One training step of a row."""

    def __init__(self, name, mode, device, small):
        make, self.rows, self.precision = ROWS[name]
        torch.manual_seed(1)
        self.device = device
        self.model = make().to(device)
        if small:
            self.rows = 4 if isinstance(self.model, Pictures) else 16
        self.sequences = isinstance(self.model, Lstm)
        if isinstance(self.model, Pictures):
            self.model = self.model.to(memory_format=torch.channels_last)
        self.parameters = list(self.model.parameters())
        self.optimizer = adam(self.parameters, device)
        self.make_batch()
        self.loss, self.compiled = self.loss_of, mode == "compile"
        if self.compiled:
            torch._dynamo.reset()  # nothing is compiled for many shapes at once
            self.loss = torch.compile(self.loss_of, mode="reduce-overhead", dynamic=False)

    def make_batch(self):
        def of(*shape):
            return torch.randn(*shape, device=self.device)
        shape, actions = self.model.shape, self.model.actions
        length = min(LENGTH, self.rows // 2) if self.sequences else 1
        count = self.rows // length
        if len(shape) == 3:
            self.observation = torch.randint(0, 256, (count, *shape), dtype=torch.uint8,
                                             device=self.device)
        else:
            self.observation = of(count, length, *shape) if self.sequences else of(count, *shape)
        self.action = torch.randint(0, actions, (count, length), device=self.device)
        self.old = torch.full((count, length), -1.0, device=self.device)
        self.advantage, self.target = of(count, length), of(count, length)
        self.index = torch.randperm(count, device=self.device)
        for block in (self.observation, self.action, self.old, self.advantage, self.target,
                      self.index):
            torch._dynamo.mark_static_address(block)  # a compiled step need not copy it

    def loss_of(self):
        i = self.index
        with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16",
                            cache_enabled=False):
            logits, value = self.model(self.observation[i])
        logits, value = logits.float(), value.float()
        log_prob = torch.log_softmax(logits, -1)
        chosen = log_prob.gather(1, self.action[i].reshape(-1, 1)).squeeze(1)
        ratio = torch.exp(chosen - self.old[i].flatten())
        advantage = self.advantage[i].flatten()
        policy = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy = -(log_prob.exp() * log_prob).sum(-1).mean()
        return policy + 0.5 * (value - self.target[i].flatten()).square().mean() - 0.01 * entropy

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        if self.compiled:
            torch.compiler.cudagraph_mark_step_begin()
        self.loss().backward()
        nn.utils.clip_grad_norm_(self.parameters, 0.5)
        self.optimizer.step()


class ManyNumbers:
    """Norm, clip and Adam over 100 million numbers."""

    precision, rows = "fp32", 0

    def __init__(self, device, small):
        units = 100 if small else 10000
        self.parameters = [nn.Parameter(torch.full(shape, 0.5, device=device)) for shape in
                           ((4, units), (units,), (units, units), (units,), (units, 3), (3,))]
        for parameter in self.parameters:
            parameter.grad = torch.full_like(parameter, 1e-3)
        self.optimizer = adam(self.parameters, device)

    def __call__(self):
        nn.utils.clip_grad_norm_(self.parameters, 0.5)
        self.optimizer.step()


def adam(parameters, device):
    # A rate so small that the work stays the same.
    return torch.optim.Adam(parameters, lr=1e-6, eps=1e-5, fused=True,
                            capturable=device == "cuda")


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def recorded(step):
    """The step as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def median_us(call, device, rounds, round_s):
    """The median, the shortest and the longest round, of one call each."""
    for _ in range(3):
        call()
    wait(device)
    start = time.perf_counter()
    call()
    wait(device)
    calls = max(1, min(256, int(round_s / max(time.perf_counter() - start, 1e-6))))
    times = []
    for _ in range(rounds):
        wait(device)
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait(device)
        times.append((time.perf_counter() - start) / calls * 1e6)
    times.sort()
    return times[len(times) // 2], times[0], times[-1]


def set_precision(precision):
    allowed = precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed
    torch.backends.cudnn.benchmark = True


class Rows:
    """A row that is asked for again goes on with what the first time made."""

    def __init__(self, chosen):
        self.chosen, self.calls = chosen, {}

    def call_of(self, name):
        chosen = self.chosen
        if name in self.calls:
            return self.calls[name]
        if name != ADAM and name not in ROWS:
            raise RuntimeError("there is no such row")
        if chosen.mode == "graph" and chosen.device != "cuda":
            raise RuntimeError("a CUDA graph needs a GPU")
        if name == ADAM and chosen.mode == "compile":
            raise RuntimeError("a fused Adam has nothing to compile")
        step = ManyNumbers(chosen.device, chosen.small) if name == ADAM else \
            Step(name, chosen.mode, chosen.device, chosen.small)
        set_precision(step.precision)
        self.calls[name] = step, recorded(step) if chosen.mode == "graph" else step
        return self.calls[name]

    def line(self, name):
        chosen, line = self.chosen, {"row": name, "by": BY[self.chosen.mode]}
        try:
            step, call = self.call_of(name)
            set_precision(step.precision)
            us, shortest, longest = median_us(call, chosen.device, 3 if chosen.small else 30,
                                              0.001 if chosen.small else 0.02)
        except Exception as error:  # whatever PyTorch raises is that row's result
            return line | {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        parameters = sum(parameter.numel() for parameter in step.parameters)
        return line | {"precision": step.precision, "rows": step.rows, "parameters": parameters,
                       "us": us, "shortest_us": shortest, "longest_us": longest,
                       "version": torch.__version__}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mode", choices=BY)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--small", action="store_true",
                        help="minibatches of 16, and of 4 pictures, to try it")
    parser.add_argument("rows", nargs="*")
    chosen = parser.parse_intermixed_args()
    if chosen.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_step.py: PyTorch finds no GPU")
    if chosen.device == "cpu":
        torch.set_num_threads(1)
    rows = Rows(chosen)
    names = (line.strip() for line in sys.stdin) if chosen.rows == ["-"] else \
        chosen.rows or [*ROWS, ADAM]
    for name in names:
        print(json.dumps(rows.line(name)), flush=True)


if __name__ == "__main__":
    main()
