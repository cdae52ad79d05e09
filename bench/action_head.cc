// Actions of any space: choosing one (the client's Act, beside the network) and the clipped policy
// loss over a minibatch.
#include "shared/inference/action_head.h"

#include <vector>

#include "server/measure/limits.h"
#include "server/network/action_head_rows.h"
#include "server/network/policy_loss.h"

namespace murmurate {
namespace {

std::vector<float> Normals(std::size_t count, Random& random) {
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random.Normal());
  return x;
}

/// A minibatch of recorded actions under outputs that have moved a little since.
class Minibatch {
 public:
  Minibatch(const ActionLayout& layout, int rows) : head_(layout), rows_(rows) {
    Random random(1);
    const std::size_t n = static_cast<std::size_t>(rows), outputs = n * layout.outputs();
    outputs_ = Normals(outputs, random);
    deviations_.resize(layout.free_deviations());
    const ActionHead chooser(layout);
    for (int i = 0; i < rows; ++i) {
      actions_.resize(actions_.size() + layout.words());
      behaviour_.push_back(
          chooser.Choose({outputs_.data() + i * layout.outputs(), deviations_.data(), nullptr}, {},
                         random, &actions_[i * layout.words()]));
    }
    for (float& x : outputs_) x += 0.1f * static_cast<float>(random.Normal());
    values_ = Normals(n, random);
    advantage_ = Normals(n, random);
    weight_.assign(n, 1.0f);
    for (auto* x : {&log_prob_, &entropy_, &d_log_prob_, &d_entropy_, &d_values_}) x->resize(n);
    d_outputs_.resize(outputs);
    d_deviations_.resize(deviations_.size());
  }

  void Run() {
    const ActionRows rows{rows_, outputs_.data(), deviations_.data(), actions_.data(), nullptr};
    head_.Evaluate(rows, log_prob_.data(), entropy_.data());
    ClippedPolicyLoss({.entropy = 0.01f},
                      {rows_, log_prob_.data(), entropy_.data(), values_.data(), behaviour_.data(),
                       advantage_.data(), advantage_.data(), weight_.data()},
                      d_log_prob_.data(), d_entropy_.data(), d_values_.data());
    head_.Gradient(rows, d_log_prob_.data(), d_entropy_.data(), d_outputs_.data(),
                   d_deviations_.data());
  }

 private:
  ActionHeadRows head_;
  int rows_;
  std::vector<float> outputs_, deviations_, behaviour_, values_, advantage_, weight_;
  std::vector<float> log_prob_, entropy_, d_log_prob_, d_entropy_, d_values_, d_outputs_;
  std::vector<float> d_deviations_;
  std::vector<std::int32_t> actions_;
};

void MeasureDiscrete(int actions, int rows) {
  Minibatch minibatch{ActionLayout(Discrete(actions)), rows};
  Print({.name = "policy loss, " + std::to_string(actions) + " actions, minibatch " +
                 std::to_string(rows),
         .unit = "us",
         .ours = SecondsPerCall([&] { minibatch.Run(); }) * 1e6,
         .smaller_is_better = true});
}

void MeasureSpace(const char* name, const ActionLayout& layout) {
  Minibatch minibatch{layout, 1024};
  Print({.name = std::string("policy loss, ") + name + ", minibatch 1024",
         .unit = "us",
         .ours = SecondsPerCall([&] { minibatch.Run(); }) * 1e6,
         .smaller_is_better = true});
  Random random(1);
  const ActionHead head(layout);
  const std::vector<float> x = Normals(layout.outputs(), random), s(layout.free_deviations());
  std::vector<std::int32_t> action(layout.words());
  float sink = 0;
  const double seconds = SecondsPerCall([&] {
    sink += head.Choose({x.data(), s.data(), nullptr}, {}, random, action.data());
  });
  Print({.name = std::string("choosing, ") + name,
         .unit = "ns",
         .ours = seconds * 1e9 + (sink == 0 ? 1e-9 : 0),
         .smaller_is_better = true});
}

}  // namespace
}  // namespace murmurate

int main() {
  using namespace murmurate;
  for (const int actions : {2, 18})
    for (const int rows : {128, 1024}) MeasureDiscrete(actions, rows);
  MeasureSpace("2 choices", ActionLayout(Discrete(2)));
  MeasureSpace("6 numbers", ActionLayout(Box({6})));
  MeasureSpace("6 numbers, squashed", ActionLayout(Box({6}, -1, 1), {.squashed = true}));
  MeasureSpace("3 x 5 choices and 4 switches",
               ActionLayout(Dict({{"a", MultiDiscrete({5, 5, 5})}, {"b", MultiBinary(4)}})));
}
