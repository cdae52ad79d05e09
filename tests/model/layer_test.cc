#include "shared/model/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using Kind = Layer::Kind;

TEST(Layer, TextFormIsReadAndWrittenBack) {
  for (const char* text :
       {"dense 64 tanh", "conv 32 8 4 0 relu", "max_pool 3 2 1", "flatten", "layer_norm",
        "residual", "add", "lstm 128", "gru 1", "none", "tanh", "relu", "elu", "sigmoid"}) {
    const Result<Layer> layer = Layer::Parse(text);
    ASSERT_TRUE(layer.ok()) << layer.status();
    EXPECT_EQ(layer->ToText(), text);
  }
  const Layer conv = *Layer::Parse("conv 32 8 4 1 elu");
  EXPECT_EQ(conv, (Layer{32, Activation::kElu, Kind::kConv, 8, 4, 1}));
}

TEST(Layer, AConfigMayLeaveOutWhatIsUsual) {
  const Activation usual = Activation::kRelu;
  const auto whole = [&](const char* text) { return Layer::Parse(text, &usual)->ToText(); };
  EXPECT_EQ(whole("dense 64"), "dense 64 relu");
  EXPECT_EQ(whole("dense 64 tanh"), "dense 64 tanh");
  EXPECT_EQ(whole("conv 32 8 4"), "conv 32 8 4 0 relu");
  EXPECT_EQ(whole("conv 32 8 4 2"), "conv 32 8 4 2 relu");
  EXPECT_EQ(whole("conv 32 8 4 elu"), "conv 32 8 4 0 elu");
  EXPECT_EQ(whole("max_pool 2 2"), "max_pool 2 2 0");
  EXPECT_FALSE(Layer::Parse("dense 64").ok()) << "a model's text says everything";
}

TEST(Layer, AnythingElseIsRefusedWithTheFormItShouldHave) {
  for (const char* text :
       {"", " ", "dens 64 tanh", "dense 0 tanh", "dense 65537 tanh", "dense 064 tanh",
        "dense 64 tanh ", "dense  64 tanh", "dense 64 tanh 1", "dense -1 tanh", "conv 32 8 tanh",
        "conv 32 0 1 0 relu", "conv 32 1025 1 0 relu", "conv 32 3 0 0 relu", "flatten 1", "lstm",
        "lstm 1 tanh", "relu relu", "softplus"}) {
    EXPECT_FALSE(Layer::Parse(text).ok()) << text;
  }
  EXPECT_THAT(Layer::Parse("conv 32 8 tanh").status().message(),
              HasSubstr("\"conv FILTERS KERNEL STRIDE PADDING ACTIVATION\""));
  EXPECT_THAT(Layer::Parse("dens 64 tanh").status().message(),
              HasSubstr("one of dense, conv, max_pool"));
}

}  // namespace
}  // namespace murmurate
