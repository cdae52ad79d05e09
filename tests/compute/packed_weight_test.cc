#include "shared/compute/packed_weight.h"

#include "tests/compute/layer_check.h"

namespace murmurate {
namespace {

class PackedWeightTest : public LayerTest {};

TEST_P(PackedWeightTest, GivesTheSameProductAsTheWeightAsItLies) {
  const DenseKernels& kernels = *forward->dense;
  for (const int rows : {1, 5, 9})
    for (const int columns : {1, 16, 65, 200}) {
      const int depth = 37;
      const std::vector<float> a = Normals(rows * depth, 1), b = Normals(depth * columns, 2);
      const std::vector<float> bias = Normals(columns, 3), y = Normals(rows * columns, 4);
      std::vector<float> packed = Poisoned(b.size()), c = Normals(rows * columns, 5), plain = c;
      PackWeight(depth, columns, b.data(), packed.data(), kernels);
      ExpectValues({packed.end() - kFence, packed.end()}, {}, "packed");
      GemmCall call = {.rows = rows,
                       .columns = columns,
                       .depth = depth,
                       .a = a.data(),
                       .a_row_stride = depth,
                       .b = b.data(),
                       .b_row_stride = columns,
                       .c = plain.data(),
                       .c_row_stride = columns,
                       .bias = bias.data(),
                       .accumulate = true,
                       .epilogue = Epilogue::kSigmoidGradient,
                       .output = y.data(),
                       .output_row_stride = columns};
      kernels.gemm(call);
      call.b = packed.data();
      call.c = c.data();
      PackedGemm(call, kernels);
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], plain[i], 2e-5) << i;
    }
}

class ElementsTest : public LayerTest {};

TEST_P(ElementsTest, AddsAndWidensAnyCount) {
  for (const std::size_t count : {1, 15, 16, 50}) {
    std::vector<std::uint8_t> bytes(count);
    std::vector<double> widened, sums;
    const std::vector<float> values = Normals(count, 1);
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<std::uint8_t>(255 - 5 * i);
      widened.push_back(bytes[i] / 255.0);
      sums.push_back(bytes[i] / 255.0 + values[i]);
    }
    std::vector<float> got = Poisoned(count);
    forward->widen(count, bytes.data(), got.data());
    ExpectValues(got, widened, "widened", 1e-7);
    forward->add(count, values.data(), got.data());
    ExpectValues(got, sums, "sums", 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(, ElementsTest, EachSet(), SetName);
INSTANTIATE_TEST_SUITE_P(, PackedWeightTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
