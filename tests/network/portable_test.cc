// KernelSet::kPlain gives the same bits on every x86-64 machine: the bits that one machine gave
// stand here. Weights and rows are made by integers and exact products, so that nothing but the
// policy can differ.
#include <gtest/gtest.h>

#include <bit>

#include "shared/core/random.h"
#include "shared/inference/action_head.h"
#include "shared/inference/policy.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

constexpr const char* kDense =
    "murmurate-model 1\n"
    "observation float32 17\n"
    "action continuous 6 low -1 -1 -1 -1 -1 -1 high 1 1 1 1 1 2\n"
    "dense 64 tanh\ndense 40 elu\nlayer_norm\ndense 33 sigmoid\n"
    "separate_value 1\nnormalize_observation 1\nstate_dependent_deviation 0\nsquashed 1\n";
/// As versions wrote it that knew no scaled boxes.
constexpr const char* kUnscaled =
    "murmurate-model 1\n"
    "observation float32 17\n"
    "action continuous 4 low -2 0 -0.01 -1000 high 2 100 0.01 1000\n"
    "dense 24 tanh\n"
    "separate_value 1\nnormalize_observation 1\nstate_dependent_deviation 0\nsquashed 0\n";
constexpr const char* kPicture =
    "murmurate-model 1\n"
    "observation uint8 12 12 3\n"
    "action discrete 5\n"
    "input - stack 1\nconv 8 3 1 1 relu\nmax_pool 3 2 1\nresidual\nconv 8 3 1 1 "
    "tanh\nadd\nflatten\n"
    "trunk\nlstm 24\ngru 20\n"
    "separate_value 0\nnormalize_observation 0\n";

/// In [-1, 1), exact.
float Number(Random* random) {
  return static_cast<float>(static_cast<int>(random->UniformInt(1 << 16)) - (1 << 15)) * 0x1p-15f;
}

class Fingerprint {
 public:
  void Add(std::uint32_t word) { sum_ = (sum_ ^ word) * 0x100000001b3; }  // FNV-1a, by words
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325;
};

/// Of 50 steps of one agent: what the network says, its state, and what the game gets.
std::uint64_t Play(const char* text) {
  const auto spec = ModelSpec::Parse(text);
  if (!spec.ok()) ADD_FAILURE() << spec.status();
  const ParameterLayout layout(*spec);
  Random random(11);
  AlignedFloats flat(layout.total);
  for (float& value : flat) value = 0.25f * Number(&random);
  for (std::size_t i = 0; i < layout.statistics.count; ++i) {
    float& value = flat[layout.statistics.offset + i];
    value = value * value + 0.5f;  // a variance is positive
  }
  Policy policy(*spec, KernelSet::kPlain);
  const std::span<const float> all(flat.data(), flat.size());
  policy.Pack(all.subspan(layout.published.offset, layout.published.count),
              all.subspan(layout.statistics.offset, layout.statistics.count));
  const ActionHead head(ActionLayout(spec->spaces.action, spec->continuous));
  const std::size_t words = ObservationLayout(spec->spaces.observation).row_bytes() / 4;
  std::vector<std::uint32_t> row(words);
  std::vector<float> outputs(policy.outputs()), state(policy.state_floats());
  std::vector<float> scratch(policy.ScratchFloats(1));
  std::vector<std::int32_t> action(head.layout().words()), game(action.size());
  Fingerprint print;
  for (int step = 0; step < 50; ++step) {
    const bool picture = spec->spaces.observation == Space(Image({12, 12, 3}));
    for (std::uint32_t& word : row)
      word = picture ? random.UniformInt(1u << 31) : std::bit_cast<std::uint32_t>(Number(&random));
    policy.Forward(row.data(), 1, outputs.data(), scratch.data(), state.data());
    (void)head.Choose({outputs.data(), policy.log_deviations(), nullptr},
                      {.mode = ActSettings::Mode::kGreedy}, random, action.data());
    head.ToGame(action.data(), game.data());
    for (const float value : outputs) print.Add(std::bit_cast<std::uint32_t>(value));
    for (const float value : state) print.Add(std::bit_cast<std::uint32_t>(value));
    for (const std::int32_t word : game) print.Add(static_cast<std::uint32_t>(word));
  }
  return print.sum();
}

TEST(Portable, PlainKernelsGiveTheBitsThatTheyGaveElsewhere) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the promise is for x86-64";
#endif
  EXPECT_EQ(Play(kDense), 2724143681811451563u);
  EXPECT_EQ(Play(kPicture), 270833934232646974u);
  EXPECT_EQ(Play(kUnscaled), 6450274514926060817u);
}

}  // namespace
}  // namespace murmurate
