#include <unistd.h>

#include <chrono>
#include <vector>

#include "murmurate/client.h"
#include "tests/client/restless/game.h"

namespace murmurate {
namespace {

class CppGame : public RestlessGame {
 public:
  CppGame(const char* address, const std::string& name)
      : client_(std::move(*Client::Connect(address, {.name = name}))),
        agent_(client_->NewAgent({.observation = Box({4}), .action = Discrete(2)})) {}

  void Step() override {
    see_[2] = static_cast<float>(steps_ % 16);
    agent_.Reward(agent_.Act(see_) == static_cast<int>(steps_ % 2));
    if (++steps_ % 50 == 0) agent_.End(kTerminated);
  }
  Numbers Count() override {
    const ClientStats stats = client_->Stats();
    return {stats.steps, stats.trajectories_sent, stats.version};
  }
  void CloseAgent() override { agent_ = Agent(); }
  void CloseClient() override { client_.reset(); }
  bool SaysItIsForked() override {
    Step();  // plays on, alone
    return !client_->NewAgent({.observation = Box({4}), .action = Discrete(2)}).valid() &&
           client_->last_error().message().find("connect anew") != std::string::npos;
  }

 private:
  std::unique_ptr<Client> client_;
  Agent agent_;
  std::vector<float> see_{1, -1, 0, 0.5f};
  std::uint64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<RestlessGame> NewCppGame(const char* address, const std::string& name) {
  return std::make_unique<CppGame>(address, name);
}

void PlayFor(RestlessGame& game, int milliseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < 16; ++i) game.Step();
    usleep(200);
  }
}

}  // namespace murmurate
