// CollapseGuard: which weights it goes back to, how often, and when it only speaks.
#include "server/daemon/collapse_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::shared_ptr<const Snapshot> Version(std::uint64_t version) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = version;
  snapshot->parameters = AlignedFloats(4);
  snapshot->parameters[0] = static_cast<float>(version);
  return snapshot;
}

std::vector<double> Low(std::size_t windows) { return std::vector<double>(windows, 9.0); }

class CollapseGuardTest : public testing::Test {
 protected:
  CollapseOptions Options() {
    return {.model = "hero",
            .most_entropy = 0.69,
            .lockstep = [this] { return lockstep_; },
            .go_back = [this](const auto& to) { went_back_to_.push_back(to->version); },
            .halve_rate = [this] { ++halved_; },
            .log = [this](LogLevel, std::string_view line) { log_.emplace_back(line); }};
  }

  /// A batch of one window, after which the version is one more.
  void Play(CollapseGuard* guard, const std::vector<double>& means) {
    for (const double mean : means) {
      LearnReport report;
      report.version = ++version_;
      report.updates = 1;
      report.trained_steps = 512;
      report.entropy = 0.6;
      report.episodes.assign(100, {mean, 10, 0, 0});
      guard->Learned(report, Version(version_), settings_);
    }
  }

  bool lockstep_ = false;
  std::uint64_t version_ = 1;
  CollapseGuard::Settings settings_;
  std::vector<std::uint64_t> went_back_to_;
  int halved_ = 0;
  std::vector<std::string> log_;
};

TEST_F(CollapseGuardTest, GoesBackToWhatTheBestWindowBeganWithAtHalfTheRate) {
  CollapseGuard guard(Options());
  guard.Begin(Version(1));
  Play(&guard, {20, 100, 300, 200});  // versions 2 to 5; 3 began the window of 300
  Play(&guard, Low(49));
  EXPECT_THAT(went_back_to_, ElementsAre());
  Play(&guard, {9});
  EXPECT_THAT(went_back_to_, ElementsAre(3));
  EXPECT_EQ(halved_, 1);
  ASSERT_THAT(log_, SizeIs(1));
  EXPECT_EQ(log_[0],
            "model hero: the policy has collapsed: a mean return of 9.000 over 100 episodes, the "
            "last of 50 such ones that do not rise, after 300.0 at best and 20.0 at first; it goes "
            "back to version 3 at half the learning rate (1 of at most 3 times)");
}

TEST_F(CollapseGuardTest, GoesBackThreeTimesAtMost) {
  CollapseGuard guard(Options());
  guard.Begin(Version(1));
  Play(&guard, {20, 300});
  Play(&guard, Low(210));
  EXPECT_THAT(went_back_to_, ElementsAre(2, 2, 2));
  EXPECT_EQ(halved_, 3);
  ASSERT_THAT(log_, SizeIs(4));
  EXPECT_THAT(log_[3], HasSubstr("it learns on as it is, because it went back 3 times already"));
}

TEST_F(CollapseGuardTest, SaysWhyItStays) {
  CollapseOptions options = Options();
  options.goes_back = false;
  options.stays_since = "others step its weights, too";
  CollapseGuard shared(options), lockstep(Options());
  lockstep_ = true;
  for (CollapseGuard* guard : {&shared, &lockstep}) {
    guard->Begin(Version(1));
    Play(guard, {20, 300});
    Play(guard, Low(60));
  }
  EXPECT_THAT(went_back_to_, ElementsAre());
  EXPECT_EQ(halved_, 0);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("because others step its weights, too"),
                                HasSubstr("because it runs in lock-step")));
}

TEST_F(CollapseGuardTest, OtherSettingsOfTheGamesBeginAnew) {
  CollapseGuard guard(Options());
  guard.Begin(Version(1));
  settings_ = {{"difficulty", 1.0}};
  Play(&guard, {20, 300});
  settings_ = {{"difficulty", 2.0}};
  Play(&guard, Low(60));
  EXPECT_THAT(log_, ElementsAre());
}

TEST_F(CollapseGuardTest, GoesOnFromWhatItSaved) {
  CollapseGuard guard(Options());
  guard.Begin(Version(1));
  Play(&guard, {20, 300});
  Play(&guard, Low(48));
  SavedState state;
  guard.Save(StateWriter(&state, "collapse"));
  CollapseGuard other(Options());
  other.Begin(Version(6));
  ASSERT_TRUE(other.Load(StateReader(state, "collapse")).ok());
  Play(&other, {9, 9});
  EXPECT_THAT(went_back_to_, ElementsAre(2));
  CollapseGuard fresh(Options());
  fresh.Begin(Version(6));
  EXPECT_TRUE(fresh.Load(StateReader(SavedState{}, "collapse")).ok()) << "an older checkpoint";
  Play(&fresh, {20, 300});
  Play(&fresh, Low(50));
  EXPECT_THAT(went_back_to_, SizeIs(2));
}

}  // namespace
}  // namespace murmurate
