#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/core/check.h"
#include "shared/network/actor_critic.h"

namespace murmurate {
namespace {

/// Four partial sums in a fixed order: the compiler may use vectors and the result never changes.
double Dot(const double* a, const double* b, int n) {
  double sum[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int lane = 0; lane < 4; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// `count` orthonormal vectors of length n >= count, drawn uniformly: modified Gram-Schmidt over
/// Gaussian vectors, in double (a condition number of 1e6, rare, leaves errors of 1e-10).
std::vector<double> OrthonormalVectors(int count, int n, Random& random) {
  std::vector<double> q(static_cast<std::size_t>(count) * n);
  for (double& x : q) x = random.Normal();
  for (int v = 0; v < count; ++v) {
    double* x = q.data() + static_cast<std::size_t>(v) * n;
    for (int u = 0; u < v; ++u) {
      const double* y = q.data() + static_cast<std::size_t>(u) * n;
      const double along = Dot(x, y, n);
      for (int i = 0; i < n; ++i) x[i] -= along * y[i];
    }
    const double length = std::sqrt(Dot(x, x, n));
    for (int i = 0; i < n; ++i) x[i] /= length;
  }
  return q;
}

/// weight [inputs][outputs]: the shorter side's vectors are orthogonal, each of length `gain`.
void FillOrthogonal(int inputs, int outputs, double gain, Random& random, float* weight) {
  const int count = std::min(inputs, outputs), n = std::max(inputs, outputs);
  const std::vector<double> q = OrthonormalVectors(count, n, random);
  for (int i = 0; i < inputs; ++i)
    for (int j = 0; j < outputs; ++j) {
      const std::size_t vector = inputs < outputs ? i : j, element = inputs < outputs ? j : i;
      weight[static_cast<std::size_t>(i) * outputs + j] =
          static_cast<float>(gain * q[vector * n + element]);
    }
}

double GainOf(const std::string& name) {
  if (name == "policy.head.weight") return 0.01;
  return name == "critic.head.weight" ? 1.0 : std::sqrt(2.0);
}

}  // namespace

void InitializeParameters(const ModelSpec& spec, std::uint64_t seed, std::span<float> parameters) {
  const ParameterLayout layout(spec);
  MURMURATE_CHECK(parameters.size() == layout.total, "another layout's parameters");
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  std::uint64_t index = 0;
  for (const TensorSlot& slot : layout.tensors) {
    float* const values = parameters.data() + slot.offset;
    if (slot.section != Section::kStatistics && slot.shape.size() == 2) {
      Random random(DeriveSeed(seed, index++));
      FillOrthogonal(slot.shape[0], slot.shape[1], GainOf(slot.name), random, values);
    } else if (slot.name == "statistics.observation.variance") {
      std::fill_n(values, slot.count, 1.0f);
    }
  }
}

void UpdateObservationStatistics(const ModelSpec& spec, std::span<const float> observations,
                                 std::span<const float> weights, std::span<float> parameters) {
  if (!spec.normalize_observation) return;
  const ParameterLayout layout(spec);
  const std::size_t size = spec.spaces.observation.element_count();
  MURMURATE_CHECK(observations.size() == weights.size() * size, "one weight for each observation");
  float& count = parameters[layout.Find("statistics.observation.count").offset];
  float* const mean = parameters.data() + layout.Find("statistics.observation.mean").offset;
  float* const variance = parameters.data() + layout.Find("statistics.observation.variance").offset;
  std::vector<double> sum(size), squares(size);
  double rows = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    rows += 1;
    for (std::size_t j = 0; j < size; ++j) sum[j] += observations[i * size + j];
  }
  if (rows == 0) return;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    for (std::size_t j = 0; j < size; ++j) {
      const double d = observations[i * size + j] - sum[j] / rows;
      squares[j] += d * d;
    }
  }
  const double before = count, total = before + rows;
  for (std::size_t j = 0; j < size; ++j) {
    const double delta = sum[j] / rows - mean[j];
    const double m2 = variance[j] * before + squares[j] + delta * delta * before * rows / total;
    mean[j] = static_cast<float>(mean[j] + delta * rows / total);
    variance[j] = static_cast<float>(m2 / total);
  }
  count = static_cast<float>(std::min(total, 0x1p24));
}

}  // namespace murmurate
