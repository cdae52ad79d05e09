#include "server/daemon/resume_plan.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/daemon/stop_rules_of.h"
#include "server/data/data_feed.h"
#include "server/data/data_settings.h"
#include "server/metrics/number_text.h"
#include "server/operate/operate.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"
#include "shared/wire/protocol.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxRecordBytes = 1 << 20;

Result<std::vector<std::string>> Texts(const nlohmann::json& object, const char* key) {
  const Status bent = InvalidData(std::string(key) + ": expected a list of texts");
  if (!object.contains(key) || !object[key].is_array()) return bent;
  std::vector<std::string> texts;
  for (const auto& text : object[key]) {
    if (!text.is_string()) return bent;
    texts.push_back(text);
  }
  return texts;
}

/// `fault`, and what else the run has left: a new run may begin with a best one, but this run does
/// not go back to it.
Status NoneIn(const std::string& folder, const Status& fault) {
  const auto best = ReadBestCheckpoint(folder, nullptr);
  if (!best.ok()) return fault;
  return InvalidData(fault.message() +
                     ", or begin a new run with its best weights, which are whole: " +
                     "--set model.initialize_from=" + best->folder + "/weights.safetensors");
}

/// The newest that holds what a learner knows; weights alone are what a run leaves whose last batch
/// took too long to wait for.
Result<FoundCheckpoint> NewestWhole(const std::string& folder, const LogCallback& log) {
  auto found = ReadNewestCheckpoint(folder, log);
  if (!found.ok()) return NoneIn(folder, found.status());
  if (!found->checkpoint.state.words.empty()) return found;
  const std::string passed = found->folder;
  auto steps = CheckpointSteps(folder);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const std::string older = CheckpointFolder(folder, *step);
    auto read = ReadCheckpoint(older);
    if (!read.ok() || read->state.words.empty()) continue;
    if (log)
      log(LogLevel::kWarning, passed + ": holds weights only, from which learning cannot go on; " +
                                  "going on from " + older);
    return FoundCheckpoint{std::move(*read), older};
  }
  return InvalidData(passed +
                     ": holds weights only, and a run goes on from what its learner knew as well; "
                     "begin a new run with --set model.initialize_from=" +
                     passed + "/weights.safetensors");
}

}  // namespace

std::string RunRecord::ToJson() const {
  return nlohmann::json{
             {"models", models}, {"listen", listen}, {"actors", own_actors ? "train" : "attached"}}
             .dump(2) +
         '\n';
}

Result<RunRecord> RunRecord::Read(const std::string& directory) {
  const std::string path = directory + "/resume.json";
  auto text = ReadFile(path, kMaxRecordBytes);
  if (!text.ok())
    return InvalidData(directory + ": holds no run that can go on (" + text.status().message() +
                       "); start one with `murmurate serve` or `murmurate train`");
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto bent = [&](const std::string& why) {
    return InvalidData(path + ": cannot be read (" + why + "); restore it from a copy of the run");
  };
  if (!json.is_object()) return bent("no JSON object");
  auto models = Texts(json, "models");
  if (!models.ok()) return bent(models.status().message());
  if (!std::all_of(models->begin(), models->end(), wire::IsGoodName))
    return bent("models: a bad name");
  auto listen = Texts(json, "listen");
  if (!listen.ok()) return bent(listen.status().message());
  return RunRecord{std::move(*models), std::move(*listen), json.value("actors", "") == "train"};
}

std::optional<Over> AlreadyOver(const ResumePlan& plan, const Config& config) {
  const RunSettings& run = config.run();
  Progress progress(0);
  const Checkpoint& checkpoint = plan.models.front().found.checkpoint;
  const SavedState& state = checkpoint.state;
  const int passes = config.data().passes;
  if (config.data().given() && DataFeed::IsThrough(StateReader(state, "data"), passes))
    return Over{"has been through its files " + std::to_string(passes) +
                " times already; to go on, let it do so more often: --set data.passes=NUMBER"};
  if (!progress.Load(StateReader(state, "progress"), checkpoint.weights.steps).ok())
    return std::nullopt;
  const StopRules rules = StopRulesOf(config);
  const auto end = EndOf(rules, progress);
  if (!end) return std::nullopt;
  if (*end == RunEnd::kSolved)
    return Over{"solved already, with a mean return of " +
                ReturnText(*ReachedReturn(rules, progress)) +
                "; to go on, ask for more: --set run.stop_at_return=NUMBER"};
  const std::string steps = WithCommas(progress.learned_steps());
  return Over{"has learned from its steps already (" + steps +
                  "); to go on, give it more: --set run.steps=NUMBER" +
                  (run.stop_at_steps ? " --set run.stop_at_steps=NUMBER" : ""),
              *end == RunEnd::kBudgetSpent ? 1 : 0};
}

LogCallback LoudOnStderr() {
  return [](LogLevel level, std::string_view message) {
    if (level >= LogLevel::kWarning) std::cerr << std::string(message) + '\n';
  };
}

std::string ModelFolderOf(const std::string& directory, const std::string& model, bool first) {
  return first ? directory : directory + "/models/" + model;
}

/// What the config leaves open is as the run began with it, whatever is usual by now.
static void KeepUsual(const Config& config, const std::string& name, const ModelSpec& saved,
                      ModelSpec* spec) {
  const SectionView keys = ModelKeys().View(config.entries(), name);
  ModelConfig words = WordsFor(config, name);
  if (IsDefault(keys["scale_actions"]))
    words.continuous.scaled = spec->continuous.scaled = saved.continuous.scaled;
  if (!IsDefault(keys["separate_value"])) return;
  for (const bool separate : {true, false}) {
    words.separate_value = separate;
    if (auto made = MakeSpec(words, saved.spaces); made.ok() && *made == saved) *spec = *made;
  }
}

Result<ResumePlan> ReadResumePlan(const std::string& directory, const Config& config,
                                  const LogCallback& log) {
  auto record = RunRecord::Read(directory);
  if (!record.ok()) return record.status();
  if (record->models.empty())
    return InvalidData(directory +
                       ": no actor ever came to it, so there is nothing to go on from; start it "
                       "again with `murmurate serve --fresh`");
  ResumePlan plan{std::move(*record), {}};
  for (const std::string& name : plan.record.models) {
    const std::string folder = ModelFolderOf(directory, name, plan.models.empty());
    auto found = NewestWhole(folder, log);
    if (!found.ok()) return found.status();
    const StreamSettings* stream = config.StreamOf(name);
    auto settings = stream ? ModelForStream(config, *stream)
                           : ModelFor(config, name, found->checkpoint.weights.spec.spaces);
    if (!settings.ok())
      return InvalidArgument("model " + name + ": " + settings.status().message());
    KeepUsual(config, name, found->checkpoint.weights.spec, &settings->spec);
    MURMURATE_RETURN_IF_ERROR(CheckSameModel(*found, settings->spec));
    plan.models.push_back({name, std::move(*found), std::move(*settings)});
  }
  return plan;
}

}  // namespace murmurate
