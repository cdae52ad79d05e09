// ReplayedSequences: what networks see of sequences, and the states that they see it with, against
// one step after the other.
#include "server/learn/replayed_sequences.h"

#include <gtest/gtest.h>

#include <string>

#include "server/network/actor_critic.h"
#include "tests/learn/sequence_batches.h"

namespace murmurate {
namespace {

class ReplayedSequencesTest : public testing::TestWithParam<const char*> {
 protected:
  ReplayedSequencesTest() {
    InitializeParameters(spec_, 4, parameters_, {Initializer::kXavier});
    for (std::int32_t row = 0; row < 16; ++row) rows_.push_back(row);
  }
  /// The state after a step under the network, one row at a time, and its outputs.
  std::vector<float> Step(const std::byte* row, bool first, std::span<float> state) {
    std::vector<float> outputs(2), after(state.size());
    const std::uint8_t begins = first ? 1 : 0;
    one_.Forward(parameters_, row, {1, 1, &begins, state.data(), after.data()}, outputs.data());
    std::ranges::copy(after, state.begin());
    return outputs;
  }
  std::vector<float> StoredState(int slot, int chunk) const {
    const auto states = static_cast<std::size_t>(one_.state_floats());
    const auto from = batch_.state0.begin() + slot * batch_.layout.state_floats +
                      static_cast<std::ptrdiff_t>(static_cast<std::size_t>(chunk) * states);
    return {from, from + static_cast<std::ptrdiff_t>(states)};
  }
  bool Begins(int row) const { return (batch_.flags[row] & kFirst) != 0; }
  void ExpectNear(std::span<const float> found, const std::vector<float>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6f);
  }

  AlgorithmSettings settings_ = SequenceSettings();
  const ModelSpec spec_ = SequenceSpec(GetParam());
  const ParameterLayout layout_{spec_};
  AlignedFloats parameters_{layout_.total};
  SequenceNetwork one_{spec_, layout_, "policy", 1};
  SequenceBatch sequences_{spec_, settings_, 2};
  TrainingBatch& batch_ = sequences_.batch;
  std::vector<std::int32_t> rows_;
};

TEST_P(ReplayedSequencesTest, GoOnFromTheStoredStateOverBurnInAndBordersOfEpisodes) {
  for (const int burn_in : {0, 1, 4, 7}) {
    SCOPED_TRACE(burn_in);
    settings_.burn_in = burn_in;
    ReplayedSequences sequences(spec_, settings_);
    SequenceNetwork network(spec_, layout_, "policy", sequences.most_rows());
    std::vector<float> outputs(static_cast<std::size_t>(2 * sequences.most_rows()));
    sequences.Take(batch_, rows_);
    sequences.See(network, parameters_, outputs.data());
    EXPECT_EQ(sequences.learned_rows(), static_cast<std::size_t>(2 * (8 - burn_in)));
    const auto at = [&](const SeenRow& row) {
      return std::span<const float>(outputs).subspan(2 * sequences.PlaceOf(row), 2);
    };
    for (int slot = 0; slot < 2; ++slot) {
      std::vector<float> state = StoredState(slot, 0);
      for (int row = 8 * slot; row < 8 * slot + 8; ++row) {
        const auto index = static_cast<std::size_t>(row);
        const std::vector<float> expected = Step(batch_.ObservationRow(index), Begins(row), state);
        if (row < 8 * slot + burn_in) continue;
        ExpectNear(at({.row = row}), expected);
        const bool truncated = (batch_.flags[row] & kTruncatedFlag) != 0, last = row % 8 == 7;
        if (!truncated && !last) continue;
        const std::byte* const after = truncated ? batch_.FinalRow(static_cast<std::size_t>(slot))
                                                 : batch_.NextRow(static_cast<std::size_t>(slot));
        std::vector<float> beside = state;
        ExpectNear(at({.row = row, .successor = after}), Step(after, false, beside));
      }
    }
  }
}

/// Sequences of different lengths, one of which ends within burn_in.
TEST_P(ReplayedSequencesTest, OfDifferentLengthsAreSeenBySide) {
  settings_.burn_in = 4;
  sequences_.Shorten(0, 3);
  ReplayedSequences sequences(spec_, settings_);
  SequenceNetwork network(spec_, layout_, "policy", sequences.most_rows());
  std::vector<float> outputs(static_cast<std::size_t>(2 * sequences.most_rows()));
  rows_.erase(rows_.begin() + 3, rows_.begin() + 8);
  sequences.Take(batch_, rows_);
  sequences.See(network, parameters_, outputs.data());
  EXPECT_EQ(sequences.learned_rows(), 4u);
  EXPECT_EQ(sequences.LearnedOf(0).first, sequences.LearnedOf(0).end);
  std::vector<float> state = StoredState(1, 0), expected;
  for (int row = 8; row < 16; ++row)
    expected = Step(batch_.ObservationRow(static_cast<std::size_t>(row)), Begins(row), state);
  ExpectNear(std::span(outputs).subspan(2 * sequences.PlaceOf({.row = 15}), 2), expected);
}

TEST_P(ReplayedSequencesTest, FindHowFarStatesAreFromTheStoredOnes) {
  settings_.burn_in = 4;
  ReplayedSequences sequences(spec_, settings_);
  SequenceNetwork network(spec_, layout_, "policy", sequences.most_rows());
  std::vector<float> outputs(static_cast<std::size_t>(2 * sequences.most_rows()));
  const auto drift = [&] {
    sequences.Take(batch_, rows_);
    sequences.See(network, parameters_, outputs.data());
    return sequences.StateDrift();
  };
  EXPECT_GT(drift().difference, 0.1) << "the stored states are not this network's";
  // What a player with these weights would have stored with the fifth step.
  const auto states = static_cast<std::size_t>(one_.state_floats());
  for (int slot = 0; slot < 2; ++slot) {
    std::vector<float> state = StoredState(slot, 0);
    for (int row = 8 * slot; row < 8 * slot + 4; ++row)
      Step(batch_.ObservationRow(static_cast<std::size_t>(row)), Begins(row), state);
    std::ranges::copy(state, batch_.state0.begin() + slot * batch_.layout.state_floats +
                                 static_cast<std::ptrdiff_t>(states));
  }
  const ReplayedSequences::Drift none = drift();
  EXPECT_LT(none.difference, 1e-5);
  EXPECT_GT(none.stored, 0.1);
  const auto half = static_cast<std::size_t>(batch_.layout.state_floats);
  std::fill_n(batch_.state0.begin() + static_cast<std::ptrdiff_t>(half + states), states, 0.0f);
  EXPECT_LT(drift().stored, none.stored) << "a state that is not known is left out";
  batch_.flags[4] |= kFirst;
  EXPECT_EQ(drift().stored, 0.0) << "so is the border of an episode";
}

INSTANTIATE_TEST_SUITE_P(Cells, ReplayedSequencesTest, testing::Values("gru 6", "lstm 4"),
                         [](const auto& cell) { return std::string(cell.param).substr(0, 3); });

}  // namespace
}  // namespace murmurate
