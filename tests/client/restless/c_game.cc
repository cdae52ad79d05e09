#include <dlfcn.h>
#include <murmurate.h>

#include "tests/client/restless/game.h"

namespace murmurate {
namespace {

template <typename Function>
Function* Find(void* library, Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

#define MMR(name) Find(library_, &name, #name)

class CGame : public RestlessGame {
 public:
  CGame(void* library, const char* address, const std::string& name) : library_(library) {
    mmr_client_options options{};
    options.size = sizeof options;
    options.name = name.c_str();
    client_ = connect_(address, &options);
    const mmr_space see = mmr_box(4), act = mmr_discrete(2);
    mmr_agent_options agent{};
    agent.size = sizeof agent;
    agent.observation = &see;
    agent.action = &act;
    agent_ = agent_new_(client_, &agent);
  }

  void Step() override {
    const float see[4] = {1, -1, static_cast<float>(steps_ % 16), 0.5f};
    const std::int32_t action = act_(agent_, see, 4);
    reward_(agent_, action == static_cast<std::int32_t>(steps_ % 2));
    if (++steps_ % 50 == 0) end_(agent_, MMR_TERMINATED, nullptr, 0);
  }
  Numbers Count() override {
    mmr_stats stats{};
    stats.size = sizeof stats;
    get_stats_(client_, &stats);
    return {stats.steps, stats.trajectories_sent, stats.version};
  }
  void CloseAgent() override { agent_close_(agent_); }
  void CloseClient() override { close_(client_); }
  bool SaysItIsForked() override {
    const float see[4] = {};
    return act_(agent_, see, 4) == MMR_FORKED &&
           std::string(last_error_()).find("connect anew") != std::string::npos;
  }

 private:
  void* const library_;
  decltype(&mmr_connect) const connect_ = MMR(mmr_connect);
  decltype(&mmr_agent_new) const agent_new_ = MMR(mmr_agent_new);
  decltype(&mmr_act) const act_ = MMR(mmr_act);
  decltype(&mmr_reward) const reward_ = MMR(mmr_reward);
  decltype(&mmr_end) const end_ = MMR(mmr_end);
  decltype(&mmr_get_stats) const get_stats_ = MMR(mmr_get_stats);
  decltype(&mmr_agent_close) const agent_close_ = MMR(mmr_agent_close);
  decltype(&mmr_close) const close_ = MMR(mmr_close);
  decltype(&mmr_last_error) const last_error_ = MMR(mmr_last_error);
  mmr_client* client_ = nullptr;
  mmr_agent* agent_ = nullptr;
  std::uint64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<RestlessGame> NewCGame(void* library, const char* address,
                                       const std::string& name) {
  return std::make_unique<CGame>(library, address, name);
}

}  // namespace murmurate
