#include <cstdio>
#include <filesystem>

#include "server/command/find_learner.h"
#include "server/operate/admin.h"
#include "server/operate/status_report.h"
#include "server/top/run_feed.h"
#include "server/top/terminal.h"
#include "server/top/terminal_frame.h"
#include "server/top/top_picture.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr int kShardMs = 500;  ///< how long a question to a shard waits
constexpr int kDrawMs = 10'000;

struct TopArguments {
  std::string run;
  bool once = false;
};

/// The shard's folder lies in the run's, or beside it.
bool Serves(const std::string& shard, const std::string& run) {
  const fs::path folder = fs::path(StatusField(shard, "directory")).parent_path();
  const fs::path own = StatusField(run, "directory");
  return folder == own || folder == own.parent_path();
}

/// The answers of the other shards that serve the run.
std::vector<std::string> AskShards(const FoundLearner& shown, const std::string& answer) {
  std::vector<std::string> answers;
  const std::string runtime = fs::path(shown.admin.substr(6)).parent_path().string();
  for (const std::string& address : OtherAdminAddresses(runtime, kShardSocket)) {
    if (address == shown.admin) continue;
    const auto status = AskAdmin(address, "status", kShardMs);
    if (status.ok() && Serves(*status, answer)) answers.push_back(*status);
  }
  return answers;
}

RunSource SourceOf(const FoundLearner& learner) {
  return {.ask = [learner] { return AskAdmin(learner.admin, "status", kAnswerMs); },
          .ask_shards = [learner](const std::string& answer) { return AskShards(learner, answer); },
          .alive = [learner] { return !Busy(learner).empty(); }};
}

/// One picture as plain text.
Result<int> PrintOnce(const FoundLearner& learner, const std::string& answer) {
  const TopSnapshot snapshot = SnapshotOfAnswer(answer, AskShards(learner, answer));
  const std::string text =
      PlainText(TopPicture(snapshot, Terminal::SizeOf(), Terminal::GlyphsOfLocale(), ""));
  std::fputs(text.c_str(), stdout);
  return 0;
}

/// Draws what there is, until a person, a signal or the run ends it; whether the run did.
bool Watch(Terminal* terminal, RunFeed* feed) {
  const bool colour = Terminal::WantsColour();
  const Glyphs glyphs = Terminal::GlyphsOfLocale();
  while (true) {
    const RunFeed::News news = feed->Latest();
    if (news.gone) return true;
    const TopSize size = terminal->size();
    const auto picture = TopPicture(*news.snapshot, size, glyphs);
    if (!terminal->Write(TerminalFrame(picture, size, colour)).ok()) return false;
    const Terminal::Happened happened = terminal->Wait(kDrawMs);
    const bool key = happened.event == Terminal::Event::kKey;
    if (happened.event == Terminal::Event::kEnd) return false;
    if (key && (happened.key == 'q' || happened.key == 'Q')) return false;
    if (key && happened.key == 'm') feed->ShowNextModel();
  }
}

Result<int> RunTop(const CommonArguments& common, const TopArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  const auto first = Ask(*learner, "status");
  if (!first.ok()) return ResourceError(first.status().message());
  if (arguments.once || !Terminal::Suitable()) return PrintOnce(*learner, *first);
  auto terminal = Terminal::Open();
  if (!terminal.ok()) return terminal.status();
  bool ended = false;
  {
    RunFeed feed(SourceOf(*learner), *first, [&terminal] { (*terminal)->Wake(); });
    ended = Watch(terminal->get(), &feed);
    (*terminal)->GiveBack();  // before the feed's last question, which may wait
  }
  if (ended) std::printf("%s has ended\n", StatusField(*first, "directory").c_str());
  return 0;
}

}  // namespace

void AddTop(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<TopArguments>();
  auto* top = app->add_subcommand(
      "top", "Watch a live learner or shard in the terminal: curve, actors, who waits for whom");
  top->add_option("RUN", given->run, "Which; without it the only live one");
  top->add_flag("--once", given->once,
                "Print one picture as plain text; usual where the output is "
                "no terminal");
  line->Choose(top, RunTop, given);
}

}  // namespace murmurate
