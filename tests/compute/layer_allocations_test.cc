#include "server/compute/convolution_gradient.h"
#include "server/compute/pool_and_norm_gradient.h"
#include "server/compute/recurrent_sequence.h"
#include "tests/allocations.h"
#include "tests/compute/recurrent_case.h"

namespace murmurate {
namespace {

class LayerAllocationsTest : public LayerTest {
 protected:
  void SetUp() override {
    LayerTest::SetUp();
    before = Allocations();
  }

  std::uint64_t before = 0;
  const RecurrentCase k = {5, 9, 6, 17};
  const std::vector<std::uint8_t> first = k.Firsts();
  std::vector<float> in = Normals(100'000, 1), out = in, scratch = in, block = in, more = in;
  std::vector<float> even_more = in;
};

TEST_P(LayerAllocationsTest, PicturesAllocateNothing) {
  const Window window = {20, 20, 8, {3, 3}, {1, 1}, {1, 1}};
  ASSERT_LE(ConvBackwardScratchFloats(window, 16, 2), scratch.size());
  before = Allocations();
  ConvForward({window, 16, 2, in.data(), nullptr, in.data(), in.data(), Epilogue::kElu, out.data(),
               scratch.data()},
              *forward);
  ConvBackward({window, 16, 2, in.data(), nullptr, in.data(), out.data(), more.data(), more.data(),
                even_more.data(), Epilogue::kEluGradient, scratch.data()},
               *backward);
  MaxPoolForward({window, 2, in.data(), out.data(), more.data()}, *forward);
  MaxPoolBackward({window, 2, more.data(), in.data(), out.data()}, *backward);
  LayerNormForward({9, 70, in.data(), in.data(), in.data(), out.data(), more.data()}, *forward);
  LayerNormBackward({9, 70, in.data(), in.data(), more.data(), in.data(), out.data(),
                     scratch.data(), scratch.data()},
                    *backward);
  EXPECT_EQ(Allocations(), before);
}

TEST_P(LayerAllocationsTest, RecurrentLayersAllocateNothing) {
  before = Allocations();
  RecurrentStep(kLstmCell,
                {k.rows, k.inputs, k.hidden, in.data(), 0, in.data(), in.data(), true, in.data(),
                 nullptr, out.data(), nullptr, scratch.data()},
                *forward);
  const RecurrentKept lstm = RecurrentKeptIn(kLstmCell, k.steps, k.rows, k.hidden, block.data());
  RecurrentForward(kLstmCell,
                   {k.steps, k.rows, k.inputs, k.hidden, in.data(), first.data(), nullptr,
                    in.data(), in.data(), in.data(), nullptr, out.data(), nullptr, lstm},
                   *forward);
  RecurrentBackward(kLstmCell,
                    {k.steps, k.rows, k.inputs, k.hidden, in.data(), first.data(), in.data(),
                     in.data(), lstm, out.data(), nullptr, more.data(), even_more.data(),
                     even_more.data(), even_more.data(), nullptr, nullptr, scratch.data()},
                    *backward);
  RecurrentStep(kGruCell,
                {k.rows, k.inputs, k.hidden, in.data(), 0, in.data(), in.data(), true, in.data(),
                 in.data(), out.data(), nullptr, scratch.data()},
                *forward);
  const RecurrentKept gru = RecurrentKeptIn(kGruCell, k.steps, k.rows, k.hidden, block.data());
  RecurrentForward(kGruCell,
                   {k.steps, k.rows, k.inputs, k.hidden, in.data(), first.data(), nullptr,
                    in.data(), in.data(), in.data(), in.data(), out.data(), nullptr, gru},
                   *forward);
  RecurrentBackward(kGruCell,
                    {k.steps, k.rows, k.inputs, k.hidden, in.data(), first.data(), in.data(),
                     in.data(), gru, out.data(), nullptr, more.data(), even_more.data(),
                     even_more.data(), even_more.data(), even_more.data(), nullptr, scratch.data()},
                    *backward);
  EXPECT_EQ(Allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(, LayerAllocationsTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
