#!/usr/bin/env python3
"""Writes tests/fixtures/torch_network_*.txt: whole networks of several layers and inputs in PyTorch.

Run where torch is installed (python3 scripts/make_torch_network_fixtures.py); the tests read the
files only. Everything is computed in float64 from numbers that float32 holds exactly. The format is
that of make_torch_fixtures.py; parameters have the names and the order of our layout, "d.NAME" is
the gradient of sum(logits * d_logits) + sum(values * d_values) with respect to NAME.

The model "pictures and numbers, LSTM":
  camera uint8 12 13 2 -> conv 6 4 2 1 relu, residual, conv 6 3 1 1 elu, add, max_pool 2 2 0, flatten
  kind categories 3 2 (one-hot), speed float32 5 (normalized) -> dense 7 tanh
  trunk: dense 16 relu, layer_norm, lstm 9; shared; discrete 4
"""
import torch
import torch.nn.functional as F

from make_torch_fixtures import as_float32, write

STEPS, COUNT = 6, 3
STATISTICS = "statistics.observation."


def normal(*shape, scale=1.0):
    return as_float32(scale * torch.randn(*shape, dtype=torch.float64))


def parameters():
    p = {}

    def add(name, *shape, scale=0.3):
        p[name] = normal(*shape, scale=scale).requires_grad_()

    for name, shape in (("policy.camera.0", (4, 4, 2, 6)), ("policy.camera.2", (3, 3, 6, 6)),
                        ("policy.speed.0", (5, 7)), ("policy.0", (66, 16)),
                        ("policy.head", (9, 4)), ("value.head", (9, 1))):
        add(name + ".weight", *shape)
        add(name + ".bias", shape[-1])
    add("policy.1.gain", 16, scale=1.0)
    add("policy.1.shift", 16)
    add("policy.2.input_weight", 16, 36)
    add("policy.2.hidden_weight", 9, 36)
    add("policy.2.bias", 36)
    return p


def conv(p, name, x, stride, padding):
    weight = p[name + ".weight"].permute(3, 2, 0, 1)
    return F.conv2d(x, weight, p[name + ".bias"], stride, padding)


def dense(p, name, x):
    return x @ p[name + ".weight"] + p[name + ".bias"]


def encode(p, camera, kind, speed, mean, variance):
    x = F.relu(conv(p, "policy.camera.0", camera.permute(0, 3, 1, 2) / 255, 2, 1))
    x = x + F.elu(conv(p, "policy.camera.2", x, 1, 1))
    x = F.max_pool2d(x, 2, 2).permute(0, 2, 3, 1).flatten(1)
    one_hot = torch.cat([F.one_hot(kind[:, 0], 3), F.one_hot(kind[:, 1], 2)], 1).to(torch.float64)
    number = ((speed - mean) / torch.sqrt(variance + 1e-8)).clamp(-10, 10)
    number = torch.tanh(dense(p, "policy.speed.0", number))
    joined = torch.cat([x, one_hot, number], 1)
    y = F.relu(dense(p, "policy.0", joined))
    return F.layer_norm(y, (16,), p["policy.1.gain"], p["policy.1.shift"], 1e-5)


def recur(p, x, first, state0):
    """torch.nn.LSTM one step at a time, its state zeroed where an episode begins."""
    module = torch.nn.LSTM(16, 9).double()
    theirs = {"weight_ih_l0": p["policy.2.input_weight"].T,
              "weight_hh_l0": p["policy.2.hidden_weight"].T, "bias_ih_l0": p["policy.2.bias"],
              "bias_hh_l0": torch.zeros(36, dtype=torch.float64)}
    state = [s[None] for s in state0.split(9, 1)]
    outputs = []
    for t in range(STEPS):
        given = tuple((s * (1 - first[t][None, :, None])).contiguous() for s in state)
        y, state = torch.func.functional_call(module, theirs, (x[t:t + 1].contiguous(), given))
        outputs.append(y[0])
    return torch.stack(outputs), torch.cat([s[0] for s in state], 1)


def main():
    torch.manual_seed(11)
    rows = STEPS * COUNT
    p = parameters()
    camera = torch.randint(0, 256, (rows, 12, 13, 2))
    kind = torch.stack([torch.randint(0, 3, (rows,)), torch.randint(0, 2, (rows,))], 1)
    speed = normal(rows, 5, scale=3.0)
    mean, variance = normal(5), as_float32(0.5 + torch.rand(5, dtype=torch.float64))
    first = torch.zeros(STEPS, COUNT, dtype=torch.float64)
    first[0, 2] = first[3, 0] = first[4, 1] = 1
    state0 = normal(COUNT, 18)
    features = encode(p, camera.to(torch.float64), kind, speed, mean, variance)
    hidden, state = recur(p, features.reshape(STEPS, COUNT, 16), first, state0)
    hidden = hidden.reshape(rows, 9)
    logits, values = dense(p, "policy.head", hidden), dense(p, "value.head", hidden)
    d_logits, d_values = normal(rows, 4), normal(rows, 1)
    ((logits * d_logits).sum() + (values * d_values).sum()).backward()
    records = {"camera": camera, "kind": kind, "speed": speed, "first": first, "state0": state0,
               STATISTICS + "count": [7.0], STATISTICS + "mean": mean,
               STATISTICS + "variance": variance, "logits": logits.detach(),
               "values": values.detach(), "state": state.detach(), "d_logits": d_logits,
               "d_values": d_values}
    for name, leaf in p.items():
        records |= {name: leaf.detach(), "d." + name: leaf.grad}
    write("network_lstm", records)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
