// The one source of the layers' forward kernels, compiled after vector_SET.h for each set
// (dense_kernels_source.h says why nothing but the table is visible outside).
#pragma once

#include "shared/compute/convolution.h"
#include "shared/compute/layer_kernels.h"
#include "shared/compute/layer_norm.h"
#include "shared/compute/max_pool.h"
#include "shared/compute/recurrent.h"
#include "shared/compute/vector_functions.h"
#include "shared/compute/vector_rows.h"

namespace murmurate {
namespace {

void Add(std::size_t count, const float* values, float* sums) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(sums + i, Load(sums + i) + Load(values + i));
  for (; i < count; ++i) sums[i] += values[i];
}

void Widen(std::size_t count, const std::uint8_t* bytes, float* values) {
  constexpr float kScale = 1.0f / 255.0f;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(values + i, LoadBytes(bytes + i) * Splat(kScale));
  for (; i < count; ++i) values[i] = static_cast<float>(bytes[i]) * kScale;
}

template <Epilogue kKind>
void ApplyAll(std::size_t count, const float* output, float* values) {
  constexpr bool kReads = IsGradient(kKind);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    Store(values + i, Apply<kKind>(Load(values + i), kReads ? Load(output + i) : Splat(0.0f)));
  if (i == count) return;
  const Mask part = FirstLanes(static_cast<int>(count - i));
  const Vector y = kReads ? LoadPart(output + i, part) : Splat(0.0f);
  StorePart(values + i, part, Apply<kKind>(LoadPart(values + i, part), y));
}

void RunApply(Epilogue epilogue, std::size_t count, const float* output, float* values) {
  switch (epilogue) {
    case Epilogue::kNone:
      return;
    case Epilogue::kTanh:
      return ApplyAll<Epilogue::kTanh>(count, output, values);
    case Epilogue::kRelu:
      return ApplyAll<Epilogue::kRelu>(count, output, values);
    case Epilogue::kElu:
      return ApplyAll<Epilogue::kElu>(count, output, values);
    case Epilogue::kSigmoid:
      return ApplyAll<Epilogue::kSigmoid>(count, output, values);
    case Epilogue::kTanhGradient:
      return ApplyAll<Epilogue::kTanhGradient>(count, output, values);
    case Epilogue::kReluGradient:
      return ApplyAll<Epilogue::kReluGradient>(count, output, values);
    case Epilogue::kEluGradient:
      return ApplyAll<Epilogue::kEluGradient>(count, output, values);
    case Epilogue::kSigmoidGradient:
      return ApplyAll<Epilogue::kSigmoidGradient>(count, output, values);
  }
}

/// A window that hangs over an edge: what lies outside is zero.
template <typename Element>
void GatherEdge(const Window& w, const Element* image, const Point& point, float* to) {
  const int line = w.kernel.width * w.channels;
  const Span x = Inside(point.x * w.stride.width - w.padding.width, w.kernel.width, w.width);
  const int top = point.y * w.stride.height - w.padding.height;
  for (int ky = 0; ky < w.kernel.height; ++ky, to += line) {
    const int y = top + ky;
    ZeroRow(line, to);
    if (y < 0 || y >= w.height || x.end <= x.begin) continue;
    CopyRow(image + (Stride{y} * w.width + x.start + x.begin) * w.channels,
            (x.end - x.begin) * w.channels, to + Stride{x.begin} * w.channels);
    const int rest = (w.kernel.width - x.end) * w.channels;
    ZeroRow(rest, to + line - rest);  // CopyRow writes whole vectors
  }
}

template <typename Element>
void GatherAll(const PatchCall& call, const Element* input) {
  const Window& w = call.window;
  Point point = PointAt(call.first, call.out);
  float* to = call.patches;
  const Stride across = Stride{w.width} * w.channels;
  const int line = w.kernel.width * w.channels;
  for (int i = 0; i < call.count; ++i, to += call.patch_stride) {
    const Element* const image = input + point.image * call.image_stride;
    const Element* from = Interior(w, point, image);
    if (from == nullptr) GatherEdge(w, image, point, to);
    for (int ky = 0; from != nullptr && ky < w.kernel.height; ++ky, from += across)
      CopyRow(from, line, to + Stride{ky} * line);
    Advance(call.out, &point);
  }
}

void GatherPatches(const PatchCall& call) {
  if (call.bytes != nullptr) return GatherAll(call, call.bytes);
  GatherAll(call, call.input);
}

/// One position, kLanes channels: greatest number and where it was.
template <bool kPart>
inline void PoolChannels(const Window& w, const float* image, Span y, Span x, Mask part,
                         float* output, float* winner) {
  Vector best = Splat(0.0f), where = Splat(0.0f);
  bool any = false;
  for (int ky = y.begin; ky < y.end; ++ky)
    for (int kx = x.begin; kx < x.end; ++kx) {
      const float* const p = image + (Stride{y.start + ky} * w.width + x.start + kx) * w.channels;
      const Vector value = kPart ? LoadPart(p, part) : Load(p);
      const Vector at = Splat(static_cast<float>(ky * w.kernel.width + kx));
      const Mask greater = Greater(value, best);
      best = any ? Max(value, best) : value;
      where = any ? Select(greater, at, where) : at;
      any = true;
    }
  if (kPart)
    StorePart(output, part, best);
  else
    Store(output, best);
  if (winner == nullptr) return;
  if (kPart)
    StorePart(winner, part, where);
  else
    Store(winner, where);
}

void MaxPool(const MaxPoolCall& call) {
  const Window& w = call.window;
  const Extent out = OutputExtent(w);
  const Stride picture = Stride{w.height} * w.width * w.channels;
  Point point = PointAt(0, out);
  float* output = call.output;
  float* winner = call.winner;
  for (int i = call.images * out.height * out.width; i > 0; --i) {
    const int top = point.y * w.stride.height - w.padding.height;
    const int left = point.x * w.stride.width - w.padding.width;
    const Span y = Inside(top, w.kernel.height, w.height),
               x = Inside(left, w.kernel.width, w.width);
    const float* const image = call.input + point.image * picture;
    int c = 0;
    for (; c + kLanes <= w.channels; c += kLanes)
      PoolChannels<false>(w, image + c, y, x, Mask{}, output + c, winner ? winner + c : nullptr);
    if (c < w.channels)
      PoolChannels<true>(w, image + c, y, x, FirstLanes(w.channels - c), output + c,
                         winner ? winner + c : nullptr);
    output += w.channels;
    if (winner != nullptr) winner += w.channels;
    Advance(out, &point);
  }
}

void LayerNorm(const LayerNormCall& call) {
  const int n = call.columns;
  const float share = 1.0f / static_cast<float>(n);
  for (int row = 0; row < call.rows; ++row) {
    const float* const x = call.input + Stride{row} * n;
    float* const y = call.output + Stride{row} * n;
    Vector sum = Splat(0.0f), squares = Splat(0.0f);
    EachPart(n, [&](int j, Mask part) { sum = sum + LoadPart(x + j, part); });
    const float mean = Sum(sum) * share;
    EachPart(n, [&](int j, Mask part) {
      const Vector d = Select(part, LoadPart(x + j, part) - Splat(mean), Splat(0.0f));
      squares = MulAdd(d, d, squares);
    });
    const float scale = 1.0f / __builtin_sqrtf(Sum(squares) * share + 1e-5f);
    EachPart(n, [&](int j, Mask part) {
      const Vector d = (LoadPart(x + j, part) - Splat(mean)) * Splat(scale);
      StorePart(y + j, part,
                MulAdd(d, LoadPart(call.gain + j, part), LoadPart(call.shift + j, part)));
    });
    if (call.kept == nullptr) continue;
    float* const kept = call.kept + 2 * Stride{row};
    kept[0] = mean;
    kept[1] = scale;
  }
}

void LstmCell(const CellCall& call) {
  const Stride n = call.hidden;
  for (int row = 0; row < call.rows; ++row) {
    float* const gates = call.gates + Stride{row} * 4 * n;
    const float* const before = call.before + row * call.before_stride;
    float* const cell = call.cell + row * call.cell_stride;
    float* const output = call.output + row * call.output_stride;
    EachPart(call.hidden, [&](int j, Mask part) {
      const Vector i = Sigmoid(LoadPart(gates + j, part));
      const Vector f = Sigmoid(LoadPart(gates + n + j, part));
      const Vector g = Tanh(LoadPart(gates + 2 * n + j, part));
      const Vector o = Sigmoid(LoadPart(gates + 3 * n + j, part));
      const Vector c = MulAdd(f, LoadPart(before + j, part), i * g), t = Tanh(c);
      StorePart(cell + j, part, c);
      StorePart(output + j, part, o * t);
      if (!call.keep) return;
      StorePart(gates + j, part, i);
      StorePart(gates + n + j, part, f);
      StorePart(gates + 2 * n + j, part, g);
      StorePart(gates + 3 * n + j, part, o);
      StorePart(call.cell_tanh + row * n + j, part, t);
    });
  }
}

void GruCell(const CellCall& call) {
  const Stride n = call.hidden;
  for (int row = 0; row < call.rows; ++row) {
    float* const gates = call.gates + Stride{row} * 3 * n;
    float* const candidate = call.candidate + Stride{row} * 3 * n;
    const float* const before = call.before + row * call.before_stride;
    float* const output = call.output + row * call.output_stride;
    EachPart(call.hidden, [&](int j, Mask part) {
      const Vector r = Sigmoid(LoadPart(gates + j, part) + LoadPart(candidate + j, part));
      const Vector z = Sigmoid(LoadPart(gates + n + j, part) + LoadPart(candidate + n + j, part));
      const Vector q = LoadPart(candidate + 2 * n + j, part) + LoadPart(call.hidden_bias + j, part);
      const Vector m = Tanh(MulAdd(r, q, LoadPart(gates + 2 * n + j, part)));
      const Vector h = LoadPart(before + j, part);
      StorePart(output + j, part, MulAdd(z, h - m, m));
      if (!call.keep) return;
      StorePart(gates + j, part, r);
      StorePart(gates + n + j, part, z);
      StorePart(gates + 2 * n + j, part, m);
      StorePart(candidate + 2 * n + j, part, q);
    });
  }
}

}  // namespace

constinit const LayerKernels LayerKernels::MURMURATE_KERNEL_SET = {
    &DenseKernels::MURMURATE_KERNEL_SET,
    RunApply,
    Add,
    Widen,
    GatherPatches,
    MaxPool,
    LayerNorm,
    {LstmCell, GruCell}};

}  // namespace murmurate
