#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "server/command/find_learner.h"
#include "server/operate/admin.h"
#include "server/operate/status_report.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// The status of the shards that the answer to a question without a name does not show already.
std::string ShardTexts(const FoundLearner& shown) {
  std::string texts;
  for (const std::string& address : LiveAdminAddresses(kShardSocket)) {
    if (address == shown.admin) continue;
    const auto answer = AskAdmin(address, "status", kAnswerMs);
    const auto text = answer.ok() ? StatusText(*answer) : answer;
    if (text.ok()) texts += *text;
  }
  return texts;
}

struct AskArguments {
  std::string run;  ///< "": the only live one
  bool json = false;
  bool resume_follows = false;  ///< stop: lock-step actors wait for `murmurate resume`
};

struct SetArguments {
  std::string run;
  std::vector<std::string> assignments;  ///< NAME=VALUE
};

Result<int> RunStatus(const CommonArguments& common, const AskArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  auto answer = Ask(*learner, "status");
  const bool busy = answer.status().code() == StatusCode::kUnavailable;
  if (const std::string words = busy ? Busy(*learner) : ""; !words.empty() && !arguments.json) {
    std::printf("%s\n", words.c_str());
    return 0;
  }
  if (!answer.ok()) return ResourceError(answer.status().message());
  if (arguments.json) {
    std::printf("%s\n", answer->c_str());
    return 0;
  }
  auto text = StatusText(*answer);
  if (!text.ok()) return text.status();
  if (arguments.run.empty()) *text += ShardTexts(*learner);
  std::fputs(text->c_str(), stdout);
  return 0;
}

Result<int> RunStop(const CommonArguments& common, const AskArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  auto answer = Ask(*learner, arguments.resume_follows ? "stop to resume" : "stop");
  if (!answer.ok()) return ResourceError(answer.status().message());
  const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
  const auto there = [&] {
    std::error_code error;  // the socket's folder is the last thing a learner removes
    return Lives(learner->pid) && fs::exists(learner->admin.substr(6), error);
  };
  while (there() && MonotonicNs() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (there())
    return ResourceError(learner->name + ": process " + std::to_string(learner->pid) +
                         " has not stopped within 10 s; end it with kill " +
                         std::to_string(learner->pid));
  if (!common.quiet) std::printf("stopped %s\n", learner->name.c_str());
  return 0;
}

Result<int> RunSet(const CommonArguments& common, const SetArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  for (const std::string& assignment : arguments.assignments) {
    const auto answer = Ask(*learner, "set " + assignment);
    if (answer.status().code() == StatusCode::kUnavailable)
      return ResourceError(answer.status().message());
    if (!answer.ok()) return answer.status();
    if (!common.quiet) std::printf("%s\n", answer->c_str());
  }
  return 0;
}

/// `verb`: "pause" or "unpause".
Result<int> AskToPause(const CommonArguments& common, const AskArguments& arguments,
                       const std::string& verb) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  const passwd* const user = getpwuid(geteuid());
  const std::string name = user == nullptr ? std::to_string(geteuid()) : user->pw_name;
  const auto answer = Ask(*learner, verb + " by `murmurate " + verb + "` of user " + name);
  if (answer.status().code() == StatusCode::kUnavailable)
    return ResourceError(answer.status().message());
  if (!answer.ok()) return answer.status();
  if (!common.quiet) std::printf("%s: %s\n", learner->name.c_str(), answer->c_str());
  return 0;
}

Result<int> RunPause(const CommonArguments& common, const AskArguments& arguments) {
  return AskToPause(common, arguments, "pause");
}

Result<int> RunUnpause(const CommonArguments& common, const AskArguments& arguments) {
  return AskToPause(common, arguments, "unpause");
}

}  // namespace

void AddStatus(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* status = app->add_subcommand("status", "Ask a live learner or shard how it is");
  status->add_option("RUN", given->run, "Which; without it the only live one");
  status->add_flag("--json", given->json, "As JSON");
  line->Choose(status, RunStatus, given);
}

void AddStop(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* stop = app->add_subcommand("stop", "Stop a live learner or shard cleanly");
  stop->add_option("RUN", given->run, "Which; without it the only live one");
  stop->add_flag("--resume-follows", given->resume_follows,
                 "Lock-step actors wait for `murmurate resume` instead of playing on or ending");
  line->Choose(stop, RunStop, given);
}

void AddPause(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* pause = app->add_subcommand(
      "pause", "Pause learning of a live learner; its games play on, `murmurate unpause` ends it");
  pause->add_option("RUN", given->run, "Which; without it the only live one");
  line->Choose(pause, RunPause, given);
}

void AddUnpause(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* unpause = app->add_subcommand(
      "unpause", "Let a learner that was paused learn on (`resume` is for a run that has ended)");
  unpause->add_option("RUN", given->run, "Which; without it the only live one");
  line->Choose(unpause, RunUnpause, given);
}

void AddSet(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<SetArguments>();
  auto* set =
      app->add_subcommand("set", "Change a setting of the games, or a rate, of a live learner");
  set->add_option("RUN", given->run, "Which run")->required();
  set->add_option("NAME=VALUE", given->assignments,
                  "A name of [settings], algorithm.entropy, algorithm.clip or "
                  "optimizer.learning_rate (model.NAME.... of one model)")
      ->required();
  line->Choose(set, RunSet, given);
}

}  // namespace murmurate
