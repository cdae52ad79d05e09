#!/usr/bin/env python3
"""Writes tests/fixtures/torch_action_*.txt: what PyTorch's distributions say about our action heads.

Run where torch is installed (python3 scripts/make_torch_action_fixtures.py); the tests read the files
only. Everything is computed in float64 from float32 inputs; make_torch_fixtures.py says what a file is.
A case is a list of parts, each of which takes its outputs from a row in order:
  ("discrete", [n, ...])  ("binary", n)  ("continuous", n)
"""
import torch
from torch.distributions import (Bernoulli, Categorical, Independent, Normal, TransformedDistribution,
                                 TanhTransform)

from make_torch_fixtures import as_float32, write


def widths(part, state_dependent):
    kind, size = part
    if kind == "discrete":
        return sum(size)
    return size * 2 if kind == "continuous" and state_dependent else size


def gaussian(mean, log_deviation, squashed):
    normal = Normal(mean, log_deviation.clamp(-20, 2).exp())
    if not squashed:
        return normal, normal
    return TransformedDistribution(normal, [TanhTransform(cache_size=1)]), normal


def discrete(sizes, x, mask, rows):
    actions, log_prob, entropy, at = [], 0, 0, 0
    for n in sizes:
        logits = x[:, at:at + n].masked_fill(mask[:, at:at + n] == 0, -1e30)
        d = Categorical(logits=logits)
        action = d.sample()
        actions.append(action.to(torch.float64)[:, None])
        log_prob = log_prob + d.log_prob(action)
        p = d.probs
        entropy = entropy - torch.where(p > 0, p * d.logits, torch.zeros_like(p)).sum(1)
        at += n
    return torch.cat(actions, 1), log_prob, entropy


def binary(x):
    d = Independent(Bernoulli(logits=x), 1)
    action = d.sample()
    return action, d.log_prob(action), d.entropy()


def continuous(n, x, free, squashed):
    mean = x[:, :n]
    log_deviation = free.expand(len(x), n) if free is not None else x[:, n:]
    d, normal = gaussian(mean, log_deviation, squashed)
    sample = as_float32(normal.sample())
    if squashed:
        game = sample.tanh()
        d.transforms[0]._cached_x_y = (sample, game)  # the inverse, without its rounding
        log_prob = d.log_prob(game).sum(1)
    else:
        log_prob = Independent(d, 1).log_prob(sample)
    return sample, log_prob, Independent(normal, 1).entropy()


def case(name, seed, parts, rows, masked=False, state_dependent=False, squashed=False, scale=1.0):
    torch.manual_seed(seed)
    outputs = sum(widths(part, state_dependent) for part in parts)
    numbers = sum(size for kind, size in parts if kind == "continuous")
    x = as_float32(scale * torch.randn(rows, outputs, dtype=torch.float64)).requires_grad_()
    free = None
    if numbers and not state_dependent:
        free = as_float32(torch.randn(numbers, dtype=torch.float64) - 0.5)
        free[0] = 2.5  # beyond the clamp
        free.requires_grad_()
    actions, masks, log_prob, entropy, at, deviation = [], [], 0, 0, 0, 0
    for part in parts:
        kind, size = part
        part_x = x[:, at:at + widths(part, state_dependent)]
        at += part_x.shape[1]
        if kind == "discrete":
            mask = torch.ones(rows, sum(size))
            if masked:
                mask = (torch.rand(rows, sum(size)) < 0.5).to(torch.float64)
                first = 0
                for n in size:  # at least one choice of each variable
                    mask[torch.arange(rows), first + torch.randint(n, (rows,))] = 1
                    first += n
            masks.append(mask)
            action, p, h = discrete(size, part_x, mask, rows)
        elif kind == "binary":
            action, p, h = binary(part_x)
        else:
            own = None if free is None else free[deviation:deviation + size]
            deviation += size
            action, p, h = continuous(size, part_x, own, squashed)
        actions.append(action)
        log_prob, entropy = log_prob + p, entropy + h
    d_log_prob = as_float32(torch.randn(rows, dtype=torch.float64))
    d_entropy = as_float32(torch.randn(rows, dtype=torch.float64))
    (d_log_prob * log_prob + d_entropy * entropy).sum().backward()
    records = {"rows": rows, "outputs": x.detach(), "actions": torch.cat(actions, 1).detach(),
               "log_prob": log_prob.detach(), "entropy": entropy.detach(),
               "d_log_prob": d_log_prob, "d_entropy": d_entropy, "d_outputs": x.grad}
    if masks:
        records["mask"] = torch.cat(masks, 1)
    if free is not None:
        records |= {"log_deviations": free.detach(), "d_log_deviations": free.grad}
    write("action_" + name, records)


if __name__ == "__main__":
    case("discrete", 1, [("discrete", [2])], 19)
    case("multi_discrete", 2, [("discrete", [3, 5, 2])], 7, scale=3.0)
    case("masked", 3, [("discrete", [4, 3])], 21, masked=True, scale=2.0)
    case("binary", 4, [("binary", 5)], 9, scale=4.0)
    case("gaussian", 5, [("continuous", 3)], 17)
    case("gaussian_state", 6, [("continuous", 2)], 18, state_dependent=True, scale=1.5)
    case("squashed", 7, [("continuous", 2)], 16, squashed=True)
    case("squashed_state", 8, [("continuous", 3)], 5, state_dependent=True, squashed=True)
    case("mixed", 9, [("discrete", [3]), ("continuous", 2), ("binary", 2), ("discrete", [2, 4]),
                      ("continuous", 1)], 33, masked=True)
