// The one source of the layers' backward kernels, compiled after vector_SET.h for each set
// (dense_kernels_source.h says why nothing but the table is visible outside).
#pragma once

#include "server/compute/convolution_gradient.h"
#include "server/compute/layer_gradient_kernels.h"
#include "server/compute/pool_and_norm_gradient.h"
#include "server/compute/recurrent_sequence.h"
#include "shared/compute/vector_rows.h"

namespace murmurate {
namespace {

/// A window that hangs over an edge.
void AddEdge(const Window& w, const float* from, const Point& point, float* image) {
  const int line = w.kernel.width * w.channels;
  const Span x = Inside(point.x * w.stride.width - w.padding.width, w.kernel.width, w.width);
  if (x.end <= x.begin) return;
  const int top = point.y * w.stride.height - w.padding.height;
  for (int ky = 0; ky < w.kernel.height; ++ky, from += line) {
    const int y = top + ky;
    if (y < 0 || y >= w.height) continue;
    AddRow(from + Stride{x.begin} * w.channels, (x.end - x.begin) * w.channels,
           image + (Stride{y} * w.width + x.start + x.begin) * w.channels);
  }
}

void AddPatches(const PatchSumCall& call) {
  const Window& w = call.window;
  const Stride picture = Stride{w.height} * w.width * w.channels;
  Point point = PointAt(call.first, call.out);
  const float* from = call.patches;
  const Stride across = Stride{w.width} * w.channels;
  const int line = w.kernel.width * w.channels;
  for (int i = 0; i < call.count; ++i, from += call.patch_stride) {
    float* const image = call.sums + point.image * picture;
    float* to = Interior(w, point, image);
    if (to == nullptr) AddEdge(w, from, point, image);
    for (int ky = 0; to != nullptr && ky < w.kernel.height; ++ky, to += across)
      AddRow(from + Stride{ky} * line, line, to);
    Advance(call.out, &point);
  }
}

/// Hands one position's gradients to the numbers that won.
void UnpoolPosition(const Window& w, const Point& point, const float* winner, const float* dy,
                    float* image) {
  const int top = point.y * w.stride.height - w.padding.height;
  const int left = point.x * w.stride.width - w.padding.width;
  const Span y = Inside(top, w.kernel.height, w.height), x = Inside(left, w.kernel.width, w.width);
  for (int ky = y.begin; ky < y.end; ++ky)
    for (int kx = x.begin; kx < x.end; ++kx) {
      const Vector at = Splat(static_cast<float>(ky * w.kernel.width + kx));
      float* const dx = image + (Stride{top + ky} * w.width + left + kx) * w.channels;
      EachPart(w.channels, [&](int c, Mask part) {
        const Mask won = Equal(LoadPart(winner + c, part), at);
        const Vector d = Select(won, LoadPart(dy + c, part), Splat(0.0f));
        StorePart(dx + c, part, LoadPart(dx + c, part) + d);
      });
    }
}

void MaxPoolGradient(const MaxPoolBackwardCall& call) {
  const Window& w = call.window;
  const Extent out = OutputExtent(w);
  const Stride picture = Stride{w.height} * w.width * w.channels;
  Point point = PointAt(0, out);
  const int positions = out.height * out.width;
  for (int i = 0; i < call.images * positions; ++i) {
    float* const image = call.d_input + point.image * picture;
    if (point.y == 0 && point.x == 0) ZeroRow(static_cast<int>(picture), image);
    const Stride at = Stride{i} * w.channels;
    UnpoolPosition(w, point, call.winner + at, call.d_output + at, image);
    Advance(out, &point);
  }
}

/// dx = scale (e - mean(e) - d mean(e d)), e = gain dy, d the normalized x.
void LayerNormGradient(const LayerNormBackwardCall& call) {
  const int n = call.columns;
  const float share = 1.0f / static_cast<float>(n);
  for (int row = 0; row < call.rows; ++row) {
    const float* const x = call.input + Stride{row} * n;
    const float* const dy = call.d_output + Stride{row} * n;
    float* const dx = call.d_input + Stride{row} * n;
    const float* const kept = call.kept + 2 * Stride{row};
    const Vector mean = Splat(kept[0]), scale = Splat(kept[1]);
    Vector sum = Splat(0.0f), product = Splat(0.0f);
    EachPart(n, [&](int j, Mask part) {
      const Vector d = (LoadPart(x + j, part) - mean) * scale, dy_j = LoadPart(dy + j, part);
      const Vector e = dy_j * LoadPart(call.gain + j, part);
      sum = sum + e;
      product = MulAdd(e, d, product);
      StorePart(call.d_gain + j, part, MulAdd(dy_j, d, LoadPart(call.d_gain + j, part)));
      StorePart(call.d_shift + j, part, dy_j + LoadPart(call.d_shift + j, part));
    });
    const Vector mean_e = Splat(Sum(sum) * share), mean_ed = Splat(Sum(product) * share);
    EachPart(n, [&](int j, Mask part) {
      const Vector d = (LoadPart(x + j, part) - mean) * scale;
      const Vector e = LoadPart(dy + j, part) * LoadPart(call.gain + j, part);
      StorePart(dx + j, part, scale * (e - mean_e - d * mean_ed));
    });
  }
}

void LstmCellGradient(const CellGradientCall& call) {
  const Stride n = call.hidden;
  const Vector one = Splat(1.0f);
  for (int row = 0; row < call.rows; ++row) {
    float* const gates = call.gates + Stride{row} * 4 * n;
    const Stride at = row * n;
    EachPart(call.hidden, [&](int j, Mask part) {
      const auto load = [&](const float* p) { return LoadPart(p + at + j, part); };
      const Vector i = LoadPart(gates + j, part), f = LoadPart(gates + n + j, part);
      const Vector g = LoadPart(gates + 2 * n + j, part), o = LoadPart(gates + 3 * n + j, part);
      const Vector t = load(call.cell_tanh), dh = load(call.d_output) + load(call.d_hidden);
      const Vector dc = MulAdd(dh * o, one - t * t, load(call.d_cell));
      StorePart(gates + j, part, dc * g * (i * (one - i)));
      StorePart(gates + n + j, part, dc * load(call.before) * (f * (one - f)));
      StorePart(gates + 2 * n + j, part, dc * i * (one - g * g));
      StorePart(gates + 3 * n + j, part, dh * t * (o * (one - o)));
      StorePart(call.d_cell + at + j, part, dc * f);
    });
  }
}

void GruCellGradient(const CellGradientCall& call) {
  const Stride n = call.hidden;
  const Vector one = Splat(1.0f);
  for (int row = 0; row < call.rows; ++row) {
    float* const gates = call.gates + Stride{row} * 3 * n;
    float* const candidate = call.candidate + Stride{row} * 3 * n;
    const Stride at = row * n;
    EachPart(call.hidden, [&](int j, Mask part) {
      const auto load = [&](const float* p) { return LoadPart(p + at + j, part); };
      const Vector r = LoadPart(gates + j, part), z = LoadPart(gates + n + j, part);
      const Vector m = LoadPart(gates + 2 * n + j, part);
      const Vector q = LoadPart(candidate + 2 * n + j, part);
      const Vector dh = load(call.d_output) + load(call.d_hidden);
      const Vector dm = dh * (one - z) * (one - m * m);
      const Vector dz = dh * (load(call.before) - m) * (z * (one - z));
      const Vector dr = dm * q * (r * (one - r));
      StorePart(gates + j, part, dr);
      StorePart(gates + n + j, part, dz);
      StorePart(gates + 2 * n + j, part, dm);
      StorePart(candidate + j, part, dr);
      StorePart(candidate + n + j, part, dz);
      StorePart(candidate + 2 * n + j, part, dm * r);
      StorePart(call.d_hidden + at + j, part, dh * z);
    });
  }
}

}  // namespace

constinit const LayerGradientKernels LayerGradientKernels::MURMURATE_KERNEL_SET = {
    &LayerKernels::MURMURATE_KERNEL_SET,
    AddPatches,
    MaxPoolGradient,
    LayerNormGradient,
    {LstmCellGradient, GruCellGradient}};

}  // namespace murmurate
