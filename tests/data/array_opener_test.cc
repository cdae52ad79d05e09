// OpenArray: every kind of file gives the numbers that are in it, and names what it does not take.
#include "server/data/array_opener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "server/data/array_source.h"
#include "server/data/csv_table.h"
#include "server/data/hdf5_plug_in.h"
#include "tests/data/npy_writer.h"
#include "tests/operate/temporary_folder.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> FloatsOf(const SampleArray& array) {
  std::vector<float> numbers(array.samples() * array.sample_elements());
  for (std::uint64_t i = 0; i < array.samples(); ++i) {
    const std::byte* const sample = array.Sample(i);
    if (sample == nullptr) return {};
    array.CopyFloats(sample, numbers.data() + i * array.sample_elements());
  }
  return numbers;
}

/// 0, 1/8, 2/8, ...
std::vector<float> Counted(std::size_t count) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i) / 8);
  return numbers;
}

class ArrayOpenerTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + '/' + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  static std::string FailureOf(const std::string& path, StatusCode code,
                               ArrayUse use = ArrayUse::kObservations) {
    const auto array = OpenArray(path, use);
    if (array.ok()) return "was opened";
    EXPECT_EQ(array.status().code(), code) << array.status();
    return array.status().message();
  }
  TemporaryFolder folder_;
};

TEST_F(ArrayOpenerTest, TellsAFileFromWhatIsMeantOfIt) {
  const auto split = [](const std::string& path) {
    const ArrayPath found = SplitArrayPath(path);
    return found.file + '|' + found.part;
  };
  EXPECT_EQ(split("/a/x.npy"), "/a/x.npy|");
  EXPECT_EQ(split("/a/d.h5:/g/x"), "/a/d.h5|/g/x");
  EXPECT_EQ(split("/a/t.csv:a,b"), "/a/t.csv|a,b");
  EXPECT_EQ(split("/a:b/x-*.hdf5:y"), "/a:b/x-*.hdf5|y");
  EXPECT_EQ(split("/a:b/x"), "/a:b/x|");
  Write("odd.h5:x", "");
  EXPECT_EQ(split(Path("odd.h5:x")), Path("odd.h5:x") + '|');  // a file of that very name
}

TEST_F(ArrayOpenerTest, ShardsAreOneArrayInTheOrderOfTheirNames) {
  WriteNpy<float>(Path("x-02.npy"), "<f4", "(1, 2)", {2, 3});
  WriteNpy<float>(Path("x-10.npy"), "<f4", "(2, 2)", {4, 5, 6, 7});
  WriteNpy<float>(Path("x-01.npy"), "<f4", "(1, 2)", {0, 1});
  const auto array = OpenArray(Path("x-*.npy"), ArrayUse::kObservations);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ((*array)->samples(), 4u);
  EXPECT_EQ(FloatsOf(**array), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_EQ((*array)->files().size(), 3u);
  EXPECT_EQ((*array)->files()[2].path, Path("x-10.npy"));
  EXPECT_EQ((*array)->files()[2].items, 2u);
}

TEST_F(ArrayOpenerTest, NamesTheShardThatDiffers) {
  WriteNpy<float>(Path("x-1.npy"), "<f4", "(1, 2)", {0, 1});
  WriteNpy<double>(Path("x-2.npy"), "<f8", "(1, 2)", {0, 1});
  WriteNpy<float>(Path("z-1.npy"), "<f4", "(1, 2)", {0, 1});
  WriteNpy<float>(Path("z-2.npy"), "<f4", "(1, 3)", {0, 1, 2});
  EXPECT_THAT(FailureOf(Path("x-*.npy"), StatusCode::kInvalidData),
              HasSubstr(Path("x-2.npy") + ": holds float64 (1, 2) where " + Path("x-1.npy")));
  EXPECT_THAT(FailureOf(Path("z-*.npy"), StatusCode::kInvalidData),
              HasSubstr(Path("z-2.npy") + ": holds float32 (1, 3) where"));
  EXPECT_THAT(FailureOf(Path("none-*.npy"), StatusCode::kInvalidArgument),
              HasSubstr("no file has a name like this"));
}

TEST_F(ArrayOpenerTest, ShardsOfSamplesAndLabelsAreCutAlike) {
  for (const char* i : {"1", "2", "3"}) {
    WriteNpy<float>(Path(std::string("x-") + i + ".npy"), "<f4", "(2,)", {0, 1});
    WriteNpy<float>(Path(std::string("y-") + i + ".npy"), "<f4", "(2,)", {0, 1});
  }
  const auto open = [&] {
    return ArraySource::Open({{{"", Path("x-*.npy")}}, {{"", Path("y-*.npy")}}});
  };
  EXPECT_TRUE(open().ok());
  EXPECT_EQ((*open())->files().size(), 6u);
  std::remove(Path("y-2.npy").c_str());
  EXPECT_THAT(open().status().message(), HasSubstr("y-*.npy: matches 2 files, the last"));
  WriteNpy<float>(Path("y-2.npy"), "<f4", "(3,)", {0, 1, 2});
  EXPECT_THAT(open().status().message(), HasSubstr(Path("y-2.npy") + ": has 3 samples and"));
}

TEST_F(ArrayOpenerTest, ReadsTheColumnsOfATable) {
  Write("t.csv",
        "\xef\xbb\xbf"
        "a,\"b\",c\r\n1,0.5,2\r\n-3,1e-3,0\r\n\r\n");
  const auto all = OpenArray(Path("t.csv"), ArrayUse::kObservations);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(FloatsOf(**all), (std::vector<float>{1, 0.5, 2, -3, 1e-3f, 0}));
  EXPECT_THAT((*all)->sample_shape(), ElementsAre(3));
  const auto two = OpenArray(Path("t.csv:c,a"), ArrayUse::kObservations);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(FloatsOf(**two), (std::vector<float>{2, 1, 0, -3}));
  const auto classes = OpenArray(Path("t.csv:c"), ArrayUse::kLabels);
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ((*classes)->element(), SampleElement::kInt64);
  EXPECT_EQ((*classes)->Integer((*classes)->Sample(0), 0), 2);
  const auto floats = OpenArray(Path("t.csv:c as float"), ArrayUse::kLabels);
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_EQ(FloatsOf(**floats), (std::vector<float>{2, 0}));
  Write("semicolons.csv", "a;b\n1;2\n");
  const auto other = OpenArray(Path("semicolons.csv:b"), ArrayUse::kObservations);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(FloatsOf(**other), (std::vector<float>{2}));
}

TEST_F(ArrayOpenerTest, NamesTheLineAndColumnOfATableThatCannotBeRead) {
  const auto data = StatusCode::kInvalidData;
  Write("t.csv", "a,b\n1,2\n3,x\n");
  EXPECT_THAT(FailureOf(Path("t.csv"), data), HasSubstr("line 3, column b: holds \"x\""));
  EXPECT_TRUE(OpenArray(Path("t.csv:a"), ArrayUse::kObservations).ok());
  EXPECT_THAT(FailureOf(Path("t.csv:a,q"), StatusCode::kInvalidArgument),
              HasSubstr("has no column \"q\"; it has a, b"));
  Write("short.csv", "a,b\n1,2\n3\n");
  EXPECT_THAT(FailureOf(Path("short.csv"), data), HasSubstr("line 3 has 1 fields"));
  Write("gap.csv", "a,b\n1,\n");
  EXPECT_THAT(FailureOf(Path("gap.csv"), data), HasSubstr("line 2, column b: holds nothing"));
  Write("bare.csv", "1,2\n3,4\n");
  EXPECT_THAT(FailureOf(Path("bare.csv"), data), HasSubstr("line 1 holds \"1\" where the name"));
  Write("twice.csv", "a,a\n3,4\n");
  EXPECT_THAT(FailureOf(Path("twice.csv"), data), HasSubstr("two columns are named a"));
  Write("header.csv", "a,b\n");
  EXPECT_THAT(FailureOf(Path("header.csv"), data), HasSubstr("no line behind its header"));
  Write("empty.csv", "");
  EXPECT_THAT(FailureOf(Path("empty.csv"), data), HasSubstr("write a header"));
}

TEST_F(ArrayOpenerTest, SaysHowAKindThatIsNotReadIsConverted) {
  EXPECT_THAT(FailureOf("/d/t.parquet", StatusCode::kInvalidArgument),
              HasSubstr("`python3 -m murmurate.arrays /d/t.parquet --to folder`"));
}

class Hdf5Test : public ArrayOpenerTest {
 protected:
  void SetUp() override {
    if (!hdf5::IsThere()) GTEST_SKIP() << "built without libhdf5-dev";
  }
  const std::string file_ = SourceFile("tests/fixtures/layouts.h5");
};

TEST_F(Hdf5Test, ReadsEveryLayoutThatH5pyWrote) {
  for (const char* name : {"plain", "group/double", "chunks", "gzip", "big_endian"}) {
    const auto array = OpenArray(file_ + ":/" + name, ArrayUse::kObservations);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(FloatsOf(**array), Counted(36)) << name;
    EXPECT_THAT((*array)->sample_shape(), ElementsAre(3));
  }
  const auto shifted =
      OpenArray(SourceFile("tests/fixtures/user_block.h5:x"), ArrayUse::kObservations);
  ASSERT_TRUE(shifted.ok()) << shifted.status();
  EXPECT_EQ(FloatsOf(**shifted), Counted(36));
  for (const char* name : {"labels", "labels32"}) {
    const auto labels = OpenArray(file_ + ':' + name, ArrayUse::kLabels);
    ASSERT_TRUE(labels.ok()) << labels.status();
    EXPECT_EQ((*labels)->Integer((*labels)->Sample(11), 0), 3);
  }
  const auto bytes = OpenArray(file_ + ":bytes", ArrayUse::kObservations);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ((*bytes)->Integer((*bytes)->Sample(11), 2), 35);
}

TEST_F(Hdf5Test, ThreadsUnpackTheSameNumbers) {
  const auto array = OpenArray(file_ + ":gzip", ArrayUse::kObservations);
  ASSERT_TRUE(array.ok()) << array.status();
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (auto& one : found) threads.emplace_back([&] { one = FloatsOf(**array); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : found) EXPECT_EQ(one, Counted(36));
}

TEST_F(Hdf5Test, NamesTheDataSetsItDoesNotTake) {
  const auto argument = StatusCode::kInvalidArgument;
  EXPECT_THAT(FailureOf(file_, argument), HasSubstr("has several data sets or none (/big_endian,"));
  EXPECT_THAT(FailureOf(file_ + ":q", argument), HasSubstr("has no data set /q; it has"));
  EXPECT_THAT(FailureOf(file_ + ":half", argument), HasSubstr("holds float16, expected float32"));
  EXPECT_THAT(FailureOf(file_ + ":words", argument), HasSubstr("no plain number"));
  EXPECT_THAT(FailureOf(file_ + ":lzf", argument), HasSubstr("packed by the filter lzf"));
  EXPECT_THAT(FailureOf(file_ + ":empty", argument), HasSubstr("its shape is (0, 3)"));
  EXPECT_THAT(FailureOf(file_ + ":number", argument), HasSubstr("its shape is ()"));
  EXPECT_THAT(FailureOf(Path("none.h5:x"), argument), HasSubstr("No such file"));
}

// A cut file is refused; numbers that are damaged are found when they are unpacked (fletcher32), and
// named.
TEST_F(Hdf5Test, NamesDamage) {
  std::ifstream stream(file_, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(stream)), {});
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, good.size() / 2}) {
    Write("cut.h5", good.substr(0, length));
    EXPECT_THAT(FailureOf(Path("cut.h5:gzip"), StatusCode::kInvalidData),
                HasSubstr("is no HDF5 file that can be read"));
  }
  int named = 0;
  for (std::size_t i = 0; i < good.size() && named == 0; ++i) {
    if (good[i] != 'x' || good[i + 1] != '^') continue;  // zlib's first bytes at level 4
    std::string bytes = good;
    bytes[i + 4] = static_cast<char>(bytes[i + 4] ^ 0x55);
    Write("bad.h5", bytes);
    const auto array = OpenArray(Path("bad.h5:gzip"), ArrayUse::kObservations);
    if (!array.ok() || !FloatsOf(**array).empty()) continue;
    EXPECT_EQ((*array)->Fault().code(), StatusCode::kInvalidData);
    EXPECT_THAT((*array)->Fault().message(), HasSubstr("samples 0 to 11 cannot be unpacked"));
    ++named;
  }
  EXPECT_EQ(named, 1);
}

}  // namespace
}  // namespace murmurate
