// What the tests of the C interface share: a learner, a client made through it, and the process's
// threads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "murmurate.h"
#include "tests/client/game.h"

namespace murmurate {

/// Names of this process's threads, sorted.
inline std::vector<std::string> ThreadNames() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}
inline long CountThreads(const std::string& name) {
  const auto names = ThreadNames();
  return std::count(names.begin(), names.end(), name);
}

inline mmr_client_options Options() {
  mmr_client_options options{};
  options.size = sizeof options;
  return options;
}

/// A learner and a C client in session with it, its weights at version 1 once Begin has returned.
struct Stage {
  explicit Stage(TestLearnerOptions options = {}, mmr_client_options client_options = Options())
      : address(FreshAddress()),
        learner(address, std::move(options)),
        client(mmr_connect(address.c_str(), &client_options)) {
    EXPECT_NE(client, nullptr) << mmr_last_error();
  }
  ~Stage() { mmr_close(client); }
  void Begin() {
    ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
    learner.Publish("default", 1);
    ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return State() == MMR_STATE_LIVE; }));
  }
  int State() const {
    mmr_state state{};
    state.size = sizeof state;
    EXPECT_EQ(mmr_get_state(client, &state), MMR_OK);
    return state.state;
  }
  mmr_stats Stats() const {
    mmr_stats stats{};
    stats.size = sizeof stats;
    EXPECT_EQ(mmr_get_stats(client, &stats), MMR_OK);
    return stats;
  }
  const std::string address;
  TestLearner learner;
  mmr_client* const client;
};

}  // namespace murmurate
