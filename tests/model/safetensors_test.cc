#include "shared/model/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/source_file.h"

namespace murmurate {
namespace {

Result<SafetensorsFile> Parse(const std::string& bytes) {
  // An exact copy on the heap: AddressSanitizer sees any byte read outside it.
  const std::vector<std::byte> exact(
      reinterpret_cast<const std::byte*>(bytes.data()),
      reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size());
  return ParseSafetensors(exact);
}

std::string WithHeader(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header +
         std::string(data_bytes, '\0');
}

std::string Golden() {
  const std::string path = SourceFile("tests/fixtures/model.safetensors");
  Result<std::string> bytes = ReadFile(path, 4096);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

TEST(Safetensors, ReadsWhatThePythonPackageWrote) {
  const Result<SafetensorsFile> file = Parse(Golden());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors.size(), 3u);
  const NamedTensor* weight = file->Find("policy.0.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (std::vector<int>{2, 3}));
  EXPECT_EQ(std::vector<float>(weight->values.begin(), weight->values.end()),
            (std::vector<float>{0.5f, -1.25f, 2.0f, 3.0f, 1e-3f, -7.5f}));
  const NamedTensor* bias = file->Find("policy.0.bias");
  ASSERT_NE(bias, nullptr);
  EXPECT_TRUE(std::signbit(bias->values[1]));
  const NamedTensor* scalar = file->Find("scalar");
  ASSERT_NE(scalar, nullptr);
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->values[0], 42.0f);
  EXPECT_EQ(file->Find("nothing"), nullptr);
  EXPECT_EQ(file->metadata.at("made by"), "safetensors");
  EXPECT_EQ(file->metadata.at("quoted \"\xc3\xa9\""), "a\\b\nc");
}

TEST(Safetensors, WritesTheBytesOfTheFormat) {
  const std::vector<float> values = {1.0f, 2.0f, 3.0f};
  const std::vector<NamedTensor> tensors = {{"b", {2}, std::span(values).first(2)},
                                            {"a\"\n", {1, 1}, std::span(values).last(1)}};
  const std::string bytes = FormatSafetensors({{"k", "v\\"}}, tensors);
  const std::string header =
      "{\"__metadata__\":{\"k\":\"v\\\\\"},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"a\\\"\\u000a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[8,12]}}";
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), 8);
  EXPECT_EQ((8 + size) % 64, 0u) << "the data begin on a cache line";
  EXPECT_EQ(bytes.substr(8, header.size()), header);
  EXPECT_EQ(bytes.substr(8 + header.size(), size - header.size()),
            std::string(size - header.size(), ' '));
  EXPECT_EQ(bytes.substr(8 + size), std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12));
}

TEST(Safetensors, ParseGivesBackWhatFormatWrote) {
  const std::vector<float> values = {1.0f, 2.0f, 3.0f};
  const std::vector<NamedTensor> tensors = {{"z", {2}, std::span(values).first(2)},
                                            {"empty", {0, 7}, {}},
                                            {"a\"\n", {1, 1}, std::span(values).last(1)}};
  const Result<SafetensorsFile> file = Parse(FormatSafetensors({{"k", "v\x01"}}, tensors));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("k"), "v\x01");
  ASSERT_NE(file->Find("a\"\n"), nullptr);
  EXPECT_EQ(file->Find("a\"\n")->values[0], 3.0f);
  ASSERT_NE(file->Find("empty"), nullptr);
  EXPECT_EQ(file->Find("empty")->values.size(), 0u);
  EXPECT_TRUE(Parse(FormatSafetensors({}, {})).ok());
}

TEST(Safetensors, TruncationAtEveryByteIsRefused) {
  const std::string bytes = Golden();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Parse(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(Parse(bytes + "x").ok());
}

TEST(Safetensors, EveryFlippedBitOfTheHeaderIsSurvived) {
  const std::string bytes = Golden();
  for (std::size_t bit = 0; bit < 8 * 0x110; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Result<SafetensorsFile> file = Parse(flipped);
    EXPECT_EQ(file.ok(), file.status().message().empty());
  }
}

struct Bad {
  const char* header;
  const char* says;
  std::size_t data_bytes = 8;
};

class BadHeader : public testing::TestWithParam<Bad> {};

TEST_P(BadHeader, IsAStatusThatSaysWhy) {
  const Result<SafetensorsFile> file = Parse(WithHeader(GetParam().header, GetParam().data_bytes));
  ASSERT_FALSE(file.ok()) << GetParam().header;
  EXPECT_NE(file.status().message().find(GetParam().says), std::string::npos) << file.status();
}

#define TENSOR(type, shape, offsets) \
  "{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

INSTANTIATE_TEST_SUITE_P(
    Safetensors, BadHeader,
    testing::Values(
        Bad{"", "'{'"}, Bad{"[]", "'{'"}, Bad{"{", "\""}, Bad{"{}x", "the end"},
        Bad{"{},", "the end"},
        Bad{"{\"a\":" TENSOR("F32", "2", "0,8") "}", "after the last tensor", 12},
        Bad{"{\"a\":" TENSOR("F16", "2", "0,8") "}", "tensor \"a\""},
        Bad{"{\"a\":" TENSOR("F32", "3", "0,8") "}", "its shape takes 12"},
        Bad{"{\"a\":" TENSOR("F32", "2", "0,12") "}", "cut off"},
        Bad{"{\"a\":" TENSOR("F32", "2", "8,0") "}", "hole"},
        Bad{"{\"a\":" TENSOR("F32", "2", "4,12") "}", "hole before it", 12},
        Bad{"{\"a\":" TENSOR("F32", "2", "0,8") ",\"b\":" TENSOR("F32", "2", "4,12") "}",
            "tensor \"b\" of the safetensors data overlaps", 12},
        Bad{"{\"a\":" TENSOR("F32", "1", "0,4") ",\"a\":" TENSOR("F32", "1", "4,8") "}",
            "tensor \"a\" occurs twice"},
        Bad{"{\"a\":" TENSOR("F32", "2147483647,2147483647,2147483647", "0,8") "}", "tensor \"a\""},
        Bad{"{\"a\":" TENSOR("F32", "4294967296", "0,8") "}", "dimension"},
        Bad{"{\"a\":" TENSOR("F32", "99999999999999999999", "0,8") "}", "tensor \"a\""},
        Bad{"{\"a\":" TENSOR("F32", "1,1,1,1,1,1,1,1,2", "0,8") "}", "at most 8"},
        Bad{"{\"a\":" TENSOR("F32", "-2", "0,8") "}", "whole number"},
        Bad{"{\"a\":" TENSOR("F32", "2.0", "0,8") "}", "tensor \"a\""},
        Bad{"{\"a\":" TENSOR("F32", "02", "0,8") "}", "leading zeros"},
        Bad{"{\"a\":" TENSOR("F32", "2", "0") "}", "two data_offsets"},
        Bad{"{\"a\":" TENSOR("F32", "2", "0,8,9") "}", "at most 2"},
        Bad{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "data_offsets"},
        Bad{"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2]}}", "once"},
        Bad{"{\"a\":{\"evil\":1}}", "data_offsets only"}, Bad{"{\"a\":[[[[[[[[[[", "tensor \"a\""},
        Bad{"{\"a\":{\"shape\":[[[[[[[[[[", "whole number"},
        Bad{"{\"__metadata__\":{\"k\":1}}", "'\"'", 0},
        Bad{"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "only once", 0},
        Bad{"{\"__metadata__\":{},\"__metadata__\":{}}", "only one", 0},
        Bad{"{\"a\\x\":1}", "escape", 0}, Bad{"{\"a\\ud800\":1}", "surrogate", 0},
        Bad{"{\"a\\udc00\":1}", "surrogate", 0}, Bad{"{\"a\\u12", "hexadecimal", 0},
        Bad{"{\"a\n\":1}", "control", 0}));

TEST(Safetensors, OtherTypesAreNamedWhereTheyMayBe) {
  // A byte of another type comes first: the numbers do not lie on words.
  const std::string bytes =
      WithHeader(
          "{\"h\":" TENSOR("BOOL", "1", "0,1") ",\"f\":" TENSOR("F32", "2", "1,9") ",\"l\":" TENSOR(
              "I64", "", "9,17") ",\"g\":" TENSOR("F32", "1", "17,21") "}",
          1) +
      std::string("\0\0\x80\x3f\0\0\0\x40????????\0\0\x40\x40", 20);
  EXPECT_NE(Parse(bytes).status().message().find("\"BOOL\""), std::string::npos);
  const auto file =
      ParseSafetensors(std::as_bytes(std::span<const char>(bytes)), OtherTypes::kName);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_NE(file->Find("f"), nullptr);
  EXPECT_EQ(file->Find("f")->values[0], 1.0f);
  EXPECT_EQ(file->Find("f")->values[1], 2.0f);
  EXPECT_EQ(file->Find("g")->values[0], 3.0f);
  ASSERT_EQ(file->others.size(), 2u);
  EXPECT_EQ(file->others[0].name, "h");
  EXPECT_EQ(file->others[1].type, "I64");
  EXPECT_TRUE(file->others[1].shape.empty());
  const auto cut = ParseSafetensors(
      std::as_bytes(std::span<const char>(bytes.data(), bytes.size() - 5)), OtherTypes::kName);
  EXPECT_NE(cut.status().message().find("cut off"), std::string::npos);
  const std::string backwards = WithHeader("{\"h\":" TENSOR("BOOL", "1", "0,0") ",\"i\":" TENSOR(
                                               "BOOL", "1", "0,18446744073709551615") "}",
                                           4);
  EXPECT_FALSE(
      ParseSafetensors(std::as_bytes(std::span<const char>(backwards)), OtherTypes::kName).ok());
}

TEST(Safetensors, SurrogatePairsBecomeUtf8) {
  const Result<SafetensorsFile> file =
      Parse(WithHeader("{\"__metadata__\":{\"k\":\"\\u00e9\\u20ac\\ud83d\\ude00\\/\"}}", 0));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("k"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/");
}

TEST(Safetensors, HugeClaimsAllocateNothing) {
  std::string bytes(8, '\xff');
  EXPECT_NE(Parse(bytes).status().message().find("16777216"), std::string::npos);
  const std::uint64_t size = 16u << 20;
  std::memcpy(bytes.data(), &size, 8);
  EXPECT_NE(Parse(bytes).status().message().find("cut off"), std::string::npos);
}

TEST(Safetensors, DeepNestingAndManyTensorsAreSurvived) {
  std::string deep = "{\"a\":";
  deep.append(1 << 20, '[');
  EXPECT_FALSE(Parse(WithHeader(deep, 0)).ok());
  EXPECT_FALSE(Parse(WithHeader(std::string(1 << 20, '{'), 0)).ok());
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    if (i > 0) header += ',';
    header += '"';
    header += std::to_string(i) + "\":" TENSOR("F32", "0", "0,0");
  }
  EXPECT_EQ(Parse(WithHeader(header + "}", 0))->tensors.size(), 100'000u);
}

}  // namespace
}  // namespace murmurate
