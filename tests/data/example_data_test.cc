#include "server/data/example_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/data/data_settings.h"
#include "server/data/npy_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExampleDataFiles : public testing::Test {
 protected:
  ExampleDataFiles() {
    std::string name = (fs::temp_directory_path() / "mmr-example-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ExampleDataFiles() override { fs::remove_all(folder_); }

  DataSettings Of(ExampleData example) const {
    DataSettings settings;
    settings.example = example;
    settings.arrays.observations = {{"", folder_ + "/x.npy"}};
    settings.arrays.labels = {{"", folder_ + "/y.npy"}};
    return settings;
  }
  std::string Bytes(const std::string& name) const {
    std::ifstream file(folder_ + '/' + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static float Number(const NpyFile& file, std::uint64_t i) {
    float number = 0;
    file.CopyFloats(file.Sample(i), &number);
    return number;
  }

  std::string folder_;
};

TEST_F(ExampleDataFiles, TheGridIsFiftyPointsInEqualDistancesAndTheirSquares) {
  const auto said = MakeExampleData(Of(ExampleData::kParabolaGrid));
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_EQ(*said, "Made " + folder_ + "/x.npy and " + folder_ + "/y.npy: 50 points of y = x^2.");
  const auto x = NpyFile::Open(folder_ + "/x.npy"), y = NpyFile::Open(folder_ + "/y.npy");
  ASSERT_TRUE(x.ok() && y.ok());
  ASSERT_EQ(x->samples(), 50u);
  EXPECT_EQ(Number(*x, 0), -2.0f);
  EXPECT_EQ(Number(*x, 49), 2.0f);
  for (std::uint64_t i = 0; i < 50; ++i) {
    EXPECT_NEAR(Number(*x, i), -2.0 + 4.0 / 49.0 * static_cast<double>(i), 1e-6);
    EXPECT_EQ(Number(*y, i), Number(*x, i) * Number(*x, i));
  }
}

TEST_F(ExampleDataFiles, AreAsTheHeaderSaysAndTheSameEachTime) {
  const struct {
    ExampleData example;
    std::uint64_t samples;
    std::size_t numbers;
  } kAll[] = {{ExampleData::kParabola, 1000, 1},
              {ExampleData::kCurve, 20000, 2},
              {ExampleData::kDigits, 6000, 784}};
  for (const auto& one : kAll) {
    ASSERT_TRUE(MakeExampleData(Of(one.example)).ok());
    const auto x = NpyFile::Open(folder_ + "/x.npy"), y = NpyFile::Open(folder_ + "/y.npy");
    ASSERT_TRUE(x.ok() && y.ok());
    EXPECT_EQ(x->samples(), one.samples);
    EXPECT_EQ(y->samples(), one.samples);
    EXPECT_EQ(x->sample_elements(), one.numbers);
    const std::string observations = Bytes("x.npy"), labels = Bytes("y.npy");
    fs::remove(folder_ + "/x.npy");
    ASSERT_TRUE(MakeExampleData(Of(one.example)).ok());
    EXPECT_EQ(Bytes("x.npy"), observations);
    fs::remove(folder_ + "/y.npy");
    ASSERT_TRUE(MakeExampleData(Of(one.example)).ok());
    EXPECT_EQ(Bytes("y.npy"), labels);
    fs::remove(folder_ + "/x.npy");
    fs::remove(folder_ + "/y.npy");
  }
}

TEST_F(ExampleDataFiles, WhatIsThereIsKeptAndWhatCannotBeWrittenIsNamed) {
  std::ofstream(folder_ + "/x.npy") << "mine";
  const auto said = MakeExampleData(Of(ExampleData::kParabola));
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->find("x.npy"), std::string::npos) << *said;
  EXPECT_EQ(Bytes("x.npy"), "mine");
  EXPECT_EQ(*MakeExampleData(Of(ExampleData::kParabola)), "");
  EXPECT_EQ(*MakeExampleData(DataSettings()), "");
  DataSettings nowhere = Of(ExampleData::kParabola);
  nowhere.arrays.labels = {{"", folder_ + "/none/y.npy"}};
  EXPECT_THAT(MakeExampleData(nowhere).status().message(), HasSubstr("/none/y.npy"));
}

}  // namespace
}  // namespace murmurate
