// A kind of layer is known in at most six files: its row of the table, what a client does for it,
// what the learner does, on a device, too, what it is in ONNX, and one more (a recurrent layer's
// cell, the kind that a layer has by default).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

#include "tests/house/code_text.h"

namespace murmurate {
namespace {

constexpr char kTable[] = "shared/model/layer_kinds.h";

/// The X of each "Kind::kX" in `code`.
std::set<std::string> KindsIn(const std::string& code) {
  constexpr std::string_view kBefore = "Kind::k";
  std::set<std::string> kinds;
  for (std::size_t at = 0; (at = code.find(kBefore, at)) != std::string::npos;) {
    std::size_t end = at += kBefore.size();
    while (end < code.size() && std::isalnum(static_cast<unsigned char>(code[end])) != 0) ++end;
    kinds.insert(code.substr(at, end - at));
  }
  return kinds;
}

TEST(LayerKinds, AreNamedInAtMostSixFiles) {
  std::map<std::string, std::set<std::string>> files;
  const std::vector<CodeFile> code = CodeFiles();
  for (const CodeFile& file : code)
    if (file.name == kTable)
      for (const std::string& kind : KindsIn(file.text)) files[kind] = {};
  ASSERT_GE(files.size(), 10u);
  ASSERT_TRUE(files.contains("LayerNorm"));
  for (const CodeFile& file : code)
    for (const std::string& kind : KindsIn(file.text))
      if (files.contains(kind)) files[kind].insert(file.name);
  for (const auto& [kind, named] : files) {
    std::string list;
    for (const std::string& file : named) list += " " + file;
    EXPECT_LE(named.size(), 6u) << kind << " is named in" << list
                                << "; ask a property of its LayerForm";
    EXPECT_GE(named.size(), 2u) << kind << " is named in" << list;
  }
}

/// The text of a file of the code.
std::string TextOf(const std::string& name) {
  for (const CodeFile& file : CodeFiles())
    if (file.name == name) return file.text;
  ADD_FAILURE() << "there is no " << name;
  return "";
}

TEST(LayerKinds, HaveARowEachOfTheTableAndOfWhatClientAndLearnerDo) {
  const std::string table = TextOf(kTable);
  const std::size_t begin = table.find("enum class LayerKind");
  const std::string listed = table.substr(begin, table.find("};", begin) - begin);
  const auto count = std::count(listed.begin(), listed.end(), ',');
  const std::set<std::string> rows = KindsIn(table);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(rows.size()), count) << "a row for each enumerator";
  const std::set<std::string> client = KindsIn(TextOf("shared/inference/policy_steps.cc"));
  const std::set<std::string> exported = KindsIn(TextOf("server/exchange/onnx_layers.cc"));
  std::set<std::string> learner, device;
  for (const CodeFile& file : CodeFiles()) {
    if (file.name.starts_with("server/network/")) learner.merge(KindsIn(file.text));
    if (file.name.starts_with("server/device/")) device.merge(KindsIn(file.text));
  }
  for (const std::string& kind : rows) {
    EXPECT_TRUE(client.contains(kind)) << kind << " has no row of kOps in policy_steps.cc";
    EXPECT_TRUE(exported.contains(kind)) << kind << " has no row of kEmits in onnx_layers.cc";
    if (kind == "Flatten") continue;  // for which the learner does nothing
    EXPECT_TRUE(device.contains(kind)) << kind << " has no DeviceLayerMaker in server/device";
    // A layer with gates is a RecurrentLayer.
    if (kind == "Lstm" || kind == "Gru") continue;
    EXPECT_TRUE(learner.contains(kind)) << kind << " has no LayerMaker in server/network";
  }
}

TEST(LayerKinds, AreSeenWhereverTheyAreNamed) {
  EXPECT_EQ(KindsIn("if (k == Layer::Kind::kAdd || LayerKind::kGru == k) x = kDense;"),
            (std::set<std::string>{"Add", "Gru"}));
}

}  // namespace
}  // namespace murmurate
