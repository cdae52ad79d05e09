#!/usr/bin/env python3
"""Writes tests/fixtures/torch_layer_*.txt: what PyTorch says that shared/compute's layers must give.

Run where torch is installed (python3 scripts/make_torch_layer_fixtures.py); the tests read the files
only. Everything is computed in float64 from numbers that float32 holds exactly. The format is that of
make_torch_fixtures.py. Pictures are written NHWC, weights in our order; "d.NAME" is the gradient of
sum(output * d.output) with respect to NAME.
"""
import torch
import torch.nn.functional as F

from make_torch_fixtures import as_float32, write


def normal(*shape, scale=1.0):
    return as_float32(scale * torch.randn(*shape, dtype=torch.float64)).requires_grad_()


def backward(records, output, leaves):
    d_output = as_float32(torch.randn_like(output))
    (output * d_output).sum().backward()
    records |= {"output": output.detach(), "d.output": d_output}
    for name, leaf in leaves.items():
        records |= {name: leaf.detach(), "d." + name: leaf.grad}


def convolution(name, seed, images, height, width, channels, filters, kernel, stride, padding):
    torch.manual_seed(seed)
    x = normal(images, height, width, channels)
    weight = normal(kernel[0] * kernel[1] * channels, filters, scale=0.3)
    bias = normal(filters, scale=0.1)
    theirs = weight.reshape(*kernel, channels, filters).permute(3, 2, 0, 1)
    y = F.conv2d(x.permute(0, 3, 1, 2), theirs, bias, stride, padding).permute(0, 2, 3, 1)
    records = {"shape": [images, height, width, channels, filters, *kernel, *stride, *padding]}
    backward(records, y, {"input": x, "weight": weight, "bias": bias})
    write("layer_" + name, records)


def pool(name, seed, images, height, width, channels, kernel, stride, padding):
    torch.manual_seed(seed)
    # Few different numbers: equal ones show which of them wins.
    x = torch.randint(0, 7, (images, height, width, channels)).to(torch.float64).requires_grad_()
    y = F.max_pool2d(x.permute(0, 3, 1, 2), kernel, stride, padding).permute(0, 2, 3, 1)
    records = {"shape": [images, height, width, channels, 0, *kernel, *stride, *padding]}
    backward(records, y, {"input": x})
    write("layer_" + name, records)


def layer_norm(name, seed, rows, columns):
    torch.manual_seed(seed)
    x, gain, shift = normal(rows, columns), normal(columns), normal(columns)
    records = {"shape": [rows, columns]}
    backward(records, F.layer_norm(x, (columns,), gain, shift, 1e-5),
             {"input": x, "gain": gain, "shift": shift})
    write("layer_" + name, records)


def recurrent(name, seed, kind, steps, rows, inputs, hidden, first):
    """torch.nn.LSTM or GRU one step at a time, its state zeroed where an episode begins."""
    torch.manual_seed(seed)
    gates, states = (4, 2) if kind == "lstm" else (3, 1)
    x = normal(steps, rows, inputs)
    w = normal(inputs, gates * hidden, scale=0.4)
    u = normal(hidden, gates * hidden, scale=0.4)
    bias, hidden_bias = normal(gates * hidden, scale=0.3), normal(hidden, scale=0.3)
    state0 = normal(rows, states * hidden)
    module = (torch.nn.LSTM if kind == "lstm" else torch.nn.GRU)(inputs, hidden).double()
    second = torch.zeros(gates * hidden, dtype=torch.float64)
    if kind == "gru":
        second = torch.cat([second[:2 * hidden], hidden_bias])
    theirs = {"weight_ih_l0": w.T, "weight_hh_l0": u.T, "bias_ih_l0": bias, "bias_hh_l0": second}
    state = [s[None] for s in state0.split(hidden, 1)]
    outputs = []
    for t in range(steps):
        state = [s * (1 - first[t][None, :, None]) for s in state]
        given = tuple(s.contiguous() for s in state) if kind == "lstm" else state[0].contiguous()
        y, after = torch.func.functional_call(module, theirs, (x[t:t + 1].contiguous(), given))
        state = list(after) if kind == "lstm" else [after]
        outputs.append(y[0])
    last = torch.cat([s[0] for s in state], 1)
    output = torch.cat([torch.stack(outputs).reshape(-1), last.reshape(-1)])
    leaves = {"x": x, "input_weight": w, "hidden_weight": u, "bias": bias, "state0": state0}
    if kind == "gru":
        leaves["hidden_bias"] = hidden_bias
    records = {"shape": [steps, rows, inputs, hidden], "first": first}
    backward(records, output, leaves)  # output: [T][B][H], then the last state
    write("layer_" + name, records)


def activations():
    x = torch.cat([torch.linspace(-20, 20, 161, dtype=torch.float64),
                   torch.tensor([-1e-3, 1e-3, -1e-6, 1e-6, -100, 100], dtype=torch.float64)])
    x = as_float32(x)
    write("layer_activations", {"input": x, "elu": F.elu(x), "sigmoid": torch.sigmoid(x)})


if __name__ == "__main__":
    torch.set_num_threads(1)
    convolution("conv_odd", 1, 2, 7, 6, 3, 5, (3, 2), (2, 1), (1, 0))
    convolution("conv_one", 2, 1, 9, 9, 2, 17, (3, 3), (1, 1), (1, 1))
    convolution("conv_wide_padding", 3, 1, 3, 4, 1, 4, (3, 5), (2, 3), (2, 2))
    pool("pool_impala", 4, 2, 7, 6, 5, (3, 3), (2, 2), (1, 1))
    pool("pool_even", 5, 1, 6, 8, 17, (2, 2), (2, 2), (0, 0))
    pool("pool_oblong", 6, 1, 5, 7, 3, (2, 3), (1, 2), (1, 0))
    layer_norm("norm", 7, 5, 19)
    layer_norm("norm_one", 8, 1, 33)
    some = torch.zeros(6, 3, dtype=torch.float64)
    some[0, 1] = some[3, 0] = some[3, 2] = some[5, 1] = 1
    none = torch.zeros(4, 1, dtype=torch.float64)
    for kind in ("lstm", "gru"):
        recurrent(kind + "_resets", 9, kind, 6, 3, 5, 7, some)
        recurrent(kind + "_one", 10, kind, 4, 1, 3, 17, none)
    activations()
