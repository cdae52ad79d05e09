#!/usr/bin/env python3
"""Writes tests/fixtures/torch_import.safetensors: a PyTorch module's state_dict as its user would save it, with what
the module computes of random pictures ("test.pictures" [step][batch][height][width][channels], "test.outputs").

Needs torch and safetensors:  scripts/make_torch_import_fixtures.py tests/fixtures/torch_import.safetensors
"""

import sys

import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(3)
STEPS, BATCH, SIDE, CHANNELS = 4, 2, 6, 2


class Actor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(CHANNELS, 3, 3)
        self.conv2 = nn.Conv2d(3, 4, 2, stride=2)
        self.norm = nn.LayerNorm(16)
        self.fc1 = nn.Linear(16, 16)
        self.lstm = nn.LSTM(16, 5)
        self.gru = nn.GRU(5, 6)
        self.out = nn.Linear(6, 3)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        steps, batch = pictures.shape[:2]
        x = pictures.flatten(0, 1).permute(0, 3, 1, 2)
        x = torch.relu(self.conv1(x))
        x = torch.tanh(self.conv2(x)).flatten(1)
        x = self.norm(x)
        x = x + torch.tanh(self.fc1(x))
        x, _ = self.lstm(x.unflatten(0, (steps, batch)))
        x, _ = self.gru(x)
        return self.out(x)


actor = Actor()
for parameter in actor.parameters():
    nn.init.normal_(parameter, std=0.4)
given = torch.randn(STEPS, BATCH, SIDE, SIDE, CHANNELS)
with torch.no_grad():
    tensors = {"actor." + name: tensor.contiguous() for name, tensor in actor.state_dict().items()}
    tensors |= {"test.pictures": given, "test.outputs": actor(given).contiguous()}
save_file(tensors, sys.argv[1])
