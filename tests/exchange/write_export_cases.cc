// write_export_cases FOLDER: for each of ExportCases a file NAME.onnx, NAME.safetensors, for those
// that ML-Agents can play NAME.unity.onnx, and NAME.reference.safetensors with what the client
// computes of random inputs: tensors "in.INPUT" and "out.OUTPUT", both [steps][batch][...], of
// numbers as float32. A recurrent model is played for 50 steps, others for one.
// python/tests/test_export.py compares.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "server/exchange/export_formats.h"
#include "server/network/actor_critic.h"
#include "server/network/single_network.h"
#include "shared/core/check.h"
#include "shared/inference/action_head.h"
#include "shared/model/safetensors.h"
#include "tests/exchange/export_cases.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

constexpr int kBatch = 5;

struct Column {
  std::vector<int> shape;  ///< of a row
  std::vector<float> values;
};
using Columns = std::map<std::string, Column>;

/// Plays one case and keeps what went in and came out.
class Player {
 public:
  Player(const ExportCase& from, const WeightsFile& file)
      : networks_(from.networks),
        file_(file),
        published_(Published(file)),
        layout_(file.spec),
        rows_(StackedObservation(file.spec)),
        policy_rows_(StackedObservation(published_.spec)),
        policy_(published_.spec),
        head_(ActionLayout(file.spec.spaces.action, file.spec.continuous)),
        steps_(file.spec.recurrent() ? 50 : 1),
        random_(11) {
    const ParameterLayout layout(published_.spec);
    const std::span<const float> all = published_.parameters;
    policy_.Pack(all.subspan(0, layout.published.count),
                 all.subspan(layout.statistics.offset, layout.statistics.count));
    states_.assign(static_cast<std::size_t>(kBatch) * policy_.state_floats(), 0.0f);
  }

  void Play() {
    for (int step = 0; step < steps_; ++step) PlayStep();
    if (file_.spec.recurrent() && !networks_.empty()) {
      RecurrentValue();
    } else {
      for (const std::string& network : networks_) Others(network);
    }
  }

  std::string Bytes() const {
    std::vector<NamedTensor> tensors;
    for (const auto& [side, columns] : {std::pair{"in.", &in_}, std::pair{"out.", &out_}}) {
      for (const auto& [name, column] : *columns) {
        std::vector<int> shape = {steps_, kBatch};
        shape.insert(shape.end(), column.shape.begin(), column.shape.end());
        tensors.push_back({side + name, shape, column.values});
      }
    }
    return FormatSafetensors({}, tensors);
  }

 private:
  std::string NameOf(std::size_t input) const {
    const std::string& name = rows_.inputs()[input].name;
    if (name.empty()) return "observation";
    const auto shown = static_cast<std::size_t>(file_.spec.spaces.observation.leaf_count());
    return input < shown ? "observation." + name : name;
  }

  /// A number of an input as the exported model gets it.
  float Draw(const ObservationInput& input, int i) {
    if (input.element == Element::kUint8) return static_cast<float>(random_.UniformInt(256));
    if (input.element == Element::kInt32)
      return static_cast<float>(random_.UniformInt(
          static_cast<std::uint32_t>(input.categories[static_cast<std::size_t>(i)])));
    const float size = random_.UniformInt(8) == 0 ? 15.0f : 1.5f;  // some are clipped
    return size * static_cast<float>(random_.Normal());
  }

  static void Put(const ObservationInput& input, int i, float value, std::byte* row) {
    std::byte* const at = row + input.offset_bytes + (input.element == Element::kUint8 ? 1 : 4) * i;
    const auto put = [&](auto number) { std::memcpy(at, &number, sizeof number); };
    if (input.element == Element::kUint8) return put(static_cast<std::uint8_t>(value));
    if (input.element == Element::kInt32) return put(static_cast<std::int32_t>(value));
    put(input.name == "previous_reward" ? ReducedReward(value) : value);
  }

  void DrawRow(std::byte* row, std::byte* policy_row) {
    for (std::size_t k = 0; k < rows_.inputs().size(); ++k) {
      const ObservationInput& input = rows_.inputs()[k];
      const bool shown = k < policy_rows_.inputs().size();
      Column& column = in_[NameOf(k)];
      column.shape = input.shape;
      for (int i = 0; i < input.elements; ++i) {
        const float value = Draw(input, i);
        column.values.push_back(value);
        Put(input, i, value, row);
        if (shown) Put(policy_rows_.inputs()[k], i, value, policy_row);
      }
    }
  }

  void PlayStep() {
    const std::size_t first = all_rows_.size();
    all_rows_.resize(first + kBatch * rows_.row_bytes());
    std::vector<std::byte> policy_rows(kBatch * policy_rows_.row_bytes());
    for (std::size_t r = 0; r < kBatch; ++r)
      DrawRow(all_rows_.data() + first + r * rows_.row_bytes(),
              policy_rows.data() + r * policy_rows_.row_bytes());
    std::vector<float> outputs(static_cast<std::size_t>(kBatch) * policy_.outputs());
    std::vector<float> scratch(policy_.ScratchFloats(kBatch));
    policy_.Forward(policy_rows.data(), kBatch, outputs.data(), scratch.data(),
                    states_.empty() ? nullptr : states_.data());
    for (std::size_t r = 0; r < kBatch; ++r)
      Act(outputs.data() + r * static_cast<std::size_t>(policy_.outputs()));
  }

  /// Forbids a third of the choices, now and then all of a variable.
  std::vector<std::uint8_t> DrawMask() {
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(head_.layout().mask_bytes()));
    for (std::uint8_t& allowed : mask) allowed = random_.UniformInt(3) > 0;
    if (random_.UniformInt(3) == 0) std::ranges::fill(mask, 0);
    if (mask.empty()) return mask;
    Column& column = in_["action_mask"];
    column.shape = {static_cast<int>(mask.size())};
    column.values.insert(column.values.end(), mask.begin(), mask.end());
    return mask;
  }

  void Act(const float* outputs) {
    const std::vector<std::uint8_t> mask = DrawMask();
    const auto words = static_cast<std::size_t>(head_.layout().words());
    std::vector<std::int32_t> action(words), game(words);
    ActSettings greedy;
    greedy.mode = ActSettings::Mode::kGreedy;
    const ActionHead::Row row = {outputs, policy_.log_deviations(),
                                 mask.empty() ? nullptr : mask.data()};
    head_.Choose(row, greedy, random_, action.data());
    head_.ToGame(action.data(), game.data());
    for (const ActionPart& part : head_.layout().parts())
      Keep(part, row, action.data() + part.first_word, game.data() + part.first_word);
  }

  void Keep(const ActionPart& part, const ActionHead::Row& row, const std::int32_t* action,
            const std::int32_t* game) {
    const std::string ending = part.name.empty() ? "" : "." + part.name;
    const float* const outputs = row.outputs + part.first_output;
    const auto keep = [&](const std::string& name, std::vector<int> shape, auto value, int count) {
      Column& column = out_[name + ending];
      column.shape = std::move(shape);
      for (int i = 0; i < count; ++i) column.values.push_back(static_cast<float>(value(i)));
    };
    if (part.kind != ActionPart::Kind::kContinuous) {
      keep(
          "action", {part.count}, [&](int i) { return game[i]; }, part.count);
      keep(
          "logits", {part.outputs}, [&](int i) { return outputs[i]; }, part.outputs);
      return;
    }
    keep(
        "action", part.shape, [&](int i) { return std::bit_cast<float>(game[i]); }, part.count);
    keep(
        "mean", {part.count}, [&](int i) { return std::bit_cast<float>(action[i]); }, part.count);
    if (head_.layout().settings().deterministic) return;
    const float* const logs =
        part.first_deviation < 0 ? outputs + part.count : row.log_deviations + part.first_deviation;
    keep(
        "deviation", {part.count},
        [&](int i) { return std::exp(std::clamp(logs[i], kMinLogDeviation, kMaxLogDeviation)); },
        part.count);
  }

  /// The learner's network of that name.
  void Others(const std::string& name) {
    const NetworkSpec& network = *file_.spec.Find(name);
    const bool shares = !network.shares.empty();
    SingleNetwork made(file_.spec, layout_, shares ? network.shares : name, kBatch,
                       shares ? std::vector<std::string>{name} : std::vector<std::string>());
    std::vector<float> actions(static_cast<std::size_t>(kBatch) * made.action_features());
    for (float& number : actions) number = 2 * random_.Uniform() - 1;
    if (!actions.empty()) {
      if (encoded_.empty()) encoded_ = actions;
      in_["encoded_action"] = {{made.action_features()}, encoded_};
    }
    std::vector<float> first(static_cast<std::size_t>(kBatch) * made.outputs());
    const int outputs = made.outputs(shares ? 1 : 0);
    std::vector<float> last(static_cast<std::size_t>(kBatch) * outputs);
    std::vector<float*> heads = {first.data(), last.data()};
    if (!shares) heads = {last.data()};
    made.Forward(file_.parameters, all_rows_.data(), kBatch, heads,
                 actions.empty() ? nullptr : encoded_.data());
    out_[name] = {{outputs}, last};
  }

  /// The learner's value over all steps at once.
  void RecurrentValue() {
    const int rows = steps_ * kBatch;
    ActorCritic network(file_.spec, rows);
    const std::vector<std::uint8_t> first(static_cast<std::size_t>(rows));
    const std::vector<float> state(static_cast<std::size_t>(kBatch) * network.state_floats());
    const Sequences sequences{steps_, kBatch, first.data(), state.data(), nullptr};
    std::vector<float> logits(static_cast<std::size_t>(rows) * network.outputs());
    std::vector<float> values(static_cast<std::size_t>(rows));
    network.Forward(file_.parameters, all_rows_.data(), rows, logits.data(), values.data(),
                    &sequences);
    out_["value"] = {{1}, values};
  }

  const std::vector<std::string> networks_;
  const WeightsFile& file_;
  const WeightsFile published_;
  const ParameterLayout layout_;
  const ObservationLayout rows_, policy_rows_;
  Policy policy_;
  const ActionHead head_;
  const int steps_;
  Random random_;
  std::vector<float> states_, encoded_;
  std::vector<std::byte> all_rows_;
  Columns in_, out_;
};

void Write(const std::string& path, const std::string& bytes) {
  const Status written = WriteFileAtomically(path, std::as_bytes(std::span<const char>(bytes)));
  MURMURATE_CHECK(written.ok(), written.message().c_str());
}

void WriteCase(const std::string& folder, const ExportCase& one) {
  const WeightsFile file = RandomModel(one.model, 5);
  for (const ExportFormat& format : ExportFormats()) {
    const std::vector<std::string> networks =
        format.policy_alone ? std::vector<std::string>() : one.networks;
    const Result<std::string> bytes = FormatExport(format, file, {networks});
    if (!bytes.ok() && std::string(format.name) == "unity") continue;
    MURMURATE_CHECK(bytes.ok(), bytes.status().message().c_str());
    Write(folder + "/" + one.name + format.ending, *bytes);
  }
  Player player(one, file);
  player.Play();
  Write(folder + "/" + one.name + ".reference.safetensors", player.Bytes());
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_export_cases FOLDER\n");
    return 2;
  }
  for (const murmurate::ExportCase& one : murmurate::ExportCases())
    murmurate::WriteCase(argv[1], one);
  return 0;
}
