#include "server/config/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "server/config/config_text.h"
#include "server/config/model_settings.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/weights_file.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

const Spaces kSpaces{Box({4}), Discrete(2)};

class InitialWeightsTest : public ::testing::Test {
 protected:
  InitialWeightsTest()
      : folder_(fs::temp_directory_path() / ("murmurate-initial-" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "deep");
  }
  ~InitialWeightsTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ / name;
    EXPECT_TRUE(WriteFileAtomically(path, std::as_bytes(std::span<const char>(bytes))).ok());
    return path;
  }
  /// A file of our own for the layers of `trunk`, every number a half.
  std::string WriteWeights(const std::string& name, const std::string& trunk,
                           bool published_only) const {
    WeightsFile file{
        *ModelSpec::Parse("murmurate-model 1\nobservation float32 4\naction discrete 2\n" + trunk +
                          "separate_value 1\nnormalize_observation 1\n"),
        1,
        1,
        {}};
    const ParameterLayout layout(file.spec);
    file.parameters = AlignedFloats(layout.total);
    for (const TensorSlot& slot : layout.tensors)
      std::fill_n(file.parameters.data() + slot.offset, slot.count, 0.5f);
    return Write(name, FormatWeightsFile(file, published_only));
  }
  /// The settings of a config in our folder, with `line` in [model].
  ModelSettings SettingsWith(const std::string& line, const Spaces& spaces = kSpaces) const {
    const std::string path = Write("c.toml", "[model]\nlayers = [8]\n" + line + '\n');
    const auto source = FindConfig(path);
    EXPECT_TRUE(source.ok()) << source.status();
    const auto config = Config::Load(*source, {});
    EXPECT_TRUE(config.ok()) << config.status();
    return *ModelFor(*config, "default", spaces);
  }
  std::string Report(const std::string& line, const Spaces& spaces = kSpaces) const {
    const ModelSettings settings = SettingsWith(line, spaces);
    const auto files = ReadInitialFiles({settings.initial_file});
    if (!files.ok()) return files.status().message();
    const auto weights = MatchInitialFile(settings.initial_file, *files, settings.spec);
    return weights.ok() ? weights->report : weights.status().message();
  }

  const fs::path folder_;
};

TEST_F(InitialWeightsTest, RelativePathsStartFromTheConfigsFolder) {
  const std::string path = WriteWeights("deep/w.safetensors", "dense 8 tanh\n", false);
  EXPECT_EQ(SettingsWith("initialize_from = \"deep/w.safetensors\"").initial_file.path, path);
  EXPECT_EQ(SettingsWith("initialize_from = \"deep/../deep/w.safetensors\"").initial_file.path,
            path);
  EXPECT_EQ(SettingsWith("initialize_from = \"" + path + "\"").initial_file.path, path);
  EXPECT_EQ(SettingsWith("").initial_file.path, "");
  const auto set = Config::Load({"c.toml", "c", "", folder_}, {{"model.initialize_from", "w"}});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(ModelFor(*set, "default", kSpaces)->initial_file.path, fs::current_path() / "w")
      << "typed in the shell, from where the shell is";
  const auto again = Config::Load({"resolved", "other", ResolvedToml(*set), "/elsewhere"}, {});
  EXPECT_EQ(ModelFor(*again, "default", kSpaces)->initial_file.path, fs::current_path() / "w");
}

TEST_F(InitialWeightsTest, TheReportNamesWhatMatchedAndWhatDidNot) {
  const std::string all = WriteWeights("all", "dense 8 tanh\n", false);
  // 4 x 8 + 8, 8 x 2 + 2; again 4 x 8 + 8, then 8 + 1; 1 + 4 + 4
  EXPECT_EQ(Report("initialize_from = \"all\""),
            "initialize_from " + all + ": 11 of 11 tensors (116 of 116 numbers) taken");
  const std::string published = WriteWeights("published", "dense 8 tanh\n", true);
  EXPECT_EQ(Report("initialize_from = \"published\""),
            "initialize_from " + published +
                ": 7 of 11 tensors (67 of 116 numbers) taken; not in the file: value.0.weight, "
                "value.0.bias, value.head.weight, value.head.bias");
  const std::string other = WriteWeights("other", "dense 8 tanh\ndense 6 tanh\n", true);
  EXPECT_EQ(Report("initialize_from = \"other\""),
            "initialize_from " + other +
                ": 6 of 11 tensors (51 of 116 numbers) taken; not in the file: value.0.weight, "
                "value.0.bias, value.head.weight, value.head.bias; of another shape: "
                "policy.head.weight (file 6 2, model 8 2); not used: policy.1.bias, "
                "policy.1.weight");
}

TEST_F(InitialWeightsTest, AFileInOtherUnitsOfActionIsNamed) {
  const Spaces spaces{Box({4}), Box({1}, 0, 100)};
  const auto report = [&](const std::string& of_file, const std::string& of_model) {
    const ModelSpec spec = SettingsWith("scale_actions = " + of_file, spaces).spec;
    WeightsFile file{spec, 1, 1, AlignedFloats(ParameterLayout(spec).total)};
    Write("w", FormatWeightsFile(file, false));
    return Report("initialize_from = \"w\"\nscale_actions = " + of_model, spaces);
  };
  EXPECT_THAT(report("false", "true"), HasSubstr("model.scale_actions = false keeps it"));
  EXPECT_THAT(report("true", "false"), HasSubstr("model.scale_actions = true keeps it"));
  EXPECT_THAT(report("true", "true"), ::testing::Not(HasSubstr("scale_actions")));
  EXPECT_THAT(report("false", "false"), ::testing::Not(HasSubstr("scale_actions")));
}

TEST_F(InitialWeightsTest, LongListsAreCutShort) {
  const std::vector<float> numbers(8);
  std::vector<NamedTensor> tensors = {{"policy.0.bias", {8}, numbers}};
  for (int i = 10; i < 30; ++i) tensors.push_back({"t" + std::to_string(i), {8}, numbers});
  Write("many", FormatSafetensors({}, tensors));
  EXPECT_THAT(Report("initialize_from = \"many\""), ::testing::EndsWith("t20, t21 and 8 more"));
}

TEST_F(InitialWeightsTest, EveryRefusalSaysWhereAndWhatToDo) {
  const std::string where = (folder_ / "c.toml").string() + ":3: model.initialize_from: ";
  EXPECT_EQ(Report("initialize_from = \"none\""),
            where + (folder_ / "none").string() +
                ": there is no such file; give the path of a safetensors file, relative to the "
                "config's folder");
  EXPECT_EQ(Report("initialize_from = \"deep\""),
            where + (folder_ / "deep").string() +
                ": is a folder where a safetensors file or a checkpoint was expected; name the "
                "file in it, or of a run RUN/checkpoints/latest");
  Write("text", "what is this?");
  EXPECT_THAT(Report("initialize_from = \"text\""),
              ::testing::StartsWith(where + (folder_ / "text").string() +
                                    ": no safetensors file that can be read: "));
  const float number = 1;
  Write("strange", FormatSafetensors({}, std::vector<NamedTensor>{{"a", {1}, {&number, 1}}}));
  EXPECT_THAT(Report("initialize_from = \"strange\""),
              ::testing::StartsWith(where + (folder_ / "strange").string() +
                                    ": no tensor has the name and the shape"));
}

/// [4, 8] to [8, 4] and so on, all numbers alike: what a user of PyTorch saves.
std::string TorchFile(const std::string& first,
                      const std::map<std::string, std::string>& metadata) {
  static const std::vector<float> kNumbers(64, 0.25f);
  const auto some = [](std::size_t n) { return std::span(kNumbers).first(n); };
  return FormatSafetensors(metadata, std::vector<NamedTensor>{{first + ".weight", {8, 4}, some(32)},
                                                              {first + ".bias", {8}, some(8)},
                                                              {"other", {2}, some(2)}});
}

TEST_F(InitialWeightsTest, TensorsOfPytorchAreTurned) {
  Write("torch", TorchFile("policy.0", {}));
  const std::string taken = "2 of 11 tensors (40 of 116 numbers) taken";
  EXPECT_THAT(Report("initialize_from = \"torch\""), HasSubstr("1 of 11 tensors (8 of 116"));
  EXPECT_THAT(Report("initialize_from = \"torch\"\ninitialize_layout = \"pytorch\""),
              HasSubstr(taken));
  Write("said", TorchFile("policy.0", {{"murmurate.layout", "pytorch"}}));
  EXPECT_THAT(Report("initialize_from = \"said\""), HasSubstr(taken));
  EXPECT_THAT(Report("initialize_from = \"said\"\ninitialize_layout = \"murmurate\""),
              HasSubstr("of another shape: policy.0.weight (file 8 4, model 4 8)"));
}

TEST_F(InitialWeightsTest, TensorsOfOtherNamesAreTakenByAMap) {
  Write("torch", TorchFile("actor.fc1", {}));
  const std::string layout = "initialize_from = \"torch\"\ninitialize_layout = \"pytorch\"\n";
  const std::string with = layout + "initialize_map = \"names\"";
  EXPECT_THAT(Report(layout), HasSubstr("no tensor has the name and the shape"));
  Write("names", "\"policy.0\" = \"actor.fc1\"\n");
  EXPECT_THAT(Report(with), HasSubstr("2 of 11 tensors (40 of 116 numbers) taken"));
  EXPECT_THAT(Report(with), HasSubstr("; not used: other"));
  const std::string where = (folder_ / "c.toml").string() +
                            ":5: model.initialize_map: " + (folder_ / "names").string() + ": ";
  Write("names", "\"policy.0\" = \"actor.fc2\"\n");
  EXPECT_EQ(Report(with), where +
                              "line 1: the file has no tensor \"actor.fc2\"; it has "
                              "actor.fc1.weight, actor.fc1.bias, other");
  Write("names", "policy.0: actor.fc1\n");
  EXPECT_THAT(Report(with), ::testing::StartsWith(where + "line 1: \"policy.0: actor.fc1\" where"));
  fs::remove(folder_ / "names");
  EXPECT_THAT(Report(with), ::testing::StartsWith(where));
  EXPECT_THAT(Report(with), HasSubstr("name a file with lines such as"));
}

TEST_F(InitialWeightsTest, AMapAloneIsRefused) {
  Write("c.toml", "[model]\nlayers = [8]\ninitialize_map = \"names\"\n");
  const auto config = Config::Load(*FindConfig(folder_ / "c.toml"), {});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(ReadInitialFiles(InitialFilesOf(*config)).status().message(),
              HasSubstr(":3: model.initialize_map: " + (folder_ / "names").string() +
                        ": it names the tensors of a file, and initialize_from names none"));
}

TEST_F(InitialWeightsTest, ALayoutAloneIsRefused) {
  const auto config =
      Config::Load({"c.toml", "c", "[model]\ninitialize_layout = \"pytorch\"\n"}, {});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ReadInitialFiles(InitialFilesOf(*config)).status().message(),
            "c.toml:2: model.initialize_layout: it says how the tensors of a file lie, and "
            "initialize_from names none; name one, or take this setting out");
}

TEST_F(InitialWeightsTest, AModelsOwnSettingIsNamedAsItStands) {
  const auto config = Config::Load(
      {"c.toml", "c", "[model]\ninitialize_from = \"/a\"\n[model.npc]\ninitialize_from = \"/b\"\n"},
      {});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ModelFor(*config, "npc", kSpaces)->initial_file.origin,
            "c.toml:4: model.npc.initialize_from");
  EXPECT_EQ(ModelFor(*config, "npc", kSpaces)->initial_file.path, "/b");
  EXPECT_EQ(ModelFor(*config, "default", kSpaces)->initial_file.origin,
            "c.toml:2: model.initialize_from");
  EXPECT_EQ(ModelFor(*config, "default", kSpaces)->initial_file.path, "/a");
}

}  // namespace
}  // namespace murmurate
