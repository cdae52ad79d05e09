#!/usr/bin/env python3
"""Writes tests/fixtures/torch_labels_*.txt and *.npy: what PyTorch says of our losses over labels, and
arrays as NumPy saves them.

Run where torch and numpy are installed (python3 scripts/make_torch_label_fixtures.py); the tests read
the files only. Losses are computed in float64 from float32 inputs, with torch's own functions; weights
of rows are 0, 1 and what lies between. make_torch_fixtures.py says what a .txt file is.
"""
import numpy
import torch
import torch.nn.functional as F

from make_torch_fixtures import FOLDER, as_float32, write


def loss_of(parts, x, labels, free, likelihood):
    """Of each row."""
    total, at, word, deviation = 0, 0, 0, 0
    for kind, size in parts:
        if kind == "discrete":
            for n in size:
                total = total + F.cross_entropy(x[:, at:at + n], labels[:, word].long(), reduction="none")
                at, word = at + n, word + 1
        elif kind == "binary":
            total = total + F.binary_cross_entropy_with_logits(
                x[:, at:at + size], labels[:, word:word + size], reduction="none").sum(1)
            at, word = at + size, word + size
        else:
            mean, label = x[:, at:at + size], labels[:, word:word + size]
            if likelihood:
                variance = (2 * free[deviation:deviation + size]).exp().expand(len(x), size)
                total = total + F.gaussian_nll_loss(mean, label, variance, full=True, eps=0,
                                                    reduction="none").sum(1)
            else:
                total = total + 0.5 * F.mse_loss(mean, label, reduction="none").mean(1)
            at, word, deviation = at + size, word + size, deviation + size
    return total


def case(name, seed, parts, rows, likelihood=False):
    torch.manual_seed(seed)
    outputs = sum(sum(size) if kind == "discrete" else size for kind, size in parts)
    x = as_float32(1.5 * torch.randn(rows, outputs, dtype=torch.float64)).requires_grad_()
    numbers = sum(size for kind, size in parts if kind == "continuous")
    free = as_float32(0.5 * torch.randn(numbers, dtype=torch.float64)).requires_grad_()
    labels = []
    for kind, size in parts:
        if kind == "discrete":
            labels += [torch.randint(n, (rows, 1)).double() for n in size]
        elif kind == "binary":
            labels.append(torch.randint(2, (rows, size)).double())
        else:
            labels.append(as_float32(torch.randn(rows, size, dtype=torch.float64)))
    labels = torch.cat(labels, 1)
    weight = as_float32(torch.rand(rows, dtype=torch.float64))
    weight[::5], weight[1::5] = 0, 1
    loss = (weight * loss_of(parts, x, labels, free, likelihood)).sum() / weight.sum()
    loss.backward()
    records = {"rows": rows, "outputs": x.detach(), "actions": labels, "weight": weight,
               "loss": loss.detach(), "d_outputs": x.grad}
    if numbers:
        records["log_deviations"] = free.detach()
        records["d_log_deviations"] = free.grad if free.grad is not None else torch.zeros_like(free)
    write("labels_" + name, records)


def arrays():
    numpy.save(FOLDER / "float32.npy", numpy.arange(12, dtype=numpy.float32).reshape(4, 3) / 8)
    numpy.save(FOLDER / "uint8.npy", numpy.arange(24, dtype=numpy.uint8).reshape(2, 3, 4))
    numpy.save(FOLDER / "int64.npy", numpy.array([3, 0, 1, 2]))
    for version in ((2, 0), (3, 0)):
        with open(FOLDER / f"int32_version{version[0]}.npy", "wb") as file:
            numpy.lib.format.write_array(file, numpy.array([[1, -2], [7, 2**31 - 1]], numpy.int32), version)
    numpy.save(FOLDER / "float64.npy", numpy.zeros((2, 2)))
    numpy.save(FOLDER / "fortran.npy", numpy.asfortranarray(numpy.ones((2, 3), numpy.float32)))
    numpy.save(FOLDER / "records.npy", numpy.zeros(2, dtype=[("a", numpy.float32), ("b", numpy.int32)]))


if __name__ == "__main__":
    case("classes", 1, [("discrete", [5])], 23)
    case("numbers", 2, [("continuous", 3)], 17)
    case("mixed", 3, [("discrete", [3]), ("continuous", 2), ("binary", 2), ("discrete", [2, 4]),
                      ("continuous", 1)], 31)
    case("mixed_likelihood", 4, [("discrete", [3, 2]), ("continuous", 2), ("binary", 1)], 29, True)
    arrays()
