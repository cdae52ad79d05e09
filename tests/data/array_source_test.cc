#include "server/data/array_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"
#include "tests/data/npy_writer.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

class ArraySourceTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + '/' + name + ".npy"; }
  std::string FailureOf(const ArrayFiles& files, StatusCode code) const {
    const auto source = ArraySource::Open(files);
    if (source.ok()) return "was opened";
    EXPECT_EQ(source.status().code(), code);
    return source.status().message();
  }
  TemporaryFolder folder_;
};

TEST_F(ArraySourceTest, MakesSpacesOfShapesAndTypes) {
  WriteNpy<float>(Path("x"), "<f4", "(3, 2)", {0, 1, 2, 3, 4, 5});
  WriteNpy<std::uint8_t>(Path("p"), "|u1", "(3, 1, 2, 1)", {1, 2, 3, 4, 5, 6});
  WriteNpy<std::int64_t>(Path("y"), "<i8", "(3,)", {2, 0, 1});
  WriteNpy<std::int32_t>(Path("z"), "<i4", "(3, 2)", {0, 4, 1, 3, 1, 0});
  WriteNpy<float>(Path("r"), "<f4", "(3,)", {0, 1, 2});
  const auto plain = ArraySource::Open({{{"", Path("x")}}, {{"", Path("y")}}});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ((*plain)->spaces(), (Spaces{Box({2}), Discrete(3)}));
  EXPECT_EQ((*plain)->items(), 3u);
  const auto named = ArraySource::Open(
      {{{"place", Path("x")}, {"camera", Path("p")}}, {{"turn", Path("r")}, {"pick", Path("z")}}});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ((*named)->spaces(),
            (Spaces{Dict({{"place", Box({2})}, {"camera", Image({1, 2, 1})}}),
                    Dict({{"turn", Box({1})}, {"pick", MultiDiscrete({2, 5})}})}));
  const auto stated = ArraySource::Open({{{"", Path("x")}}, {{"", Path("y")}}, 10});
  ASSERT_TRUE(stated.ok()) << stated.status();
  EXPECT_EQ((*stated)->spaces().action, Discrete(10));
}

TEST_F(ArraySourceTest, PutsSamplesWhereABatchHasThem) {
  WriteNpy<float>(Path("x"), "<f4", "(3, 1)", {10, 11, 12});
  WriteNpy<std::uint8_t>(Path("p"), "|u1", "(3, 2)", {1, 2, 3, 4, 5, 6});
  WriteNpy<std::int64_t>(Path("y"), "<i8", "(3,)", {2, 0, 1});
  WriteNpy<float>(Path("r"), "<f4", "(3,)", {0.5f, 1.5f, 2.5f});
  const auto source = ArraySource::Open(
      {{{"p", Path("p")}, {"x", Path("x")}}, {{"y", Path("y")}, {"r", Path("r")}}});
  ASSERT_TRUE(source.ok()) << source.status();
  TrainingBatch batch(TrajectoryLayout((*source)->spaces(), 2), 2);
  EXPECT_EQ((*source)->ItemsOf(batch), 4u);
  const std::uint64_t items[] = {2, 0, 1};
  const std::uint64_t before = Allocations();
  ASSERT_TRUE((*source)->Fill(items, &batch).ok());
  EXPECT_EQ(Allocations(), before);
  float x;
  std::memcpy(&x, batch.ObservationRow(0), sizeof x);  // numbers before bytes in a row
  EXPECT_EQ(x, 12.0f);
  EXPECT_EQ(std::to_integer<int>(batch.ObservationRow(1)[4]), 1);
  EXPECT_EQ(std::to_integer<int>(batch.ObservationRow(2)[5]), 4);
  EXPECT_EQ(batch.action[0], 1);
  EXPECT_EQ(std::bit_cast<float>(batch.action[1]), 2.5f);
  EXPECT_EQ(batch.action[4], 0);
  ASSERT_EQ(batch.trajectories.size(), 2u);
  EXPECT_EQ(batch.trajectories[0].steps, 2);
  EXPECT_EQ(batch.trajectories[1].steps, 1);
  EXPECT_EQ(std::vector<float>(batch.weight.begin(), batch.weight.end()),
            (std::vector<float>{1, 1, 1, 0}));
  EXPECT_EQ(batch.flags[1], kFirst);  // nothing is carried over from the sample before
}

TEST_F(ArraySourceTest, DoublesBecomeFloatsAndTheNotesSaySo) {
  WriteNpy<double>(Path("x"), "<f8", "(2, 2)", {0.1, 1, 2, 1e300});
  WriteNpy<double>(Path("y"), "<f8", "(2,)", {-0.3, 4});
  const auto source = ArraySource::Open({{{"", Path("x")}}, {{"", Path("y")}}});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->spaces(), (Spaces{Box({2}), Box({1})}));
  EXPECT_THAT((*source)->Notes(),
              testing::ElementsAre(HasSubstr(Path("x") + ": its float64 numbers"),
                                   HasSubstr(Path("y") + ": its float64 numbers")));
  TrainingBatch batch(TrajectoryLayout((*source)->spaces(), 2), 1);
  const std::uint64_t first = 0, second = 1;
  ASSERT_TRUE((*source)->Fill({&first, 1}, &batch).ok());
  EXPECT_EQ(batch.observation[0], 0.1f);
  EXPECT_EQ(batch.observation[1], 1.0f);
  EXPECT_EQ(std::bit_cast<float>(batch.action[0]), -0.3f);
  batch.Clear();
  EXPECT_THAT((*source)->Fill({&second, 1}, &batch).message(),
              HasSubstr("sample 1 holds a number that is not finite"));
}

TEST_F(ArraySourceTest, NamesWhatDoesNotFit) {
  const auto argument = StatusCode::kInvalidArgument, data = StatusCode::kInvalidData;
  WriteNpy<float>(Path("x"), "<f4", "(3, 1)", {10, 11, 12});
  WriteNpy<std::int64_t>(Path("y"), "<i8", "(3,)", {2, 0, 1});
  WriteNpy<std::int64_t>(Path("short"), "<i8", "(2,)", {2, 0});
  WriteNpy<std::int64_t>(Path("below"), "<i8", "(3,)", {2, -1, 0});
  WriteNpy<std::int64_t>(Path("cube"), "<i8", "(3, 1, 1)", {2, 1, 0});
  EXPECT_THAT(FailureOf({{{"", Path("x")}}, {}}, argument), HasSubstr("data.labels: no file"));
  EXPECT_THAT(FailureOf({{{"", Path("x")}, {"b", Path("x")}}, {{"", Path("y")}}}, argument),
              HasSubstr("has no name beside other files"));
  EXPECT_THAT(FailureOf({{{"", Path("y")}}, {{"", Path("y")}}}, argument),
              HasSubstr("observations of int64, expected float32, float64 or uint8"));
  EXPECT_THAT(FailureOf({{{"", Path("x")}}, {{"", Path("short")}}}, data),
              HasSubstr("has 2 samples and " + Path("x") + " has 3"));
  EXPECT_THAT(FailureOf({{{"", Path("x")}}, {{"", Path("below")}}}, data),
              HasSubstr("sample 1 has the label -1, expected 0 to"));
  EXPECT_THAT(FailureOf({{{"", Path("x")}}, {{"", Path("y")}}, 2}, data),
              HasSubstr("sample 0 has the label 2, expected 0 to 1"));
  EXPECT_THAT(FailureOf({{{"", Path("x")}}, {{"", Path("cube")}}}, argument),
              HasSubstr("3 dimensions, expected [samples]"));
  EXPECT_THAT(FailureOf({{{"", Path("gone")}}, {{"", Path("y")}}}, argument),
              HasSubstr("No such file"));
}

TEST_F(ArraySourceTest, NamesTheSampleThatIsNotFinite) {
  WriteNpy<float>(Path("x"), "<f4", "(3, 1)", {10, NAN, 12});
  WriteNpy<float>(Path("y"), "<f4", "(3,)", {INFINITY, 1, 2});
  const auto source = ArraySource::Open({{{"", Path("x")}}, {{"", Path("y")}}});
  ASSERT_TRUE(source.ok()) << source.status();
  TrainingBatch batch(TrajectoryLayout((*source)->spaces(), 2), 2);
  for (const std::uint64_t bad : {1, 0}) {
    batch.Clear();
    const Status status = (*source)->Fill({&bad, 1}, &batch);
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr("sample " + std::to_string(bad) + " holds a number"));
  }
}

TEST_F(ArraySourceTest, AMemoryNeedsSequences) {
  WriteNpy<float>(Path("x"), "<f4", "(3, 1)", {10, 11, 12});
  WriteNpy<float>(Path("y"), "<f4", "(3,)", {0, 1, 2});
  const auto source = ArraySource::Open({{{"", Path("x")}}, {{"", Path("y")}}});
  ASSERT_TRUE(source.ok()) << source.status();
  PolicyAndValue spec{.spaces = (*source)->spaces(), .trunk = {*Layer::Parse("dense 4 tanh")}};
  EXPECT_TRUE((*source)->PrepareFor(spec, 4).ok());
  spec.trunk.push_back(*Layer::Parse("gru 4"));
  EXPECT_THAT((*source)->PrepareFor(spec, 4).message(), HasSubstr("have no order"));
  spec.previous.action = true;
  EXPECT_THAT((*source)->PrepareFor(spec, 4).message(), HasSubstr("have no step before them"));
}

}  // namespace
}  // namespace murmurate
