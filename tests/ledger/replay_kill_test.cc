// A learner with a replay is killed again and again: what it had said to be committed is there
// after each resume, once. The real executable, and the real client library. The `ledger` counts and
// hashes what it learns from (ledger.h), the records of the replay on disk are counted and hashed
// here.
//
//   MURMURATE_KILLS=20         kills of a small replay (2)
//   MURMURATE_LARGE_KILLS=3    kills of a replay of 1 GB (0: that test is skipped)
//
// scripts/kill-replay.sh runs it long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "murmurate/client.h"
#include "server/data/mapped_file.h"
#include "server/data/record_format.h"
#include "server/data/recording_files.h"
#include "server/operate/checkpoint.h"
#include "tests/ledger/ledger.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr double kPatience = 60;  ///< seconds, on a machine with other work

int Number(const char* variable, int usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : std::atoi(text);
}

/// Plays on a thread until it goes: each observation has the number of its step.
class Player {
 public:
  Player(const std::string& address, int numbers) : numbers_(numbers) {
    ClientOptions options;
    options.pace = Pace::kCredit;
    options.quiet = true;
    auto client = Client::Connect(address, options);
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    thread_ = std::thread([this] { Play(); });
  }
  ~Player() {
    ends_ = true;
    thread_.join();
  }
  ClientStats stats() const { return client_->Stats(); }
  /// Waits before each step from now on.
  void Slow(std::chrono::microseconds wait) { wait_us_ = wait.count(); }

 private:
  void Play() {
    Agent agent = client_->NewAgent({.observation = Box({numbers_}), .action = Discrete(2)});
    ASSERT_TRUE(agent.valid()) << client_->last_error();
    std::vector<float> seen(static_cast<std::size_t>(numbers_));
    for (std::uint64_t step = 0; !ends_; ++step) {
      if (wait_us_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(wait_us_));
      seen[0] = static_cast<float>(step % 1'000'000);
      seen[1] = static_cast<float>(step / 1'000'000);
      (void)agent.Act(seen);
      agent.Reward(static_cast<double>(step % 97));
      if (step % 200 == 199) agent.End(kTerminated);
    }
  }

  const int numbers_;
  std::unique_ptr<Client> client_;
  std::atomic<bool> ends_{false};
  std::atomic<std::int64_t> wait_us_{0};
  std::thread thread_;
};

/// What a checkpoint says, and the replay that it refers to.
struct Found {
  LedgerSums ledger;
  LedgerSum kept;                         ///< of the records on disk
  std::uint64_t first_row = 0, rows = 0;  ///< that the checkpoint says are kept
  std::uint64_t twice = 0;                ///< steps that are there more than once
};

/// The records of a replay in order, from one position to before another.
void VisitRecords(const std::string& folder, std::span<const std::uint64_t> log,
                  const std::function<void(const TrajectoryView&)>& visit) {
  for (const SegmentFile& segment : ListSegments(folder)) {
    if (segment.number < log[0] || segment.number > log[2]) continue;
    const auto file = MappedFile::Open(segment.path);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto info = ReadSegmentHeader(file->bytes());
    ASSERT_TRUE(info.ok()) << info.status();
    std::size_t at = segment.number == log[0] ? log[1] : info->begin;
    const std::size_t end = segment.number == log[2] ? log[3] : file->bytes().size();
    while (at < end) {
      const ReadRecord record = ReadRecordAt(file->bytes().subspan(at));
      ASSERT_TRUE(record.intact) << segment.path << " at " << at;
      visit(record.view);
      at += record.bytes;
    }
  }
}

class KilledReplay : public ::testing::Test {
 protected:
  KilledReplay() {
    const unsigned seed = std::random_device()();
    random_.seed(seed);
    std::cout << "seed " << seed << '\n';
  }
  void Write(const std::string& replay, double every_s) const {
    place_.Write("r.toml", "[run]\nname = \"r\"\nseed = 3\n[server]\nlisten = [\"" + address_ +
                               "\"]\n[model]\nlayers = [4]\n[evaluation]\nevery = 0\nshare = 0\n"
                               "[checkpoint]\nkeep = 10\nevery_s = " +
                               std::to_string(every_s) +
                               "\n[algorithm]\nname = \"ledger\"\nn_step = 2\n[replay]\n" + replay);
  }
  std::unique_ptr<Process> Start(std::vector<std::string> arguments) const {
    return std::make_unique<Process>(place_.path(), std::move(arguments));
  }
  /// Of the newest checkpoint, from which a run goes on.
  Found Newest() const {
    Found found;
    const auto newest = ReadNewestCheckpoint(run_, {});
    if (!newest.ok()) {
      ADD_FAILURE() << newest.status();
      return found;
    }
    const WeightsFile& weights = newest->checkpoint.weights;
    found.ledger = LedgerSums::In(weights.spec, weights.parameters);
    const StateReader reader(newest->checkpoint.state, "experience");
    const auto log = reader.AllWords("log"), rows = reader.AllWords("rows");
    if (!log.ok() || log->size() != 4 || !rows.ok()) {
      ADD_FAILURE() << newest->folder << " holds no replay";
      return found;
    }
    found.first_row = (*rows)[0];
    found.rows = (*rows)[1];
    std::set<std::pair<std::uint32_t, std::uint64_t>> steps;
    VisitRecords(run_ + "/replay", *log, [&](const TrajectoryView& view) {
      for (int i = 0; i < view.steps; ++i) {
        found.kept.Add(HashOfStep(view, i));
        if (!steps.emplace(view.agent, view.first_step + static_cast<std::uint64_t>(i)).second)
          ++found.twice;
      }
    });
    return found;
  }
  /// How many steps each of the checkpoints that are kept was learned from, by the ledger.
  std::vector<std::uint64_t> LearnedFrom() const {
    std::vector<std::uint64_t> counts;
    for (const std::uint64_t step : CheckpointSteps(run_)) {
      const auto checkpoint = ReadCheckpoint(CheckpointFolder(run_, step));
      if (!checkpoint.ok()) continue;
      const WeightsFile& weights = checkpoint->weights;
      counts.push_back(LedgerSums::In(weights.spec, weights.parameters).inserted.count);
    }
    return counts;
  }
  /// All that was ever learned from is in the replay, once. Its count.
  std::uint64_t ExpectNewestIsWhole() const {
    const Found found = Newest();
    EXPECT_EQ(found.first_row, 0u) << "the replay has room for all";
    EXPECT_EQ(found.rows, found.ledger.inserted.count);
    EXPECT_EQ(found.kept, found.ledger.inserted);
    EXPECT_EQ(found.twice, 0u);
    return found.ledger.inserted.count;
  }
  bool CommitsBeyond(const Player& player, std::uint64_t steps) const {
    return Eventually(kPatience, [&] { return player.stats().steps_committed > steps; });
  }
  std::uint64_t BytesOnDisk() const {
    std::uint64_t bytes = 0;
    for (const SegmentFile& segment : ListSegments(run_ + "/replay")) bytes += segment.bytes;
    return bytes;
  }
  /// Kills the learner at a moment of chance; what it leaves is whole, and has all that the player
  /// was told is committed. Starts it again, and waits until it has committed more.
  void KillAndResume(std::unique_ptr<Process>* learner, const Player& player) {
    (void)Eventually(0.3 * static_cast<double>(random_()) / 4294967296.0, [] { return false; });
    (*learner)->Send(SIGKILL);
    ASSERT_EQ((*learner)->Wait(kPatience), 128 + SIGKILL) << (*learner)->Errors();
    const std::uint64_t told = player.stats().steps_committed, kept = ExpectNewestIsWhole();
    EXPECT_LE(told, kept) << "a step that was said to be committed is not there";
    EXPECT_THAT(LearnedFrom(), Contains(told)) << "it was told what no checkpoint has";
    *learner = Start({"resume", "r", "--quiet"});
    ASSERT_TRUE(CommitsBeyond(player, kept))
        << (*learner)->Errors() << place_.Read("runs/r/log.txt");
    EXPECT_GE(ExpectNewestIsWhole(), kept);
  }
  void Stop(Process* learner, const Player& player) const {
    learner->Send(SIGTERM);
    EXPECT_EQ(learner->Wait(kPatience), 0) << learner->Errors();
    const std::uint64_t told = player.stats().steps_committed, kept = ExpectNewestIsWhole();
    EXPECT_LE(told, kept);
    const LedgerSums sums = Newest().ledger;
    std::cout << kept << " steps are kept, " << sums.sampled.count
              << " were sampled; lost with their learners: " << player.stats().trajectories_lost
              << " trajectories\n";
    EXPECT_GT(sums.sampled.count, 0u);
  }

  Workplace place_;
  const std::string address_ = "ipc://" + place_.path() + "/main";
  std::string run_ = place_.path() + "/runs/r";
  std::mt19937 random_;
};

TEST_F(KilledReplay, HasEveryCommittedStepOnce) {
  Write("capacity = 2_000_000\nlearning_starts = 500\nsamples_per_insert = 1\n", 0.1);
  auto learner = Start({"serve", "r.toml", "--quiet"});
  Player player(address_, 4);
  ASSERT_TRUE(CommitsBeyond(player, 1000)) << learner->Errors();
  player.Slow(std::chrono::microseconds(200));
  for (int kill = 0; kill < Number("MURMURATE_KILLS", 2); ++kill)
    ASSERT_NO_FATAL_FAILURE(KillAndResume(&learner, player)) << "kill " << kill;
  Stop(learner.get(), player);
}

TEST_F(KilledReplay, ThatIsNotKeptOnDiskIsFilledAnew) {
  Write("persist = false\nlearning_starts = 500\nsamples_per_insert = 1\n", 0.1);
  auto learner = Start({"serve", "r.toml", "--quiet"});
  Player player(address_, 4);
  ASSERT_TRUE(CommitsBeyond(player, 1000)) << learner->Errors();
  learner->Send(SIGKILL);
  ASSERT_EQ(learner->Wait(kPatience), 128 + SIGKILL);
  EXPECT_FALSE(place_.Has("runs/r/replay"));
  const std::uint64_t told = player.stats().steps_committed;
  learner = Start({"resume", "r", "--quiet"});
  EXPECT_TRUE(CommitsBeyond(player, told)) << learner->Errors();
  EXPECT_FALSE(place_.Has("runs/r/replay"));
}

/// murmurate with `runs` on a disk of 200 MB; empty where that is not allowed.
std::vector<std::string> SmallDisk() {
  const std::string script =
      "mkdir -p runs && mount -t tmpfs -o size=200m tmpfs runs && exec \"$0\" \"$@\"";
  const std::vector<std::string> prefix{"unshare", "-rm", "sh", "-c", script};
  Workplace place;
  Process trial(place.path(), {"--version"}, prefix);
  return trial.Wait(10) == 0 ? prefix : std::vector<std::string>{};
}

TEST_F(KilledReplay, OnAFullDiskLearnsOnAndWritesWhatIsMissingWhenThereIsRoom) {
  const auto prefix = SmallDisk();
  if (prefix.empty()) GTEST_SKIP() << "no permission for a mount namespace of its own";
  Write("capacity = 2_000_000\nlearning_starts = 500\nsamples_per_insert = 1\n", 0.1);
  Process learner(place_.path(), {"serve", "r.toml", "--quiet"}, prefix);
  Player player(address_, 4);
  ASSERT_TRUE(CommitsBeyond(player, 1000)) << learner.Errors();
  run_ = "/proc/" + std::to_string(learner.pid()) + "/root" + run_;
  const std::string filler = run_ + "/filler";
  {
    std::ofstream file(filler, std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), 4096).flush()) continue;
  }
  const auto status = [&] { return RunMurmurate(place_.path(), {"status"}).output; };
  const std::string trouble = "trouble: model default: ";
  ASSERT_TRUE(Eventually(kPatience, [&] { return status().find(trouble) != std::string::npos; }));
  EXPECT_THAT(status(), HasSubstr("the replay cannot be written (No space left on device)"));
  EXPECT_TRUE(learner.Says("what is played meanwhile is kept in memory only"));
  const auto [committed, sent] =
      std::pair(player.stats().steps_committed, player.stats().trajectories_sent);
  EXPECT_TRUE(Eventually(kPatience, [&] { return player.stats().trajectories_sent > sent + 100; }));
  fs::remove(filler);
  ASSERT_TRUE(Eventually(kPatience, [&] { return status().find(trouble) == std::string::npos; }));
  ASSERT_TRUE(CommitsBeyond(player, player.stats().steps_committed + 1)) << learner.Errors();
  learner.Send(SIGSTOP);
  EXPECT_GT(ExpectNewestIsWhole(), committed + 3200);
  learner.Send(SIGCONT);
  learner.Send(SIGTERM);
  EXPECT_EQ(learner.Wait(kPatience), 0) << learner.Errors();
}

/// Observations of 16 KiB: 1 GB of them, and room for more.
TEST_F(KilledReplay, OfAGigabyteHasEveryCommittedStepOnce) {
  const int kills = Number("MURMURATE_LARGE_KILLS", 0);
  if (kills == 0) GTEST_SKIP() << "MURMURATE_LARGE_KILLS is not set";
  Write("capacity = 100_000\nlearning_starts = 500\nsamples_per_insert = 0.05\n", 1.0);
  auto learner = Start({"serve", "r.toml", "--quiet"});
  Player player(address_, 4096);
  constexpr std::uint64_t kGigabyte = 1'000'000'000 / (4 * 4096);
  ASSERT_TRUE(CommitsBeyond(player, kGigabyte)) << learner->Errors();
  player.Slow(std::chrono::milliseconds(1));
  EXPECT_GT(BytesOnDisk(), 1'000'000'000u);
  for (int kill = 0; kill < kills; ++kill)
    ASSERT_NO_FATAL_FAILURE(KillAndResume(&learner, player)) << "kill " << kill;
  Stop(learner.get(), player);
}

}  // namespace
}  // namespace murmurate
