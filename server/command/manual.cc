#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "server/command/command_line.h"
#include "server/command/command_words.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

struct ManualArguments {
  const CLI::App* app = nullptr;
  std::string folder;
};

/// Today, or the day of SOURCE_DATE_EPOCH, by which a build repeats bit for bit.
std::string Date() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now = epoch == nullptr ? std::time(nullptr) : std::atoll(epoch);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

Result<int> RunManual(const CommonArguments& common, const ManualArguments& arguments) {
  std::error_code error;
  fs::create_directories(arguments.folder, error);
  if (error)
    return ResourceError(arguments.folder + ": cannot be made (" + error.message() +
                         "); choose another folder");
  const auto all = CommandsIn(*arguments.app);
  const std::string date = Date();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string page = ManualPage(all, i, date);
    MURMURATE_RETURN_IF_ERROR(
        WriteFileAtomically(arguments.folder + '/' + ManualName(all[i]) + ".1",
                            std::as_bytes(std::span(page.data(), page.size()))));
  }
  if (!common.quiet)
    std::printf("%zu pages in %s; read one with man -l %s/murmurate.1\n", all.size(),
                arguments.folder.c_str(), arguments.folder.c_str());
  return 0;
}

}  // namespace

void AddManual(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<ManualArguments>();
  given->app = app;
  auto* manual = app->add_subcommand("man", "Write the manual pages of all commands into a folder");
  manual->add_option("FOLDER", given->folder, "Where; it is made if it is missing")->required();
  line->Choose(manual, RunManual, given);
}

}  // namespace murmurate
