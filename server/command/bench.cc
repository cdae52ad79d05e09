// murmurate bench: what this machine does, beside what it could do at best.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "server/command/command_line.h"
#include "server/command/machine.h"
#include "server/measure/bench_kinds.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct BenchArguments {
  std::vector<std::string> names;  ///< none: all
  double seconds = 1;              ///< for each
  bool list = false, json = false;
};

std::string Padded(std::string_view text, std::size_t width) {
  std::string padded(text);
  padded.resize(std::max(width, padded.size()), ' ');
  return padded;
}

Result<std::vector<const BenchKind*>> Chosen(const std::vector<std::string>& names) {
  std::vector<const BenchKind*> chosen;
  std::string known;
  for (const BenchKind& kind : BenchKinds()) {
    if (names.empty()) chosen.push_back(&kind);
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  for (const std::string& name : names) {
    const BenchKind* const kind = FindBench(name);
    if (kind == nullptr)
      return InvalidArgument("bench \"" + name + "\": expected some of " + known);
    chosen.push_back(kind);
  }
  return chosen;
}

void PrintList() {
  for (const BenchKind& kind : BenchKinds())
    std::printf("%s%s, in %s; limit: %s\n", Padded(kind.name, 10).c_str(),
                std::string(kind.what).c_str(), std::string(kind.unit).c_str(),
                std::string(kind.limit).c_str());
}

void PrintRow(const BenchKind& kind, const BenchResult& result) {
  const std::string unit(kind.unit);
  std::printf("%s%s: %.4g %s, limit %.4g (%s), ratio %.2f, %s is better\n",
              Padded(kind.name, 10).c_str(), std::string(kind.what).c_str(), result.ours,
              unit.c_str(), result.limit, std::string(kind.limit).c_str(), result.ratio,
              kind.smaller_is_better ? "less" : "more");
  std::fflush(stdout);
}

nlohmann::json JsonOf(const BenchKind& kind, const BenchResult& result) {
  return {{"name", kind.name},        {"what", kind.what},
          {"unit", kind.unit},        {"ours", result.ours},
          {"limit", result.limit},    {"limit_is", kind.limit},
          {"ratio", result.ratio},    {"smaller_is_better", kind.smaller_is_better},
          {"samples", result.samples}};
}

void PrintFailure(const BenchKind& kind, const Status& status) {
  std::printf("%snot measured: %s\n", Padded(kind.name, 10).c_str(), status.message().c_str());
  std::fflush(stdout);
}

nlohmann::json JsonOf(const BenchKind& kind, const Status& status) {
  return {{"name", kind.name}, {"what", kind.what}, {"error", status.message()}};
}

nlohmann::json JsonOf(const Machine& machine) {
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"usable_cores", machine.usable_cores},
          {"vectors", machine.vectors},
          {"memory_gib", machine.memory_gib}};
}

/// Where all are measured, one that lacks something on this machine is a row that says what, and the
/// others go on.
Result<int> RunBenches(const CommonArguments&, const BenchArguments& arguments) {
  const auto chosen = Chosen(arguments.names);
  if (!chosen.ok()) return chosen.status();
  if (arguments.list) {
    PrintList();
    return 0;
  }
  const Machine machine = ThisMachine();
  if (!arguments.json)
    std::printf("%s\nmedians, by the processor time of one thread; messages by the clock\n",
                MachineText(machine).c_str());
  nlohmann::json rows = nlohmann::json::array();
  int code = 0;
  for (const BenchKind* kind : *chosen) {
    const auto result = RunBench(*kind, arguments.seconds);
    if (!result.ok() && !arguments.names.empty()) return result.status();
    if (!result.ok()) code = static_cast<int>(StatusCode::kResource);
    if (arguments.json)
      rows.push_back(result.ok() ? JsonOf(*kind, *result) : JsonOf(*kind, result.status()));
    else if (result.ok())
      PrintRow(*kind, *result);
    else
      PrintFailure(*kind, result.status());
  }
  if (arguments.json) {
    const nlohmann::json all{{"machine", JsonOf(machine)}, {"benches", std::move(rows)}};
    std::printf("%s\n", all.dump(2).c_str());
  }
  return code;
}

}  // namespace

void AddBench(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<BenchArguments>();
  auto* bench = app->add_subcommand(
      "bench", "Measure what this machine does beside what it could do at best");
  bench->add_option("NAME", given->names, "Which; all without one (`murmurate bench --list`)");
  bench->add_flag("--list", given->list, "Name the benches instead");
  bench->add_option("--seconds", given->seconds, "Time for each")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  bench->add_flag("--json", given->json, "For programs");
  line->Choose(bench, RunBenches, given);
}

}  // namespace murmurate
