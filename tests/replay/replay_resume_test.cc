// A store that is kept on disk goes on after the end of its process as if there had been none.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "server/replay/replay_store.h"
#include "tests/operate/temporary_folder.h"
#include "tests/replay/game.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

ReplaySettings Small() {
  return {.capacity = 200,
          .window = 3,
          .minibatch = 4,
          .samples_per_insert = 2,
          .learning_starts = 24,
          .most_updates = 2};
}

class ReplayResumeTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReplayStore> Make(const ReplaySettings& settings) {
    auto store = ReplayStore::Make(settings, {layout_, 1, PlainBatchMemory()});
    EXPECT_TRUE(store.ok()) << store.status();
    auto log = ReplayLog::Open(folder_.path(), "game", PlayedSpec(2), layout_, 8192);
    EXPECT_TRUE(log.ok()) << log.status();
    log_ = log->get();
    (*store)->KeepOnDisk(*std::move(log));
    return *std::move(store);
  }
  /// All that is learned from in so many rounds.
  std::vector<float> Play(ReplayStore& store, Game& game, int rounds) {
    std::vector<float> all;
    for (int round = 0; round < rounds; ++round) {
      store.Insert(game.Batch(layout_, kSteps[played_++ % 5]));
      const TrainingBatch* batch = store.Next();
      store.Learned({.steps = 8});
      while ((batch = store.Next()) != nullptr) {
        const std::vector<float> numbers = Numbers(*batch);
        all.insert(all.end(), numbers.begin(), numbers.end());
        std::vector<float> errors;
        for (const BatchTrajectory& sample : batch->trajectories)
          errors.push_back(static_cast<float>(sample.first_step % 7));
        store.Learned({.row_answers = errors});
      }
      store.Release();
    }
    return all;
  }
  static SavedState Save(const ReplayStore& store) {
    SavedState saved;
    store.Save(StateWriter(&saved, "experience"));
    return saved;
  }
  /// A checkpoint that is on the disk.
  static SavedState Write(ReplayStore& store) {
    SavedState saved = Save(store);
    store.Seal(StateReader(saved, "experience"), StateWriter(&saved, "experience"));
    store.Written(StateReader(saved, "experience"));
    return saved;
  }
  static Status Load(const SavedState& saved, ReplayStore& store) {
    return store.Load(StateReader(saved, "experience"));
  }
  std::string LastFile() const {
    std::string last;
    for (const auto& file : fs::directory_iterator(folder_.path()))
      last = std::max(last, file.path().string());
    return last;
  }

  static constexpr const char* kSteps[5] = {"....", ".x..", "..t.", "...", "t..x"};
  const TemporaryFolder folder_;
  const TrajectoryLayout layout_ = PlayedLayout(4);
  int played_ = 0;
  ReplayLog* log_ = nullptr;  ///< of the store that was made last
};

/// A file size limit is a full disk that tests can have.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small = {bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FullDisk() { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0); }

 private:
  rlimit before_;
};

TEST_F(ReplayResumeTest, GoesOnWithTheSameBits) {
  ReplaySettings prioritized = Small(), sequences = Small();
  prioritized.priority_exponent = 0.6;
  sequences.sequence = 8;
  for (const ReplaySettings& settings : {Small(), prioritized, sequences}) {
    fs::remove_all(folder_.path());
    Game game(3);
    auto store = Make(settings);
    Play(*store, game, 43);
    for (int life = 0; life < 3; ++life) {
      const SavedState saved = Save(*store);
      const int played = played_;
      Game same = game;
      const std::vector<float> wanted = Play(*store, game, 15);  // lost with its process
      EXPECT_GT(wanted.size(), 100u);
      std::ofstream(LastFile(), std::ios::app) << "TREC and no more: the process was killed";
      played_ = played;
      auto resumed = Make(settings);
      const Status loaded = Load(saved, *resumed);
      ASSERT_TRUE(loaded.ok()) << loaded;
      EXPECT_EQ(Save(*resumed).floats, saved.floats) << "priorities";
      ASSERT_EQ(Play(*resumed, same, 15), wanted);
      store = std::move(resumed);
    }
  }
}

/// A checkpoint between two batches of samples: the rest of them come before the next insert.
TEST_F(ReplayResumeTest, GivesTheSamplesThatWereStillDue) {
  ReplaySettings settings = Small();
  settings.samples_per_insert = 8;
  Game game(3);
  const auto store = Make(settings);
  Play(*store, game, 12);
  store->Insert(game.Batch(layout_, "...."));
  ASSERT_NE(store->Next(), nullptr);
  store->Learned({.steps = 12});
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(store->Next(), nullptr);
    store->Learned({});
  }
  const SavedState saved = Save(*store);
  std::vector<std::vector<float>> wanted, given;
  for (; const TrainingBatch* batch = store->Next(); store->Learned({}))
    wanted.push_back(Numbers(*batch));
  const auto resumed = Make(settings);
  ASSERT_TRUE(Load(saved, *resumed).ok());
  for (; const TrainingBatch* batch = resumed->Next(); resumed->Learned({}))
    given.push_back(Numbers(*batch));
  EXPECT_GT(wanted.size(), 5u);
  EXPECT_EQ(given, wanted);
}

/// Whatever the number of inserts, no more files stay than the last two checkpoints need.
TEST_F(ReplayResumeTest, TakesAwayWhatNoCheckpointNeeds) {
  Game game;
  const auto store = Make(Small());
  std::size_t most = 0;
  for (int round = 0; round < 60; ++round) {
    Play(*store, game, 10);
    (void)Write(*store);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder_.path())) ++files;
    if (round > 10) most = std::max(most, files);
  }
  EXPECT_LT(most, 12u);
  EXPECT_GT(LastFile(), folder_.path() + "/game-000050.traj");
}

/// One that was saved, and not written, needs nothing.
TEST_F(ReplayResumeTest, TheCheckpointBeforeTheLastIsStillThereAndTheOneBeforeThatIsNot) {
  Game game;
  auto store = Make(Small());
  Play(*store, game, 60);
  const SavedState first = Write(*store);
  Play(*store, game, 60);
  const SavedState second = Write(*store);
  for (int round = 0; round < 3; ++round) {
    Play(*store, game, 60);
    (void)Save(*store);
  }
  (void)Write(*store);
  (void)Save(*store);
  store = Make(Small());
  ASSERT_TRUE(Load(first, *store).ok());
  EXPECT_EQ(store->size(), 0u);
  EXPECT_THAT(store->missing(), HasSubstr("does not have the replay of the checkpoint"));
  store = Make(Small());
  ASSERT_TRUE(Load(second, *store).ok());
  EXPECT_GT(store->size(), 190u);
  EXPECT_EQ(store->missing(), "");
}

TEST_F(ReplayResumeTest, AFolderThatWasEmptiedMeansAnEmptyReplay) {
  Game game;
  SavedState saved;
  {
    const auto store = Make(Small());
    Play(*store, game, 20);
    saved = Save(*store);
  }
  fs::remove_all(folder_.path());
  const auto resumed = Make(Small());
  ASSERT_TRUE(Load(saved, *resumed).ok());
  EXPECT_EQ(resumed->size(), 0u);
  EXPECT_EQ(resumed->Waiting(), "collects 0 of 24 steps before it learns");
  EXPECT_FALSE(Play(*resumed, game, 20).empty());
}

TEST_F(ReplayResumeTest, AMissingFileIsNoSmallerReplay) {
  Game game;
  SavedState saved;
  {
    const auto store = Make(Small());
    Play(*store, game, 40);
    saved = Save(*store);
  }
  const LogPosition first{static_cast<std::uint32_t>(saved.words["experience.log"][0]), 0};
  char name[32];
  std::snprintf(name, sizeof name, "/game-%06u.traj", first.segment + 1);
  ASSERT_TRUE(fs::remove(folder_.path() + name));
  const Status status = Load(saved, *Make(Small()));
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  EXPECT_THAT(status.message(), HasSubstr("steps of the"));
}

TEST_F(ReplayResumeTest, ACheckpointWithoutStepsFillsTheReplayAnew) {
  Game game;
  SavedState saved;
  {
    const auto store = Make(Small());
    Play(*store, game, 20);
    saved = Save(*store);
  }
  saved.words.erase("experience.log");
  const auto resumed = Make(Small());
  ASSERT_TRUE(Load(saved, *resumed).ok());
  EXPECT_EQ(resumed->size(), 0u);
  Play(*resumed, game, 1);
  const auto again = Make(Small());
  ASSERT_TRUE(Load(Save(*resumed), *again).ok());
  EXPECT_EQ(again->size(), resumed->size());
}

/// What a run that began with an emptied folder wrote is not the replay of a checkpoint before that.
TEST_F(ReplayResumeTest, NoFileIsTakenForOneOfAnotherLife) {
  Game game;
  SavedState saved;
  {
    const auto store = Make(Small());
    Play(*store, game, 20);
    saved = Save(*store);
  }
  fs::remove_all(folder_.path());
  {
    const auto store = Make(Small());
    ASSERT_TRUE(Load(saved, *store).ok());
    Play(*store, game, 20);  // and is killed before its first checkpoint
  }
  const auto again = Make(Small());
  const Status status = Load(saved, *again);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(again->size(), 0u);
}

TEST_F(ReplayResumeTest, ADiskThatIsFullIsSaidAndLeavesCheckpointsWithoutSteps) {
  Game game;
  const auto store = Make(Small());
  Play(*store, game, 3);
  EXPECT_TRUE(store->disk_health().ok());
  {
    const FullDisk disk(5000);
    EXPECT_FALSE(Play(*store, game, 20).empty()) << "the run goes on";
  }
  EXPECT_EQ(store->disk_health().code(), StatusCode::kResource);
  EXPECT_THAT(store->disk_health().message(), HasSubstr("the replay cannot be written"));
  EXPECT_FALSE(Save(*store).words.contains("experience.log"));
}

/// Full in the middle of a file, and before the first.
TEST_F(ReplayResumeTest, ADiskWithRoomAgainHasAllThatWasPlayedMeanwhile) {
  for (const bool begun : {true, false}) {
    fs::remove_all(folder_.path());
    Game game;
    auto store = Make(Small());
    if (begun) Play(*store, game, 7);
    {
      const FullDisk disk(begun ? 5000 : 100);
      Play(*store, game, 12);
      ASSERT_FALSE(store->disk_health().ok());
    }
    Play(*store, game, 1);
    ASSERT_TRUE(store->disk_health().ok()) << store->disk_health();
    const SavedState saved = Write(*store);
    const int played = played_;
    Game same = game;
    const std::vector<float> wanted = Play(*store, game, 10);
    played_ = played;
    const auto resumed = Make(Small());
    const Status loaded = Load(saved, *resumed);
    ASSERT_TRUE(loaded.ok()) << loaded;
    EXPECT_EQ(Play(*resumed, same, 10), wanted);
  }
}

/// The system drops what it could not write: what is in memory is written anew, to other files.
TEST_F(ReplayResumeTest, FilesThatCouldNotBeSyncedAreWrittenAnew) {
  Game game;
  auto store = Make(Small());
  Play(*store, game, 30);
  const SavedState good = Write(*store);
  Play(*store, game, 5);
  log_->SyncBy([](int) { return errno = EIO, -1; });
  const SavedState lost = Write(*store), never_sealed = Save(*store);
  EXPECT_TRUE(lost.words.at("experience.log").empty()) << "a checkpoint must not refer to it";
  EXPECT_FALSE(never_sealed.words.contains("experience.log"));
  log_->SyncBy(fdatasync);
  Play(*store, game, 1);
  EXPECT_TRUE(store->disk_health().ok()) << store->disk_health();
  const SavedState saved = Write(*store);
  EXPECT_GT(saved.words.at("experience.log")[0], good.words.at("experience.log")[2]);
  const int played = played_;
  Game same = game;
  const std::vector<float> wanted = Play(*store, game, 10);
  played_ = played;
  store = Make(Small());
  ASSERT_TRUE(Load(lost, *store).ok());
  EXPECT_EQ(store->size(), 0u);
  store = Make(Small());
  ASSERT_TRUE(Load(saved, *store).ok());
  EXPECT_EQ(Play(*store, same, 10), wanted);
}

/// A checkpoint that was saved before its files were lost, and is sealed after they were renewed.
TEST_F(ReplayResumeTest, ACheckpointOfLostFilesIsNotSealedByTheFilesAfterThem) {
  Game game;
  const auto store = Make(Small());
  Play(*store, game, 30);
  SavedState before = Save(*store), also_before = Save(*store);
  log_->SyncBy([](int) { return errno = EIO, -1; });
  store->Seal(StateReader(before, "experience"), StateWriter(&before, "experience"));
  log_->SyncBy(fdatasync);
  Play(*store, game, 1);
  store->Seal(StateReader(also_before, "experience"), StateWriter(&also_before, "experience"));
  EXPECT_TRUE(also_before.words.at("experience.log").empty());
}

}  // namespace
}  // namespace murmurate
