#!/usr/bin/env python3
"""Finds the constants of shared/core/pink_noise.cc and prints them; needs NumPy and SciPy.

A section with the pole a turns (state, input) by the rotation [[a, s], [s, -a]], s = sqrt(1 - a^2):
its first result is its next state, its second goes into the next section. All states and what
leaves the last section are independent and of variance 1, so weights of length 1 give a sum of
variance 1. The poles lie evenly in the logarithm of their frequency; the weights make the sum's
power as near to 1/f as least squares of its logarithm can, from 1/1000 cycles a step to 1/2.
"""

import numpy as np
from scipy.optimize import least_squares

SECTIONS, LOWEST = 5, 1 / 1000
frequency = np.logspace(np.log10(LOWEST), np.log10(0.5), 600)
rates = np.logspace(np.log10(2 * np.pi * 0.7 * LOWEST), np.log10(2 * np.pi * 0.3), SECTIONS)
poles = np.exp(-rates)

later = np.exp(-2j * np.pi * frequency)  # a step's delay
signal, responses = np.ones_like(later), []
for pole in poles:
    change = np.sqrt(1 - pole**2)
    state = change * signal / (1 - pole * later)
    signal = change * later * state - pole * signal
    responses.append(state)
responses = np.array([*responses, signal])


def error(weights):
    power = np.log(np.abs(weights @ responses) ** 2 * frequency)
    return power - power.mean()


# First, sections side by side with the weights of 1 / sqrt(f), as a sum of the chain's states.
wanted = sum(np.sqrt(rate) / (1 - pole * later) for rate, pole in zip(rates, poles))
scale = 1 / np.abs(wanted)
parts = np.concatenate([responses.real * scale, responses.imag * scale], axis=1).T
first = np.linalg.lstsq(parts, np.concatenate([wanted.real * scale, wanted.imag * scale]), rcond=None)[0]
weights = least_squares(error, first / np.linalg.norm(first), max_nfev=5000).x
weights *= np.sign(weights[0]) / np.linalg.norm(weights)
print("keep  ", ", ".join(f"{pole:.6f}" for pole in poles))
print("weight", ", ".join(f"{weight:.6f}" for weight in weights))
print(f"off 1/f by at most {10 * np.log10(np.e) * np.abs(error(weights)).max():.2f} dB")
