#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "shared/model/action_layout.h"
#include "shared/model/observation_layout.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;
using Kind = ActionPart::Kind;

Space Seen() {
  return Dict({{"camera", Image({3, 3, 1})},
               {"place", Box({3})},
               {"map", Image({2})},
               {"kind", MultiDiscrete({10, 3})},
               {"flags", MultiBinary(2)}});
}

TEST(ObservationLayout, OneBoxIsItsNumbersAndNothingElse) {
  const ObservationLayout layout(Box({2, 3}));
  ASSERT_EQ(layout.inputs().size(), 1u);
  EXPECT_EQ(layout.inputs()[0].name, "");
  EXPECT_EQ(layout.inputs()[0].offset_bytes, 0u);
  EXPECT_EQ(layout.row_bytes(), 24u);
  EXPECT_TRUE(layout.plain());
}

TEST(ObservationLayout, WordsComeBeforeBytesAndEachInputIsAligned) {
  const ObservationLayout layout(Seen());
  ASSERT_EQ(layout.inputs().size(), 5u);
  const ObservationInput &camera = layout.inputs()[0], &place = layout.inputs()[1];
  const ObservationInput &map = layout.inputs()[2], &kind = layout.inputs()[3];
  const ObservationInput& flags = layout.inputs()[4];
  EXPECT_EQ(camera.name, "camera");
  EXPECT_EQ(camera.element, Element::kUint8);
  EXPECT_EQ(place.offset_bytes, 0u);  // 12 bytes
  EXPECT_EQ(kind.offset_bytes, 12u);  // 8 bytes
  EXPECT_EQ(kind.element, Element::kInt32);
  EXPECT_EQ(kind.categories, (std::vector<int>{10, 3}));
  EXPECT_EQ(kind.encoded_count(), 13);
  EXPECT_EQ(flags.offset_bytes, 20u);  // 8 bytes
  EXPECT_EQ(flags.categories, (std::vector<int>{2, 2}));
  EXPECT_EQ(camera.offset_bytes, 28u);  // 9 bytes and 3 of padding
  EXPECT_EQ(map.offset_bytes, 40u);     // 2 bytes and 2 of padding
  EXPECT_EQ(layout.row_bytes(), 44u);
  EXPECT_FALSE(layout.plain());
}

TEST(ObservationLayout, CheckNamesTheNumberThatCannotBe) {
  const ObservationLayout layout(Seen());
  std::vector<std::byte> row(layout.row_bytes() + 1);
  std::byte* const misaligned = row.data() + 1;
  EXPECT_TRUE(layout.Check(misaligned).ok());
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(misaligned + 8, &infinite, 4);
  EXPECT_NE(layout.Check(misaligned).message().find("observation.place has a number"),
            std::string::npos);
  std::memset(misaligned, 0, 12);
  for (const std::int32_t category : {3, -1}) {
    std::memcpy(misaligned + 16, &category, 4);
    EXPECT_NE(layout.Check(misaligned).message().find("where 0 to 2 was expected at place 1"),
              std::string::npos);
  }
}

Space Acted() {
  return Dict({{"move", Discrete(2)},
               {"turn", Box({2}, -1, 1)},
               {"weapon", MultiDiscrete({3, 5})},
               {"buttons", MultiBinary(4)},
               {"push", Box({3})}});
}

TEST(ActionLayout, PlainDiscreteIsOneWordAndItsLogits) {
  const ActionLayout layout(Discrete(7));
  EXPECT_EQ(layout.words(), 1);
  EXPECT_EQ(layout.outputs(), 7);
  EXPECT_EQ(layout.mask_bytes(), 7);
  EXPECT_EQ(layout.free_deviations(), 0);
}

TEST(ActionLayout, PartsFollowEachOther) {
  const ActionLayout layout(Acted());
  const auto& p = layout.parts();
  ASSERT_EQ(p.size(), 5u);
  EXPECT_EQ(p[1].name, "turn");
  EXPECT_EQ(p[1].kind, Kind::kContinuous);
  EXPECT_EQ(p[3].kind, Kind::kBinary);
  const int words[] = {0, 1, 3, 5, 9}, outputs[] = {0, 2, 4, 12, 16};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(p[i].first_word, words[i]);
    EXPECT_EQ(p[i].first_output, outputs[i]);
  }
  EXPECT_EQ(p[2].choices, (std::vector<int>{3, 5}));
  EXPECT_EQ(p[2].first_mask_byte, 2);
  EXPECT_EQ(p[1].first_deviation, 0);
  EXPECT_EQ(p[4].first_deviation, 2);
  EXPECT_EQ(layout.words(), 12);
  EXPECT_EQ(layout.outputs(), 19);
  EXPECT_EQ(layout.mask_bytes(), 10);
  EXPECT_EQ(layout.free_deviations(), 5);
}

TEST(ActionLayout, DeviationsOfTheStateFollowTheMeans) {
  const ActionLayout layout(Acted(), {.state_dependent_deviation = true});
  EXPECT_EQ(layout.parts()[1].outputs, 4);
  EXPECT_EQ(layout.parts()[1].first_deviation, -1);
  EXPECT_EQ(layout.parts()[2].first_output, 6);
  EXPECT_EQ(layout.outputs(), 24);
  EXPECT_EQ(layout.free_deviations(), 0);
}

TEST(ActionLayout, CheckActionNamesTheWordThatCannotBe) {
  const ActionLayout layout(Acted());
  std::vector<std::int32_t> words(12);
  std::vector<std::uint8_t> mask(10, 1);
  EXPECT_TRUE(layout.CheckAction(words.data(), mask.data()).ok());
  const auto message = [&](int word, std::int32_t value) {
    std::vector<std::int32_t> changed = words;
    changed[word] = value;
    return layout.CheckAction(changed.data(), mask.data()).message();
  };
  EXPECT_NE(message(0, 2).find("action.move has the choice 2 where 0 to 1"), std::string::npos);
  EXPECT_NE(message(4, -1).find("action.weapon has the choice -1"), std::string::npos);
  EXPECT_NE(message(6, 2).find("action.buttons has the switch 2"), std::string::npos);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(message(10, std::bit_cast<std::int32_t>(nan)).find("action.push"), std::string::npos);
  EXPECT_EQ(message(4, 3), "");
  mask[2 + 3 + 3] = 0;
  EXPECT_NE(message(4, 3).find("forbids"), std::string::npos);
}

TEST(ActionLayout, AMaskMustLeaveEveryVariableAChoice) {
  const ActionLayout layout(Acted());
  std::vector<std::uint8_t> mask(10, 0);
  mask[1] = mask[2] = mask[9] = 1;
  EXPECT_TRUE(layout.CheckMask(mask.data()).ok()) << layout.CheckMask(mask.data());
  mask[9] = 0;
  EXPECT_NE(layout.CheckMask(mask.data()).message().find("action.weapon has a mask"),
            std::string::npos);
}

TEST(ActionLayout, SquashingNeedsBounds) {
  EXPECT_TRUE(CheckContinuous(Acted(), {}).ok());
  EXPECT_NE(CheckContinuous(Acted(), {.squashed = true}).message().find("action.push"),
            std::string::npos);
  EXPECT_TRUE(CheckContinuous(Box({2}, -1, 1), {.squashed = true}).ok());
  EXPECT_TRUE(CheckContinuous(Discrete(2), {.squashed = true}).ok());
}

}  // namespace
}  // namespace murmurate
