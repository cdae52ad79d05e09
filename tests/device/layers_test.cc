// Each layer of a device against this processor's, in a network of its own.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/device/network_run.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

constexpr const char* kVector = "observation float32 13\naction discrete 5\n";
constexpr const char* kPicture = "observation float32 9 7 3\naction discrete 5\ninput - stack 1\n";
constexpr const char* kEnd = "separate_value 0\nnormalize_observation 0\n";

NetworkCase OfVector(const char* name, const std::string& layers) {
  return {name, kVector + layers + "\n" + kEnd};
}
NetworkCase OfPicture(const char* name, const std::string& layers) {
  return {name, kPicture + layers + "\nflatten\ntrunk\n" + kEnd};
}

/// With a first convolution that takes its pictures in blocks of 3 x 3.
NetworkCase OfBlocks(const char* name, const std::string& layers) {
  NetworkCase of = OfPicture(name, layers);
  of.text.replace(of.text.find("9 7 3"), 5, "9 6 2");
  return of;
}

class LayersTest : public testing::TestWithParam<NetworkCase> {};

TEST_P(LayersTest, GiveWhatThisProcessorsGive) {
  const ModelSpec spec = SpecOf(GetParam());
  const bool recurs = spec.recurrent();
  for (const int rows : {1, 31, 32, 33, 255, 257}) {
    SCOPED_TRACE(rows);
    const NetworkRows batch(spec, recurs ? 3 : 1, recurs ? (rows + 2) / 3 : rows);
    NetworkOnDevice device(spec, batch.rows() + 3);
    ExpectSameNumbers(spec, device.Run(batch), batch.OnThisProcessor());
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LayersTest,
    testing::Values(OfVector("Dense", "dense 33 none"), OfVector("Tanh", "dense 9 tanh"),
                    OfVector("Relu", "dense 40 relu"), OfVector("Elu", "dense 7 elu"),
                    OfVector("Sigmoid", "dense 1 sigmoid"),
                    OfVector("Wide", "dense 200 tanh\ndense 3 relu"),
                    OfVector("Activations", "dense 8 none\nelu\ndense 8 tanh\nsigmoid"),
                    OfVector("Norm", "layer_norm\ndense 70 none\nlayer_norm\ntanh"),
                    OfVector("Residual", "dense 9 tanh\nresidual\ndense 9 relu\ndense 9 none\nadd"),
                    OfVector("ResidualAround", "residual\nlayer_norm\ndense 13 tanh\nadd\nelu"),
                    OfVector("Lstm", "lstm 11"), OfVector("Gru", "gru 12"),
                    OfPicture("Conv", "conv 4 3 1 0 relu"),
                    OfPicture("ConvStrides", "conv 5 3 2 0 tanh\nconv 3 2 2 0 none"),
                    OfPicture("ConvPadding", "conv 4 3 1 1 elu\nconv 2 4 3 2 sigmoid"),
                    OfBlocks("ConvBlocks", "conv 5 3 3 0 relu\nconv 3 2 1 0 none"),
                    OfBlocks("ConvWideBlocks", "conv 5 6 3 0 tanh"),
                    OfPicture("PoolFirst", "max_pool 3 2 1\nconv 4 2 1 0 none"),
                    OfPicture("Pool", "conv 4 2 1 0 tanh\nmax_pool 2 2 0"),
                    OfPicture("PoolOverlapping", "conv 4 3 1 1 none\nmax_pool 3 2 1"),
                    OfPicture("PoolGaps", "conv 3 1 1 0 none\nmax_pool 2 3 0"),
                    OfPicture("PoolTies", "conv 3 2 1 0 relu\nmax_pool 4 1 2"),
                    OfPicture("NormOfPictures", "layer_norm\nconv 6 3 2 1 none\nlayer_norm")),
    [](const auto& test) { return test.param.name; });

NetworkPlan PlanOf(const std::string& layers, const std::string& picture = "12 8 3") {
  return *PlanNetwork(
      SpecOf({"", "observation uint8 " + picture + "\naction discrete 5\ninput - stack 2\n" +
                      layers + "\nflatten\ntrunk\n" + kEnd}),
      "policy");
}
int BlockOf(const std::string& layers, const std::string& picture = "12 8 3") {
  const NetworkPlan plan = PlanOf(layers, picture);
  return BlockOfPicture(plan, plan, 0);
}

TEST(PictureBlocks, AreThoseOfAFirstConvolutionThatTakesWholeOnes) {
  EXPECT_EQ(BlockOf("conv 4 8 4 0 relu"), 4);
  EXPECT_EQ(BlockOf("conv 4 4 2 0 relu\nconv 4 3 2 1 relu"), 2);
  EXPECT_EQ(BlockOf("conv 4 3 1 0 relu"), 1) << "pixels are whole ones";
  EXPECT_EQ(BlockOf("conv 4 3 2 0 relu"), 1) << "a window has one and a half";
  EXPECT_EQ(BlockOf("conv 4 4 2 1 relu"), 1) << "windows begin before the picture";
  EXPECT_EQ(BlockOf("conv 4 4 4 0 relu", "12 10 3"), 1) << "a line has two and a half";
  EXPECT_EQ(BlockOf("conv 4 4 4 0 relu", "10 8 3"), 1);
  EXPECT_EQ(BlockOf("max_pool 2 2 0\nconv 4 4 2 0 relu"), 1) << "the picture is pooled";
  const NetworkPlan twos = PlanOf("conv 4 4 2 0 relu"), fours = PlanOf("conv 4 8 4 0 relu");
  EXPECT_EQ(BlockOfPicture(twos, fours, 0), 1) << "both networks read the same memory";
}

}  // namespace
}  // namespace murmurate
