// The examples parabola, parabola-sync and parabola-mpi: 2,000 steps of plain gradient descent on the
// same 50 points by one process, by five around a parameter server and by five ranks of MPI. Their
// weights are those of the arithmetic below, which is written down from the formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "shared/model/safetensors.h"
#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

constexpr int kHidden = 5, kPoints = 50, kSteps = 2000;
constexpr double kSame = 1e-6;

/// y^ = sum_j v_j tanh(w_j x + b_j) + c
template <typename T>
struct Network {
  std::array<T, kHidden> w{}, b{}, v{};
  T c = 0;

  std::array<T, 3 * kHidden + 1> All() const {
    std::array<T, 3 * kHidden + 1> all{};
    for (std::size_t j = 0; j < kHidden; ++j) {
      all[3 * j] = w[j];
      all[3 * j + 1] = b[j];
      all[3 * j + 2] = v[j];
    }
    all.back() = c;
    return all;
  }
};

float Point(int i) { return static_cast<float>(-2.0 + 4.0 * i / (kPoints - 1)); }

/// The mean squared error; where `gradient` is given, also its derivative.
template <typename T>
T MeanSquaredError(const Network<T>& network, Network<T>* gradient) {
  T sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    const T x = Point(i), y = Point(i) * Point(i);
    std::array<T, kHidden> h{};
    T error = network.c - y;
    for (std::size_t j = 0; j < kHidden; ++j) {
      h[j] = std::tanh(network.w[j] * x + network.b[j]);
      error += network.v[j] * h[j];
    }
    sum += error * error;
    if (gradient == nullptr) continue;
    const T d = 2 * error / kPoints;
    for (std::size_t j = 0; j < kHidden; ++j) {
      const T inner = d * network.v[j] * (1 - h[j] * h[j]);
      gradient->w[j] += inner * x;
      gradient->b[j] += inner;
      gradient->v[j] += d * h[j];
    }
    gradient->c += d;
  }
  return sum / kPoints;
}

template <typename T>
Network<T> Descend(const Network<float>& from) {
  Network<T> network;
  for (std::size_t j = 0; j < kHidden; ++j) {
    network.w[j] = from.w[j];
    network.b[j] = from.b[j];
    network.v[j] = from.v[j];
  }
  network.c = from.c;
  for (int step = 0; step < kSteps; ++step) {
    Network<T> gradient;
    (void)MeanSquaredError(network, &gradient);
    for (std::size_t j = 0; j < kHidden; ++j) {
      network.w[j] -= T(0.01) * gradient.w[j];
      network.b[j] -= T(0.01) * gradient.b[j];
      network.v[j] -= T(0.01) * gradient.v[j];
    }
    network.c -= T(0.01) * gradient.c;
  }
  return network;
}

template <typename T>
double Distance(const Network<float>& one, const Network<T>& other) {
  double most = 0;
  for (std::size_t i = 0; i < one.All().size(); ++i)
    most = std::max(
        most, std::abs(static_cast<double>(one.All()[i]) - static_cast<double>(other.All()[i])));
  return most;
}

class Parabola : public testing::Test {
 protected:
  Network<float> WeightsOf(const std::string& run) const {
    const std::string bytes =
        place_.Read("runs/" + run + "/checkpoints/latest/weights.safetensors");
    const auto file = ParseSafetensors(std::as_bytes(std::span(bytes.data(), bytes.size())));
    Network<float> network;
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok()) return network;
    const auto copy = [&](const char* name, auto* to) {
      const NamedTensor* const tensor = file->Find(name);
      ASSERT_NE(tensor, nullptr) << name;
      ASSERT_EQ(tensor->values.size(), to->size()) << name;
      std::copy(tensor->values.begin(), tensor->values.end(), to->begin());
    };
    std::array<float, 1> c{};
    copy("policy.0.weight", &network.w);
    copy("policy.0.bias", &network.b);
    copy("policy.head.weight", &network.v);
    copy("policy.head.bias", &c);
    network.c = c[0];
    return network;
  }

  void Train(const std::vector<std::string>& arguments) const {
    const Ran ran = RunMurmurate(place_.path(), arguments, 100);
    ASSERT_EQ(ran.code, 0) << ran.errors;
    EXPECT_EQ(place_.LeftBehind(), "");
  }

  /// The weights that each run begins with: those after a step that is too small to change them.
  Network<float> InitialWeights() const {
    Train({"train", "parabola", "--quiet", "--set", "run.name=initial", "--set", "data.passes=1",
           "--set", "optimizer.learning_rate=1e-10"});
    return WeightsOf("initial");
  }

  Workplace place_;
};

TEST_F(Parabola, OneProcessAndFiveAroundAShardDescendAsTheFormulasSay) {
  const Network<float> initial = InitialWeights();
  Train({"train", "parabola", "--quiet"});
  Train({"train", "parabola-sync", "--quiet"});
  const Network<float> one = WeightsOf("parabola"), five = WeightsOf("parabola-sync");
  EXPECT_LT(Distance(one, five), kSame);
  const auto expected = Descend<float>(initial);
  EXPECT_LT(Distance(one, expected), kSame);
  EXPECT_LT(Distance(five, expected), kSame);
  // Rounding to float32 adds up over 2,000 steps: this is its size, and no error of the arithmetic.
  EXPECT_LT(Distance(one, Descend<double>(initial)), 4 * kSame);
  EXPECT_NEAR(MeanSquaredError(one, static_cast<Network<float>*>(nullptr)), 0.0214, 1e-4);
  EXPECT_GT(Distance(one, initial), 0.5);
}

TEST_F(Parabola, FiveRanksOfMpiDescendAsTheFormulasSay) {
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  if (kSanitized) setenv("LSAN_OPTIONS", "detect_leaks=0", 1);  // MPI keeps memory to its end
  const Network<float> initial = InitialWeights();
  Process train(place_.path(), {"train", "parabola-mpi", "--quiet"},
                {"mpirun", "--oversubscribe", "--mca", "btl", "self,vader", "--mca",
                 "oob_tcp_if_include", "lo", "-n", "5"});
  ASSERT_EQ(train.Wait(100), 0) << train.Errors();
  EXPECT_LT(Distance(WeightsOf("parabola-mpi"), Descend<float>(initial)), kSame);
  EXPECT_EQ(WeightsOf("parabola-mpi").All(), WeightsOf("parabola-mpi/learner-4").All());
}

}  // namespace
}  // namespace murmurate
