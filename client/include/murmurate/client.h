// murmurate client: play with a learner's newest weights, from inside a game.
//
//   auto client = murmurate::Client::Connect("tcp://127.0.0.1:7420", {.name = "game-7"});
//   murmurate::Agent agent = (*client)->NewAgent({.observation = murmurate::Box({4}),
//                                                 .action = murmurate::Discrete(2)});
//   while (playing) {
//     int action = agent.Act(game.observation());
//     game.Step(action);
//     agent.Reward(game.reward());
//     if (game.died()) { agent.End(murmurate::kTerminated); game.Reset(); }
//     if (game.timed_out()) { agent.End(murmurate::kTruncated, game.observation()); game.Reset(); }
//   }
//
// The promise: Act, Reward and End take no lock, allocate nothing and make no system call (but one
// eventfd write when a trajectory is handed over and the sender sleeps), whatever the learner does.
// The exceptions are the paces kCredit and kLockstep, which you ask for. No learner is no error.
//
// Two threads of ours a client: mmr-client (session, sending) and mmr-weights (receiving, packing);
// libzmq has its own two. All signals are blocked in them; nothing is written to stdout, and to
// stderr only what ClientOptions::log says. A call that the program may not make (an observation of
// another size than its space) aborts, and says on stderr what was expected and what it was given.
//
// After fork() the child has none of them: its copies of agents play on and send nothing, its copy
// of the client makes no agents, and destroying either does nothing at all. To play for a learner,
// the child connects anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/action.h"
#include "murmurate/log.h"
#include "murmurate/observation.h"
#include "murmurate/pace.h"
#include "murmurate/spaces.h"
#include "murmurate/status.h"

namespace murmurate {

/// How an episode ended.
enum EndKind : std::uint8_t {
  kTerminated,  ///< it is over: nothing follows
  kTruncated,   ///< it was cut (a time limit): life would have gone on from the final observation
};

/// Success says whether an episode reached the game's aim; a game that knows passes it to End.
enum Success : std::uint8_t { kNotSaid, kFailure, kSuccess };

/// WithoutPolicy selects the action that Act returns before it has weights.
enum class WithoutPolicy : std::uint8_t {
  kRandom,   ///< a valid random action, recorded once there is a learner
  kDefault,  ///< AgentOptions::default_action, not recorded
  kWait,     ///< waits for the first weights
};

/// Who takes newer weights up.
enum class Updates : std::uint8_t {
  kAutomatic,  ///< mmr-weights, as soon as they come
  kManual,     ///< only Client::Update: there is no mmr-weights thread
};

enum class PlayMode : std::uint8_t {
  kTrain,     ///< recorded and sent; the learner may ask for kEvaluate in a share of them
  kEvaluate,  ///< greedy; returns are reported, nothing is trained on
  kSilent,    ///< greedy; nothing is reported
};

/// A policy from a file written by Client::Save, a checkpoint, or `murmurate export`.
class PolicySource {
 public:
  PolicySource() = default;
  static PolicySource FromFile(std::string path);     ///< read by Connect or Open
  static PolicySource FromMemory(std::string bytes);  ///< what such a file holds
  bool empty() const { return path_.empty() && bytes_.empty(); }

 private:
  friend class Client;
  std::string path_, bytes_;
};

/// Agents whose names read like `agents` (* stands for any letters, ? for one) play `model`.
struct ModelPattern {
  std::string agents;
  std::string model;
};

/// How a client plays; what is not set is the default.
struct ClientOptions {
  std::string name = "actor";  ///< [A-Za-z0-9._-]{1,64}: how the learner shows this process
  Pace pace = Pace::kNever;
  WithoutPolicy without_policy = WithoutPolicy::kRandom;
  PolicySource policy = {};   ///< played until the learner's weights arrive
  bool accept_reset = false;  ///< adopt a learner that started afresh, though we hold weights
  /// Open sets this: the policy is greedy in every mode and runs on one portable kernel, so an
  /// observation determines the action bit for bit on every x86-64 machine, alone and in any group.
  /// It is several times slower than the kernels chosen for the processor.
  bool deterministic = false;
  /// kManual takes Pace::kNever and no WithoutPolicy::kWait: Act would wait for what only Update
  /// brings.
  Updates updates = Updates::kAutomatic;
  /// Receives the client's log lines (murmurate/log.h). Empty: warnings and errors go to stderr,
  /// each sentence once, from mmr-client.
  LogCallback log = {};
  bool quiet = false;  ///< without `log`, nothing is written to stderr either
  /// {{"npc-*", "npc"}, {"boss-?", "boss"}}: AgentOptions::model is then what the game calls the
  /// agent, and the first pattern that matches says what it plays; without one, it is the model.
  std::vector<ModelPattern> models = {};
};

enum class ClientState : std::uint8_t {
  kNoLearner,          ///< no learner answers at the address
  kWaitingForWeights,  ///< in session, no weights yet
  kLive,
  kDegraded,  ///< the learner is silent or started afresh: playing on with what we have
  kRefused,   ///< the learner will not have us; `reason` says why
};
/// In words: "no learner", "live".
const char* ToString(ClientState state);

/// StateReport is the answer of Client::State.
struct StateReport {
  ClientState state = ClientState::kNoLearner;
  std::string reason;       ///< one sentence; empty when kLive
  bool in_session = false;  ///< the learner answers
};

/// ClientStats holds the counters of Client::Stats since Connect.
struct ClientStats {
  std::uint64_t steps = 0;  ///< Act calls recorded or not
  std::uint64_t trajectories_sent = 0;
  std::uint64_t trajectories_dropped = 0;  ///< never sent: no credit, no learner, or discarded
  std::uint64_t steps_dropped = 0;
  std::uint64_t steps_given_up = 0;        ///< played at random: the policy's outputs overflowed
  std::uint64_t trajectories_refused = 0;  ///< the learner answered with an error
  std::uint64_t weights_received = 0;      ///< versions taken up
  std::uint64_t version = 0;               ///< newest held, of the first model
  std::uint64_t reconnects = 0;
  /// In a checkpoint on disk, whatever becomes of the learner; as its last COMMITTED said.
  std::uint64_t trajectories_committed = 0, steps_committed = 0;
  /// Sent, but in no checkpoint when the learner died: the resumed one does not have them. They are
  /// not sent again: it would find them stale.
  std::uint64_t trajectories_lost = 0;
  /// No finite float32; each cost its trajectory, and the return of its episode is not told.
  std::uint64_t rewards_not_finite = 0;
};

/// AgentOptions describe a player to NewAgent.
struct AgentOptions {
  Space observation;
  Space action;
  std::string model = "default";  ///< agents of one model share weights; see ClientOptions::models
  /// The action of WithoutPolicy::kDefault, whatever the mask says; empty: Action(action).
  Action default_action = {};
  /// What Agent::Privileged shows; empty: nothing.
  Space privileged = {};
};

class ClientCore;
class AgentCore;

/// One player. Used by one thread at a time (any one). Move only; closing hands over what it
/// recorded. Outlives its Client harmlessly: it then plays on and sends nothing.
class Agent {
 public:
  Agent() = default;
  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;
  ~Agent();

  /// The action for what the agent sees now: a Box of numbers in, one choice out. `observation` has
  /// as many numbers as the space; anything else aborts with the two numbers. NaN or infinite
  /// numbers: the policy sees zeros instead, the action is still valid, but the trajectory is
  /// dropped and counted. `allowed` is a mask (Observation::Mask).
  int Act(std::span<const float> observation, std::span<const std::uint8_t> allowed = {});
  /// A Box of numbers in, a Box of numbers out: as many as the action space has.
  void ActContinuous(std::span<const float> observation, std::span<float> action);
  /// Any spaces (observation.h, action.h). Parts that the space does not have, or of another size
  /// or sort, abort with their name; numbers that are not finite, categories that do not exist and
  /// masks that allow no choice cost the trajectory, as above.
  void Act(const Observation& observation, Action* action);

  /// What the learner may know beside what the agent sees, as the simulator's state: its value
  /// network reads it, and so judges the agent's actions better; the policy does not, and plays
  /// without it from a file. It belongs to the observation of the next Act, or of the next
  /// End(kTruncated), and of those that follow until it is called again; zeros before the first
  /// call. Parts that AgentOptions::privileged does not have, or of another size or sort, abort;
  /// numbers that are not finite cost the trajectory.
  void Privileged(const Observation& observation);

  /// Adds to the reward of the last action; 0 to n calls between two Acts. After End: ignored.
  /// A policy of a model with previous_reward chooses by it, also where no learner uses it
  /// (Client::Open, PlayMode::kEvaluate).
  void Reward(double reward);

  /// The episode is over. kTruncated needs the observation life would have gone on from.
  void End(EndKind kind, const Observation& final_observation = {});
  /// The same, and whether it succeeded: the learner shows the share of the last 100 episodes that
  /// said so (rollout/success_rate, eval/success_rate).
  void End(EndKind kind, Success success, const Observation& final_observation = {});

  /// The game overrode the last action: `action` is what really happened. That step is recorded
  /// with the log-probability the policy gives it. A choice outside the space, or that the step's
  /// mask forbids, aborts; numbers are clipped to their bounds.
  void Took(int action);
  void Took(const Action& action);
  /// The same of a person or a script whose probabilities are known: the step is recorded with the
  /// log-probability with which they chose `action`, and V-trace and PPO weigh it by that. Of
  /// numbers it is the log of a density in the game's units; with choices and switches, the sum.
  /// It must be finite, and of choices and switches alone at most 0, or the call aborts; less than
  /// log 1e-30 counts as that.
  void Took(int action, float log_prob);
  void Took(const Action& action, float log_prob);

  /// In Act's place, where a person or a script plays: what it saw and what it did, recorded as a
  /// step with the log-probability that the policy gives it (`algorithm.name = "bc"` clones it).
  /// Costs what Act and Took cost; the same rules hold.
  void Record(std::span<const float> observation, int action);
  void Record(const Observation& observation, const Action& action);

  /// Forgets the unfinished episode (quick-load): its steps not yet handed over are not learned
  /// from.
  void Discard();

  /// A named number of this episode ("kills", 3); the learner shows its mean as rollout/kills, or
  /// eval/kills. Several calls add up. At most 16 names, of which the first 64 letters count; one
  /// more name, or a value that is not finite, is not counted.
  void Report(std::string_view name, double value);

  void Mode(PlayMode mode);  ///< from the next episode's first Act on

  bool valid() const { return core_ != nullptr; }

 private:
  friend class Client;
  friend class AgentGroup;
  friend struct Internals;
  explicit Agent(std::shared_ptr<AgentCore> core);
  void Close();
  std::shared_ptr<AgentCore> core_;
};

/// `size` agents of one vectorized simulator, played with one batched pass: what each has finished
/// leaves before any of them waits. Agents of one thread that are no group may play in every pace,
/// too; under kLockstep one that has spent its credit then plays on unrecorded until the others
/// have finished, a step a trajectory where all have the same length.
class AgentGroup {
 public:
  AgentGroup() = default;

  /// observations [size][D] -> actions [size]; allowed [size][choices] masks, or none.
  void Act(std::span<const float> observations, std::span<std::int32_t> actions,
           std::span<const std::uint8_t> allowed = {});
  /// Any spaces: one observation and one action for each agent.
  void Act(std::span<const Observation> observations, std::span<Action> actions);
  /// Agent i, for Reward, End and the rest.
  Agent& operator[](int i) { return agents_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(agents_.size()); }

 private:
  friend class Client;
  friend struct Internals;
  std::vector<Agent> agents_;
  void Check(std::size_t observations, std::size_t actions);
  std::vector<AgentCore*> cores_;  // scratch of Act
};

/// One connection to one learner, with any number of agents of any number of models.
class Client {
 public:
  /// Returns at once, learner or not; fails only for bad arguments (the address, the name, a policy
  /// file that cannot be read) and where the system has no thread or file descriptor left.
  static Result<std::unique_ptr<Client>> Connect(const std::string& address,
                                                 ClientOptions options = {});
  /// Plays options.policy: no socket, no thread, no learner.
  static Result<std::unique_ptr<Client>> Open(ClientOptions options);

  /// Stops and joins the threads; at most 2 s, usually a few milliseconds. Says goodbye.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// A new player. Bad spaces (not supported, or other than this client's earlier agents of the
  /// same model) give an agent that is not valid(), and last_error() says why.
  Agent NewAgent(const AgentOptions& options);
  /// `size` of them, to be played together.
  AgentGroup NewAgentGroup(const AgentOptions& options, int size);
  const Status& last_error() const;

  StateReport State() const;
  ClientStats Stats() const;
  /// True once the learner has ended for good (GOAWAY, no restart expected): a program that
  /// exists only to play for it may end. A game just plays on.
  bool should_stop() const;

  /// A number that the learner sets for its games ([settings], a curriculum, `murmurate set`), or
  /// `fallback` while it has none of that name. Read it as an episode begins, after the last one's
  /// End and before the first Act: the episode is then recorded as played under it. Any thread; no
  /// lock, no allocation.
  double Setting(std::string_view name, double fallback) const;

  /// Updates::kManual: loads what has come since; how many models play a newer version now.
  /// Copies and packs on this thread, which takes the longer the more weights there are: call it
  /// where a frame has time for it. Any one thread at a time; 0 for other clients.
  int Update();

  /// Writes the policy of `model` as now held to a file that PolicySource::FromFile reads.
  Status Save(const std::string& path, const std::string& model = "default") const;

 private:
  friend struct Internals;
  explicit Client(std::unique_ptr<ClientCore> core);
  std::unique_ptr<ClientCore> core_;
};

}  // namespace murmurate
