#include "server/measure/bench_kinds.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "server/compute/gemm.h"
#include "server/learn/algorithms.h"
#include "server/measure/acting.h"
#include "server/measure/batch_learning.h"
#include "server/measure/limits.h"
#include "server/measure/message_echo.h"
#include "server/measure/policy_forward.h"
#include "server/measure/replay_insertion.h"
#include "server/measure/replay_updates.h"
#include "server/measure/weights_exchange.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

using Made = Result<std::unique_ptr<Bench>>;

constexpr int kRounds = 8;
constexpr double kRoundSeconds = 1e-3;
constexpr int kLeastSamples = 3;

class FunctionBench : public Bench {
 public:
  explicit FunctionBench(std::function<BenchSample()> measure) : measure_(std::move(measure)) {}
  BenchSample Measure() override { return measure_(); }

 private:
  const std::function<BenchSample()> measure_;
};

Made BenchOf(std::function<BenchSample()> measure) {
  return std::unique_ptr<Bench>(std::make_unique<FunctionBench>(std::move(measure)));
}

double Seconds(const std::function<void()>& call) {
  return SecondsPerCall(call, kRounds, kRoundSeconds);
}

/// Operations a second in units of a billion, beside those of the peak.
BenchSample OfPeak(double flops, double seconds) {
  return {flops / seconds * 1e-9, MeasureFmaPeak() * 1e-9};
}

/// Microseconds, beside those of the products at the peak.
BenchSample TimeAtPeak(double flops, double seconds) {
  return {seconds * 1e6, flops / MeasureFmaPeak() * 1e6};
}

Made MakeAct() {
  auto acting = Acting::Make();
  if (!acting.ok()) return acting.status();
  return BenchOf([acting = std::shared_ptr<Acting>(*std::move(acting))] {
    return TimeAtPeak(acting->flops(), Seconds([&] { acting->Step(); }));
  });
}

Made MakeForward() {
  return BenchOf([forward = std::make_shared<PolicyForward>(PolicyForwardShape{4, 64, 2, 64})] {
    return OfPeak(forward->flops(), Seconds([&] { forward->Call(); }));
  });
}

Made MakeGemm() {
  constexpr int kSide = 256;
  constexpr std::size_t kFloats = std::size_t{kSide} * kSide;
  auto memory = std::make_shared<AlignedFloats>(3 * kFloats);
  for (float& number : *memory) number = 0.5f;
  float* const a = memory->data();
  const GemmCall call{.rows = kSide,
                      .columns = kSide,
                      .depth = kSide,
                      .a = a,
                      .a_row_stride = kSide,
                      .b = a + kFloats,
                      .b_row_stride = kSide,
                      .c = a + 2 * kFloats,
                      .c_row_stride = kSide};
  return BenchOf(
      [memory, call] { return OfPeak(2.0 * kSide * kFloats, Seconds([&] { Gemm(call); })); });
}

Made MakePpo() {
  return BenchOf([learning = std::make_shared<BatchLearning>(AlgorithmNamed("ppo"), 4, 128)] {
    const double seconds = Seconds([&] { learning->Learn(); });
    constexpr double kThousands = BatchLearning::kSteps * 1e-3;
    return BenchSample{kThousands / seconds, kThousands / (learning->flops() / MeasureFmaPeak())};
  });
}

Made MakeUpdates(std::unique_ptr<ReplayUpdates> (*make)()) {
  return BenchOf([updates = std::shared_ptr<ReplayUpdates>(make())] {
    const auto made = static_cast<double>(updates->Make());
    return TimeAtPeak(updates->flops(), Seconds([&] { (void)updates->Make(); }) / made);
  });
}

Made MakeDqn() { return MakeUpdates(ReplayUpdates::OfDqn); }
Made MakeSac() { return MakeUpdates(ReplayUpdates::OfSac); }

Made MakeInsert() {
  return BenchOf([] {
    constexpr int kAgents = 16, kLength = 128, kBatches = 50;
    const PolicyAndValue model{.spaces = {Box({4}), Discrete(4)}, .trunk = {}};
    const TrajectoryLayout layout(model, kLength);
    const InsertionTimes times = MeasureInsertion(layout, kAgents, 100'000, kBatches);
    constexpr double kMillions = kAgents * kLength * 1e-6;
    return BenchSample{kMillions / times.ours, kMillions / times.limit};
  });
}

Made MakeWeights() {
  auto exchange = WeightsExchange::Make();
  if (!exchange.ok()) return exchange.status();
  return BenchOf([exchange = std::shared_ptr<WeightsExchange>(*std::move(exchange))] {
    return BenchSample{Seconds([&] { exchange->Exchange(); }) * 1e6,
                       Seconds([&] { exchange->Copy(); }) * 1e6};
  });
}

Made MakeMessages() {
  auto echo = MessageEcho::Make();
  if (!echo.ok()) return echo.status();
  return BenchOf([echo = std::shared_ptr<MessageEcho>(*std::move(echo))] {
    const auto seconds = [](const std::function<void()>& call) {
      return WallSecondsPerCall(call, kRounds, kRoundSeconds);
    };
    return BenchSample{seconds([&] { echo->Exchange(); }) * 1e6,
                       seconds([&] { echo->PlainExchange(); }) * 1e6};
  });
}

constexpr char kPeak[] = "one core's peak of fused multiply-adds";
constexpr char kAtPeak[] = "its products at one core's peak";

constexpr BenchKind kKinds[] = {
    {"act", "one step of a game: Act of 4-64-64-2, recorded and sent", "us", kAtPeak, true,
     MakeAct},
    {"forward", "the network of Act, 64 agents at a time", "GFLOP/s", kPeak, false, MakeForward},
    {"gemm", "a product of 256 x 256 matrices", "GFLOP/s", kPeak, false, MakeGemm},
    {"ppo", "learning by ppo, 4 epochs of 4-64-64-2", "thousand steps/s", kAtPeak, false, MakePpo},
    {"dqn", "one update of dqn, 4-64-64-2, minibatch 64", "us", kAtPeak, true, MakeDqn},
    {"sac", "one update of sac, 17-256-256-6, minibatch 256", "us", kAtPeak, true, MakeSac},
    {"insert", "steps of 4 numbers into a replay", "million steps/s",
     "memcpy of their observations", false, MakeInsert},
    {"weights", "6.7 MB of weights through shared memory", "us", "memcpy in and out", true,
     MakeWeights},
    {"messages", "4 KiB to another thread and back by ZeroMQ", "us", "a Unix socket", true,
     MakeMessages},
};

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::span<const BenchKind> BenchKinds() { return kKinds; }

const BenchKind* FindBench(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, &BenchKind::name);
  return found == std::end(kKinds) ? nullptr : found;
}

Result<BenchResult> RunBench(const BenchKind& kind, double seconds) {
  const std::int64_t end_ns =
      MonotonicNs() + static_cast<std::int64_t>(seconds * kNanosecondsPerSecond);
  const auto bench = kind.make();
  if (!bench.ok()) return bench.status();
  std::vector<double> ours, limits, ratios;
  while (static_cast<int>(ours.size()) < kLeastSamples || MonotonicNs() < end_ns) {
    const BenchSample sample = (*bench)->Measure();
    ours.push_back(sample.ours);
    limits.push_back(sample.limit);
    ratios.push_back(sample.ours / sample.limit);
  }
  return BenchResult{MedianOf(ours), MedianOf(limits), MedianOf(ratios),
                     static_cast<int>(ours.size())};
}

}  // namespace murmurate
