// A game with thousands of agents in one process, which says what they take and whether they learn:
//
//   crowd ADDRESS AGENTS TRAJECTORY_LENGTH SECONDS [group]
//
// Each agent sees four numbers, and is right when it chooses 1 exactly where the first is positive.
// They play until four of five are, and at least three trajectories each, but no longer than
// SECONDS. The last line is JSON: MiB resident before there was an agent, at most, between the two,
// and that less the observations of one open trajectory each; steps a second; the learner's last
// version; how many of the last round's choices were right.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "murmurate/client.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNumbers = 4;
constexpr int kEpisode = 50;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

/// Of /proc/self/status.
double Mebibytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::strtod(&line[field.size() + 1], nullptr) / 1024;
  }
  return -1.0;
}

struct Crowd {
  std::vector<float> seen;
  std::vector<std::int32_t> chosen;
  std::uint64_t rounds = 0, noise = 1;
  const std::uint64_t least_rounds;
  double seconds = 0.0;  ///< that they have played

  Crowd(std::size_t agents, int trajectory_length)
      : seen(agents * kNumbers),
        chosen(agents),
        least_rounds(3 * static_cast<std::uint64_t>(trajectory_length)) {}
  void Look() {
    for (float& number : seen) {
      noise = noise * 6364136223846793005u + 1442695040888963407u;
      number = static_cast<float>(static_cast<std::int32_t>(noise >> 32)) * 0x1p-31f;
    }
  }
  bool Right(std::size_t agent) const {
    return chosen[agent] == (seen[agent * kNumbers] > 0.0f ? 1 : 0);
  }
  template <typename Agents>
  int Judge(Agents& agents) {
    int right = 0;
    ++rounds;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      right += Right(i);
      agents[i].Reward(Right(i) ? 1.0 : 0.0);
      if ((rounds + i) % kEpisode == 0) agents[i].End(murmurate::kTerminated);
    }
    return right;
  }
};

/// How many were right in the last round.
template <typename Act, typename Agents>
int Play(Crowd& crowd, double seconds, Act act, Agents& agents) {
  const std::size_t most = crowd.chosen.size();
  for (const auto begun = Clock::now();;) {
    crowd.Look();
    act();
    const std::size_t right = static_cast<std::size_t>(crowd.Judge(agents));
    crowd.seconds = Seconds(begun);
    const bool learned = 5 * right >= 4 * most && crowd.rounds >= crowd.least_rounds;
    if (learned || crowd.seconds >= seconds) return static_cast<int>(right);
  }
}

int PlayTogether(murmurate::Client& client, const murmurate::AgentOptions& options, Crowd& crowd,
                 double seconds) {
  static murmurate::AgentGroup group =
      client.NewAgentGroup(options, static_cast<int>(crowd.chosen.size()));
  return Play(
      crowd, seconds, [&] { group.Act(crowd.seen, crowd.chosen); }, group);
}

int PlayEach(murmurate::Client& client, const murmurate::AgentOptions& options, Crowd& crowd,
             double seconds) {
  static std::vector<murmurate::Agent> agents;
  agents.reserve(crowd.chosen.size());
  for (std::size_t i = 0; i < crowd.chosen.size(); ++i) agents.push_back(client.NewAgent(options));
  const auto act = [&] {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      crowd.chosen[i] = agents[i].Act(std::span(crowd.seen).subspan(i * kNumbers, kNumbers));
    }
  };
  return Play(crowd, seconds, act, agents);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int agents = std::atoi(argv[2]), length = std::atoi(argv[3]);
  const double seconds = std::atof(argv[4]);
  static auto client = murmurate::Client::Connect(argv[1]);
  if (!client.ok()) return 1;
  Crowd crowd(static_cast<std::size_t>(agents), length);
  crowd.Look();
  const double before = Mebibytes("VmRSS");
  const murmurate::AgentOptions options{.observation = murmurate::Box({kNumbers}),
                                        .action = murmurate::Discrete(2)};
  const int right = argc > 5 ? PlayTogether(**client, options, crowd, seconds)
                             : PlayEach(**client, options, crowd, seconds);
  const murmurate::ClientStats stats = (*client)->Stats();
  const double most = Mebibytes("VmHWM");
  const double observations = static_cast<double>(agents) * length * kNumbers * 4 / (1 << 20);
  std::printf(
      "{\"before_mib\": %.2f, \"most_mib\": %.2f, \"above_mib\": %.2f, \"besides_mib\": %.2f, "
      "\"seconds\": %.1f, \"steps_per_s\": %.0f, \"dropped\": %.3f, \"sent\": %llu, \"version\": "
      "%llu, "
      "\"right\": %.4f}\n",
      before, most, most - before, most - before - observations, crowd.seconds,
      static_cast<double>(stats.steps) / crowd.seconds,
      static_cast<double>(stats.steps_dropped) / static_cast<double>(stats.steps + 1),
      static_cast<unsigned long long>(stats.trajectories_sent),
      static_cast<unsigned long long>(stats.version), static_cast<double>(right) / agents);
  std::fflush(stdout);
  std::_Exit(0);  // what ten thousand agents hand over as they close is not the question
}
