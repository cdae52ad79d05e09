// A game's plug-in that holds the whole client: the game itself links nothing of murmurate, and
// ships one file. scripts/minimal-client.sh builds it; host.cpp is a game that loads it.
#include <murmurate/client.h>

#include <memory>

namespace mmr = murmurate;

namespace {

std::unique_ptr<mmr::Client> client;
mmr::Agent agent;

}  // namespace

#define PLUGIN extern "C" __attribute__((visibility("default")))

/// 0, or 1 where an argument is wrong or memory is short: plugin_act must not be called then. A
/// missing learner is no error.
PLUGIN int plugin_open(const char* address, int observations, int actions) try {
  auto connected = mmr::Client::Connect(address, {.name = "plug-in"});
  if (!connected.ok()) return 1;
  agent =
      (*connected)
          ->NewAgent({.observation = mmr::Box({observations}), .action = mmr::Discrete(actions)});
  if (!agent.valid()) return 1;
  client = std::move(*connected);
  return 0;
} catch (...) {
  return 1;  // no exception crosses into a game that is perhaps not C++
}

PLUGIN int plugin_act(const float* observation, int count) {
  return agent.Act({observation, static_cast<std::size_t>(count)});
}

PLUGIN void plugin_reward(float reward) { agent.Reward(reward); }

PLUGIN void plugin_won() { agent.End(mmr::kTerminated); }

PLUGIN void plugin_timed_out(const float* observation, int count) {
  agent.End(mmr::kTruncated, std::span(observation, static_cast<std::size_t>(count)));
}

PLUGIN void plugin_close() {
  agent = {};
  client.reset();
}
