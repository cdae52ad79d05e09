// NpyFile reads what NumPy wrote (tests/fixtures/*.npy), and names what it does not take.
#include "server/data/npy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "tests/data/npy_writer.h"
#include "tests/operate/temporary_folder.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

std::string Fixture(const std::string& name) {
  return SourceFile("tests/fixtures/" + name + ".npy");
}

std::string FailureOf(const std::string& path, StatusCode code) {
  const Result<NpyFile> file = NpyFile::Open(path);
  if (file.ok()) return "was read";
  EXPECT_EQ(file.status().code(), code) << file.status();
  EXPECT_THAT(file.status().message(), HasSubstr(path));
  return file.status().message();
}

TEST(NpyFileTest, ReadsFloatsThatNumPyWrote) {
  const Result<NpyFile> file = NpyFile::Open(Fixture("float32"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->element(), SampleElement::kFloat32);
  EXPECT_EQ(file->samples(), 4u);
  EXPECT_EQ(file->sample_shape(), std::vector<int>{3});
  float last[3];
  std::memcpy(last, file->Sample(3), sizeof last);
  EXPECT_EQ(last[0], 9.0f / 8);
  EXPECT_EQ(last[2], 11.0f / 8);
}

TEST(NpyFileTest, ReadsBytesAndIntegersThatNumPyWrote) {
  const Result<NpyFile> bytes = NpyFile::Open(Fixture("uint8"));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(bytes->sample_shape(), (std::vector<int>{3, 4}));
  EXPECT_EQ(bytes->Integer(bytes->Sample(1), 11), 23);
  const Result<NpyFile> numbers = NpyFile::Open(Fixture("int64"));
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->sample_shape(), std::vector<int>{});
  EXPECT_EQ(numbers->Integer(numbers->Sample(0), 0), 3);
  EXPECT_EQ(numbers->Integer(numbers->Sample(3), 0), 2);
}

TEST(NpyFileTest, ReadsVersionsTwoAndThree) {
  for (const char* name : {"int32_version2", "int32_version3"}) {
    const Result<NpyFile> file = NpyFile::Open(Fixture(name));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->element(), SampleElement::kInt32);
    EXPECT_EQ(file->Integer(file->Sample(0), 1), -2);
    EXPECT_EQ(file->Integer(file->Sample(1), 1), 2147483647);
  }
}

TEST(NpyFileTest, ReadsDoublesAsTheNearestFloats) {
  const Result<NpyFile> saved = NpyFile::Open(Fixture("float64"));
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->element(), SampleElement::kFloat64);
  EXPECT_EQ(saved->sample_bytes(), 16u);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.npy";
  WriteNpy<double>(path, "<f8", "(2, 3)", {0.1, -2.5, 1e-50, 1e300, -1e300, NAN});
  const Result<NpyFile> file = NpyFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  float row[3];
  file->CopyFloats(file->Sample(0), row);
  EXPECT_EQ(row[0], 0.1f);
  EXPECT_EQ(row[1], -2.5f);
  EXPECT_EQ(row[2], 0.0f);
  file->CopyFloats(file->Sample(1), row);
  EXPECT_EQ(row[0], INFINITY);
  EXPECT_EQ(row[1], -INFINITY);
  EXPECT_TRUE(std::isnan(row[2]));
}

TEST(NpyFileTest, NamesTheArraysItDoesNotTake) {
  const auto argument = StatusCode::kInvalidArgument;
  const TemporaryFolder folder;
  WriteNpy<std::int16_t>(folder.path() + "/i2.npy", "<i2", "(2,)", {1, 2});
  EXPECT_THAT(FailureOf(folder.path() + "/i2.npy", argument),
              HasSubstr("numbers of type '<i2', expected '<f4' or '<f8' (float32, float64)"));
  EXPECT_THAT(FailureOf(Fixture("fortran"), argument), HasSubstr("Fortran order"));
  EXPECT_THAT(FailureOf(Fixture("records"), argument), HasSubstr("array of records"));
  EXPECT_THAT(FailureOf(Fixture("none"), argument), HasSubstr("No such file"));
  EXPECT_THAT(FailureOf(SourceFile("tests"), argument), HasSubstr("no file"));
}

TEST(NpyFileTest, NamesDamage) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.npy";
  const auto expect = [&](const std::string& bytes, const std::string& words) {
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_THAT(FailureOf(path, StatusCode::kInvalidData), HasSubstr(words));
  };
  const std::string good = NpyBytes("<f4", "(2, 3)", std::string(24, '\0'));
  expect("", "is no .npy file");
  expect("PK\3\4" + std::string(20, 'x'), "is no .npy file");
  expect(good.substr(0, good.size() - 1), "has 23 bytes of numbers where its shape needs 24");
  expect(good + 'x', "has 25 bytes");
  std::string version = good;
  version[6] = 9;
  expect(version, "version 9");
  std::string length = good;
  length[9] = '\x7f';
  expect(length, "header is said to take");
  expect(NpyBytes("<f4", "(2, 3", ""), "cannot be read");
  expect(NpyBytes("<f4", "(2, -3)", ""), "cannot be read");
  expect(NpyBytes("<f4", "(99999999999999999999, 1)", ""), "cannot be read");
  expect(NpyBytes("<f4", "(1099511627776, 65536)", ""), "has 0 bytes of numbers");
}

TEST(NpyFileTest, BoundsASample) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.npy";
  for (const char* shape :
       {"()", "(0, 3)", "(2, 0)", "(1, 65537)", "(1, 300, 300)", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"}) {
    std::ofstream(path, std::ios::binary) << NpyBytes("<f4", shape, "");
    EXPECT_THAT(FailureOf(path, StatusCode::kInvalidArgument),
                HasSubstr(std::string("its shape is ") + shape));
  }
}

// Every prefix and every flipped byte of a header is refused or read, never anything else.
TEST(NpyFileTest, SurvivesEveryFlippedByteAndEveryCut) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.npy";
  const std::string good = NpyBytes("<f4", "(2, 3)", std::string(24, '\0'));
  int read = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80'}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      std::ofstream(path, std::ios::binary) << bytes;
      read += NpyFile::Open(path).ok();
    }
    std::ofstream(path, std::ios::binary) << good.substr(0, i);
    EXPECT_FALSE(NpyFile::Open(path).ok()) << i;
  }
  EXPECT_GE(read, 48);  // the flipped numbers themselves
}

}  // namespace
}  // namespace murmurate
