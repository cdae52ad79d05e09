#pragma once

#include "server/compute/device/calls/recurrent.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/layers.h"
#include "server/compute/device/kernels/walk.h"

namespace murmurate {

MURMURATE_DEVICE float SigmoidOf(float x) { return Activated(DeviceActivation::kSigmoid, x); }

MURMURATE_DEVICE bool Begins(const std::uint8_t* first, std::size_t lane) {
  return first != nullptr && first[lane] != 0;
}

MURMURATE_KERNEL(RecurrentStart) {
  EachOfMatrix(call.lanes, call.hidden, [&](std::size_t i, std::size_t lane, int unit) {
    const bool zero = call.state0 == nullptr || Begins(call.first, lane);
    const float* const state = zero ? nullptr : call.state0 + lane * call.state_stride + unit;
    call.hidden_before[i] = zero ? 0.0f : state[0];
    if (call.cell_before != nullptr) call.cell_before[i] = zero ? 0.0f : state[call.hidden];
  });
}

MURMURATE_KERNEL(LstmStep) {
  EachOfMatrix(call.lanes, call.hidden, [&](std::size_t at, std::size_t lane, int unit) {
    const int n = call.hidden;
    float* const gates = call.gates + lane * 4 * n + unit;
    const float* const bias = call.bias + unit;
    const float i = SigmoidOf(gates[0] + bias[0]), f = SigmoidOf(gates[n] + bias[n]);
    const float g = tanhf(gates[2 * n] + bias[2 * n]), o = SigmoidOf(gates[3 * n] + bias[3 * n]);
    const float c = f * call.before[at] + i * g, t = tanhf(c), h = o * t;
    gates[0] = i;
    gates[n] = f;
    gates[2 * n] = g;
    gates[3 * n] = o;
    call.cell[at] = c;
    call.cell_tanh[at] = t;
    call.output[at] = h;
    if (call.next.hidden_before == nullptr) return;
    const bool zero = Begins(call.next.first, lane);
    call.next.hidden_before[at] = zero ? 0.0f : h;
    call.next.cell_before[at] = zero ? 0.0f : c;
  });
}

MURMURATE_KERNEL(GruStep) {
  EachOfMatrix(call.lanes, call.hidden, [&](std::size_t at, std::size_t lane, int unit) {
    const int n = call.hidden;
    float* const gates = call.gates + lane * 3 * n + unit;
    float* const candidate = call.candidate + lane * 3 * n + unit;
    const float* const bias = call.bias + unit;
    const float r = SigmoidOf(gates[0] + bias[0] + candidate[0]);
    const float z = SigmoidOf(gates[n] + bias[n] + candidate[n]);
    const float q = candidate[2 * n] + call.hidden_bias[unit];
    const float m = tanhf(gates[2 * n] + bias[2 * n] + r * q);
    const float h = m + z * (call.before[at] - m);
    gates[0] = r;
    gates[n] = z;
    gates[2 * n] = m;
    candidate[2 * n] = q;
    call.output[at] = h;
    if (call.next.hidden_before == nullptr) return;
    call.next.hidden_before[at] = Begins(call.next.first, lane) ? 0.0f : h;
  });
}

MURMURATE_DEVICE bool Passes(const HandedBack& after, std::size_t lane) {
  return !after.none && !Begins(after.first, lane);
}

MURMURATE_KERNEL(LstmStepBack) {
  EachOfMatrix(call.lanes, call.hidden, [&](std::size_t at, std::size_t lane, int unit) {
    const int n = call.hidden;
    float* const gates = call.gates + lane * 4 * n + unit;
    const float i = gates[0], f = gates[n], g = gates[2 * n], o = gates[3 * n];
    const bool passes = Passes(call.after, lane);
    const float t = call.cell_tanh[at];
    const float dh = call.d_output[at] + (passes ? call.d_hidden[at] : 0.0f);
    const float dc = dh * o * (1.0f - t * t) + (passes ? call.d_cell[at] : 0.0f);
    gates[0] = dc * g * (i * (1.0f - i));
    gates[n] = dc * call.before[at] * (f * (1.0f - f));
    gates[2 * n] = dc * i * (1.0f - g * g);
    gates[3 * n] = dh * t * (o * (1.0f - o));
    call.d_cell[at] = dc * f;
  });
}

MURMURATE_KERNEL(GruStepBack) {
  EachOfMatrix(call.lanes, call.hidden, [&](std::size_t at, std::size_t lane, int unit) {
    const int n = call.hidden;
    float* const gates = call.gates + lane * 3 * n + unit;
    float* const candidate = call.candidate + lane * 3 * n + unit;
    const float r = gates[0], z = gates[n], m = gates[2 * n], q = candidate[2 * n];
    const float dh = call.d_output[at] + (Passes(call.after, lane) ? call.d_hidden[at] : 0.0f);
    const float dm = dh * (1.0f - z) * (1.0f - m * m);
    const float dz = dh * (call.before[at] - m) * (z * (1.0f - z));
    const float dr = dm * q * (r * (1.0f - r));
    gates[0] = dr;
    gates[n] = dz;
    gates[2 * n] = dm;
    candidate[0] = dr;
    candidate[n] = dz;
    candidate[2 * n] = dm * r;
    call.d_hidden[at] = dh * z;
  });
}

MURMURATE_KERNEL(RecurrentEnd) {
  EachOfMatrix(call.lanes, call.hidden, [&](std::size_t i, std::size_t lane, int unit) {
    float* const state = call.state_out + lane * call.state_stride + unit;
    state[0] = call.output[i];
    if (call.cell != nullptr) state[call.hidden] = call.cell[i];
  });
}

}  // namespace murmurate
