#include "shared/model/weights_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

WeightsFile Example() {
  WeightsFile file;
  file.spec = PolicyAndValue{.spaces = {Box({3}), Discrete(2)},
                             .trunk = {{4, Activation::kTanh}},
                             .normalize_observation = true};
  file.version = 12;
  file.steps = 3456;
  const ParameterLayout layout(file.spec);
  file.parameters = AlignedFloats(layout.total);
  float next = 0.5f;
  for (const TensorSlot& slot : layout.tensors) {
    for (std::size_t i = 0; i < slot.count; ++i) file.parameters[slot.offset + i] = next += 1.0f;
  }
  return file;
}

TEST(WeightsFile, EveryTensorComesBackAndThePaddingIsZero) {
  const WeightsFile file = Example();
  const Result<WeightsFile> read = ParseWeightsFile(Bytes(FormatWeightsFile(file, false)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->spec, file.spec);
  EXPECT_EQ(read->version, 12u);
  EXPECT_EQ(read->steps, 3456u);
  ASSERT_EQ(read->parameters.size(), file.parameters.size());
  EXPECT_TRUE(std::equal(file.parameters.begin(), file.parameters.end(), read->parameters.begin()));
}

TEST(WeightsFile, AFileOfAnEarlierVersionCallsTheValueCritic) {
  const WeightsFile file = Example();
  std::vector<NamedTensor> tensors;
  const ParameterLayout layout(file.spec);
  for (const TensorSlot& slot : layout.tensors) {
    std::string name = slot.name;
    if (name.starts_with("value.")) name = "critic." + name.substr(6);
    tensors.push_back(
        {name, slot.shape, std::span(file.parameters.data() + slot.offset, slot.count)});
  }
  const std::string text =
      "murmurate-model 1\nobservation float32 3\naction discrete 2\ndense 4 tanh\n"
      "separate_value 1\nnormalize_observation 1\n";
  const Result<WeightsFile> read = ParseWeightsFile(Bytes(FormatSafetensors(
      {{"murmurate.spec", text}, {"murmurate.version", "12"}, {"murmurate.steps", "3456"}},
      tensors)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->spec, file.spec);
  EXPECT_EQ(read->spec_hash, Sha256(text));
  EXPECT_TRUE(std::equal(file.parameters.begin(), file.parameters.end(), read->parameters.begin()));
}

TEST(WeightsFile, PolicyFileHoldsOnlyWhatIsPublished) {
  const WeightsFile file = Example();
  const ParameterLayout layout(file.spec);
  const std::string bytes = FormatWeightsFile(file, true);
  EXPECT_EQ(bytes.find("value."), std::string::npos);
  const Result<WeightsFile> read = ParseWeightsFile(Bytes(bytes));
  ASSERT_TRUE(read.ok()) << read.status();
  for (std::size_t i = 0; i < layout.total; ++i) {
    const bool value = i >= layout.published.count && i < layout.statistics.offset;
    EXPECT_EQ(read->parameters[i], value ? 0.0f : file.parameters[i]) << i;
  }
}

std::string Replaced(std::string bytes, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  return bytes.replace(bytes.find(from), from.size(), to);
}

TEST(WeightsFile, WhatDoesNotFitTheSpecIsRefusedByName) {
  const std::string bytes = FormatWeightsFile(Example(), false);
  const auto message = [](const std::string& changed) {
    return ParseWeightsFile(Bytes(changed)).status().message();
  };
  EXPECT_NE(message(Replaced(bytes, "policy.0.bias", "policy.1.bias")).find("\"policy.0.bias\""),
            std::string::npos);
  EXPECT_NE(message(Replaced(bytes, "value.0.bias", "value.1.bias")).find("\"value.0.bias\""),
            std::string::npos);
  EXPECT_NE(message(Replaced(bytes, "float32 3", "float32 9")).find("has the shape [3,4]"),
            std::string::npos);
  EXPECT_NE(message(Replaced(bytes, "dense 4", "dense 0")).find("dense 0"), std::string::npos);
  EXPECT_NE(message(Replaced(bytes, "\"12\"", "\"1x\"")).find("murmurate.version"),
            std::string::npos);
  EXPECT_NE(message(Replaced(bytes, "murmurate.spec", "murmurate.spic")).find("murmurate.spec"),
            std::string::npos);
  EXPECT_NE(message(Replaced(bytes, "normalize_observation 1", "normalize_observation 0"))
                .find("does not know"),
            std::string::npos);
}

TEST(WeightsFile, SpecThatAsksForFarMoreThanTheFileHoldsIsRefused) {
  ModelSpec spec = Example().spec;
  spec.networks[0].trunk = {{8192, Activation::kTanh}, {8192, Activation::kTanh}};
  const std::string bytes = FormatSafetensors(
      {{"murmurate.spec", spec.ToText()}, {"murmurate.version", "1"}, {"murmurate.steps", "1"}},
      {});
  const Result<WeightsFile> read = ParseWeightsFile(Bytes(bytes));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("has 0 numbers"), std::string::npos) << read.status();
}

TEST(WeightsFile, NumbersThatAreNotFiniteAreRefused) {
  WeightsFile file = Example();
  file.parameters[0] = std::numeric_limits<float>::quiet_NaN();
  const Result<WeightsFile> read = ParseWeightsFile(Bytes(FormatWeightsFile(file, false)));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("\"policy.0.weight\""), std::string::npos);
}

TEST(WeightsFile, TruncationAtEveryByteIsRefused) {
  const std::string bytes = FormatWeightsFile(Example(), false);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseWeightsFile(Bytes(bytes.substr(0, size))).ok()) << size;
  }
}

TEST(WeightsFile, ReadNamesThePath) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("murmurate-weights-" + std::to_string(getpid())))
          .string();
  EXPECT_NE(ReadWeightsFile(path).status().message().find(path), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(path, Bytes("12345678")).ok());
  EXPECT_NE(ReadWeightsFile(path).status().message().find(path), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(path, Bytes(FormatWeightsFile(Example(), true))).ok());
  EXPECT_TRUE(ReadWeightsFile(path).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace murmurate
