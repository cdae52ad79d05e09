#!/usr/bin/env python3
"""Writes tests/fixtures/torch_*.txt: what PyTorch says our networks, loss and optimizer must give.

Run where torch is installed (python3 scripts/make_torch_fixtures.py); the tests read the files only.
Everything is computed in float64. A file is a list of records: a line "name count", then that many
numbers, eight a line. Parameters are flat, weights row-major [in][out].
"""
import math
import pathlib

import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures"
ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "none": lambda x: x}


def write(name, records):
    with open(FOLDER / f"torch_{name}.txt", "w") as file:
        for key, value in records.items():
            numbers = torch.as_tensor(value, dtype=torch.float64).flatten().tolist()
            file.write(f"{key} {len(numbers)}\n")
            for i in range(0, len(numbers), 8):
                file.write(" ".join(f"{x:.9g}" for x in numbers[i:i + 8]) + "\n")


def as_float32(tensor):
    """The nearest float32: what the C++ side will really hold."""
    return tensor.to(torch.float32).to(torch.float64)


def make_parameters(observations, trunk, actions, separate):
    parameters = {}

    def dense(name, inputs, outputs):
        weight = as_float32(torch.randn(inputs, outputs, dtype=torch.float64) / math.sqrt(inputs))
        bias = as_float32(0.1 * torch.randn(outputs, dtype=torch.float64))
        parameters[name + ".weight"] = weight.requires_grad_()
        parameters[name + ".bias"] = bias.requires_grad_()

    for tower in ("policy", "value") if separate else ("policy",):
        inputs = observations
        for i, (units, _) in enumerate(trunk):
            dense(f"{tower}.{i}", inputs, units)
            inputs = units
    dense("policy.head", trunk[-1][0], actions)
    dense("value.head", trunk[-1][0], 1)
    return parameters


def run(parameters, tower, trunk, x):
    for i, (_, activation) in enumerate(trunk):
        x = ACTIVATIONS[activation](x @ parameters[f"{tower}.{i}.weight"] + parameters[f"{tower}.{i}.bias"])
    return x


def head(parameters, name, x):
    return x @ parameters[name + ".weight"] + parameters[name + ".bias"]


def ppo(settings, logits, values, action, behaviour, advantage, target, weight):
    """The loss of server/compute/losses.h, and its sums, by autograd."""
    log_pi = torch.log_softmax(logits, dim=1)
    log_prob = log_pi.gather(1, action[:, None])[:, 0]
    log_ratio = log_prob - behaviour
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings["clip"], 1 + settings["clip"])
    policy_loss = -torch.minimum(ratio * advantage, clipped * advantage)
    value_loss = 0.5 * (values - target) ** 2
    entropy = -(log_pi.exp() * log_pi).sum(1)
    total = weight.sum()
    loss = (weight * (policy_loss + settings["value_weight"] * value_loss
                      - settings["entropy"] * entropy)).sum() / total
    sums = [total, (weight * policy_loss).sum(), (weight * value_loss).sum(), (weight * entropy).sum(),
            (weight * (ratio - 1 - log_ratio)).sum(), (weight * (ratio != clipped)).sum()]
    return loss, sums


def actor_critic(name, seed, observations, trunk, actions, separate, normalize, rows, settings):
    torch.manual_seed(seed)
    parameters = make_parameters(observations, trunk, actions, separate)
    raw = as_float32(2 * torch.randn(rows, observations, dtype=torch.float64))
    records = {"shape": [observations, actions, rows, int(separate), int(normalize)],
               "settings": [settings["clip"], settings["entropy"], settings["value_weight"]]}
    x = raw
    if normalize:
        mean = as_float32(torch.randn(observations, dtype=torch.float64))
        variance = as_float32(0.2 + torch.rand(observations, dtype=torch.float64))
        raw[0, 0] = 60.0  # clipped to +10
        x = ((raw - mean) / torch.sqrt(variance + 1e-8)).clamp(-10, 10)
        records |= {"mean": mean, "variance": variance}
    features = run(parameters, "policy", trunk, x)
    logits = head(parameters, "policy.head", features)
    values = head(parameters, "value.head", run(parameters, "value", trunk, x) if separate else features)[:, 0]
    action = torch.randint(actions, (rows,))
    behaviour = as_float32(torch.log_softmax(logits, 1).gather(1, action[:, None])[:, 0].detach()
                           + 0.3 * torch.randn(rows, dtype=torch.float64))
    advantage = as_float32(torch.randn(rows, dtype=torch.float64))
    target = as_float32(torch.randn(rows, dtype=torch.float64))
    weight = (torch.rand(rows) < 0.8).to(torch.float64)
    loss, sums = ppo(settings, logits, values, action, behaviour, advantage, target, weight)
    logits.retain_grad()
    values.retain_grad()
    loss.backward()
    records |= {"observations": raw, "action": action, "behaviour_log_prob": behaviour,
                "advantage": advantage, "value_target": target, "weight": weight, "logits": logits.detach(),
                "values": values.detach(), "sums": torch.stack(sums).detach(),
                "d_logits": logits.grad, "d_values": values.grad}
    for key, value in parameters.items():
        records |= {key: value.detach().clone(), "gradient." + key: value.grad.clone()}
    gradients = [p.grad for p in parameters.values()]
    records["gradient_norm"] = torch.sqrt(sum((g ** 2).sum() for g in gradients))
    torch.nn.utils.clip_grad_norm_(parameters.values(), 0.05)
    torch.optim.Adam(parameters.values(), lr=2e-3, eps=1e-5).step()
    for key, value in parameters.items():
        records["stepped." + key] = value.detach().clone()
    write(name, records)


def adam(name, weight_decay):
    torch.manual_seed(7)
    parameters = as_float32(torch.randn(37, dtype=torch.float64)).requires_grad_()
    optimizer = torch.optim.AdamW([parameters], lr=1e-2, betas=(0.9, 0.999), eps=1e-5,
                                  weight_decay=weight_decay)
    records = {"start": parameters.detach().clone()}
    for t in range(1, 4):
        gradient = as_float32(torch.randn(37, dtype=torch.float64) * 10.0 ** torch.randint(-4, 1, (37,)))
        parameters.grad = gradient.clone()
        optimizer.step()
        records |= {f"gradient.{t}": gradient, f"parameters.{t}": parameters.detach().clone()}
    write(name, records)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    actor_critic("separate_tanh", 1, 4, [(8, "tanh"), (8, "tanh")], 2, True, False, 13,
                 {"clip": 0.2, "entropy": 0.0, "value_weight": 0.5})
    actor_critic("shared_mixed", 2, 5, [(17, "relu"), (9, "tanh")], 3, False, True, 11,
                 {"clip": 0.1, "entropy": 0.02, "value_weight": 0.25})
    actor_critic("separate_relu", 3, 3, [(6, "none"), (19, "relu")], 5, True, True, 7,
                 {"clip": 0.3, "entropy": 0.01, "value_weight": 1.0})
    adam("adam", 0.0)
    adam("adamw", 0.05)
