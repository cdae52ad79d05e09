#include <cstdio>

#include "server/command/command_line.h"
#include "server/command/command_words.h"

namespace murmurate {
namespace {

struct CompletionArguments {
  const CLI::App* app = nullptr;
  std::string shell;
};

Result<int> RunCompletion(const CommonArguments&, const CompletionArguments& arguments) {
  const auto all = CommandsIn(*arguments.app);
  const std::string script = arguments.shell == "bash" ? BashCompletion(all) : ZshCompletion(all);
  std::fputs(script.c_str(), stdout);
  return 0;
}

}  // namespace

void AddCompletion(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<CompletionArguments>();
  given->app = app;
  auto* completion = app->add_subcommand(
      "completion", "Print a script that completes this command line in a shell");
  completion->add_option("SHELL", given->shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  line->Choose(completion, RunCompletion, given);
}

}  // namespace murmurate
