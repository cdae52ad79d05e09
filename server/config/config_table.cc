// The table of keys: what there is, what it means, what it may be.
#include "client/environments/environment.h"
#include "server/learn/algorithms.h"
#include "server/schema/config_table_words.h"

namespace murmurate {
namespace {

const std::vector<ConfigRule> kRunRules{
    {"run", "name", kString, kUnset, "\"cartpole\"", "the run's folder; the config's file name"},
    {"run", "dir", kString, S("runs"), "\"runs\"", "where run folders lie"},
    {"run", "seed", kInteger, I(1), "1", "of initial weights, minibatches and actors", 0, kMany},
    {"run", "environment", kString, kUnset, "\"cartpole\"", "what `train` and `eval` play"},
    {"run", "actors", kInteger, kUnset, "2",
     "actor processes that `train` starts; usual: processors less one, at least 2", 1, 4096},
    {"run", "agents", kInteger, I(2), "2", "agents in each of them, played in one pass", 1, 4096},
    {"run", "learners", kInteger, I(1), "3", "learners that `train` starts around one model", 1,
     1024},
    {"run", "shards", kInteger, I(0), "2",
     "processes of their parameter server; 0: one if there are several learners", 0, 1024},
    {"run", "steps", kInteger, kUnset, "100000", "learned from: budget and horizon of schedules", 1,
     kMany},
    {"run", "stop_at_return", kNumber, kUnset, "475", "end at this mean of 100 episodes"},
    {"run", "stop_at_steps", kInteger, kUnset, "50000",
     "learned from: end here, schedules unchanged", 1, kMany},
    {"run", "log_interval_s", kNumber, 5.0, "5", "seconds between rows of progress.csv", 0.001,
     86400},
};

/// Of [environment]: options of single environments, unset where they are not given.
std::vector<ConfigRule> EnvironmentRules() {
  std::vector<ConfigRule> rules;
  for (const EnvironmentOption& option : AllEnvironmentOptions()) {
    const std::string usual = NumberText(EnvironmentOptions().*option.value);
    rules.push_back({"environment", option.name, option.whole ? kInteger : kNumber, kUnset, usual,
                     option.MeaningInWords() + "; usual: " + usual, option.low, option.high});
  }
  return rules;
}

const std::vector<ConfigRule> kServerRules{
    {"server", "listen", ValueKind::kStrings, Strings{"tcp://127.0.0.1:7420", "ipc"},
     "[\"tcp://127.0.0.1:7420\"]", "addresses; \"ipc\" is one in the runtime folder"},
    {"server",
     "shm",
     kString,
     S("auto"),
     "\"auto\"",
     "weights by shared memory on the same host",
     -1,
     1,
     {"auto", "on", "off"}},
    {"server", "ingest_budget_bytes", kInteger, I(256 << 20), "268435456",
     "memory for experience on its way", 1 << 20, kMany},
    {"server", "max_actors", kInteger, I(4096), "4096", "actor processes at once", 1, 65536},
    {"server", "insecure", kBool, false, "true", "listen beyond this host without keys"},
};

const std::vector<ConfigRule> kModelRules{
    {"model",
     "trunk",
     kString,
     S("auto"),
     "\"mlp\"",
     "what encodes pictures",
     -1,
     1,
     {"auto", "mlp", "nature_cnn", "impala_cnn"}},
    {"model", "layers", ValueKind::kLayers, kUnset, "[64, 64]",
     "of the trunk; usual: [64, 64]; after nature_cnn [512], impala_cnn [256]"},
    {"model", "inputs", ValueKind::kStrings, Strings{}, "[\"camera: conv 32 8 4\"]",
     "layers of single inputs"},
    {"model", "recurrent", kString, kUnset, "\"lstm 128\"", "on top of the trunk"},
    {"model", "frame_stack", kInteger, I(1), "4", "pictures (or numbers) seen at once", 1, 16},
    {"model",
     "activation",
     kString,
     kUnset,
     "\"tanh\"",
     "after each layer; usual: relu with pictures, otherwise tanh",
     -1,
     1,
     {"tanh", "relu", "elu", "sigmoid", "none"}},
    {"model", "separate_value", kBool, kUnset, "true",
     "the critic has a trunk of its own; usual: unless it recurs"},
    {"model", "squashed", kBool, false, "true",
     "continuous actions by tanh into their bounds, instead of cut off there"},
    {"model", "scale_actions", kBool, kUnset, "true",
     "continuous actions: the box's middle is the policy's 0, half its width 1; usual: true"},
    {"model", "initial_deviation", kNumber, 1.0, "0.5",
     "of continuous actions: spread at first, 1 being half the box", 1e-6, 7.3},
    {"model", "state_dependent_deviation", kBool, false, "true",
     "the network gives the spread of continuous actions"},
    {"model", "normalize_observation", kBool, true, "true", "by running mean and variance"},
    {"model",
     "initializer",
     kString,
     S("orthogonal"),
     "\"orthogonal\"",
     "how weights begin",
     -1,
     1,
     {"orthogonal", "xavier", "he", "normal"}},
    {"model", "keep_bias", kNumber, kUnset, "2.5",
     "first bias of the gates that keep a recurrent state; usual: lstm 1, gru 0", -20, 20},
    {"model", "initialize_from", ValueKind::kPath, kUnset, "\"weights.safetensors\"",
     "a file: its tensors of the same name and shape"},
    {"model", "threads", kInteger, I(1), "4", "processor threads that train it together", 1, 64},
};

const std::vector<ConfigRule> kAlgorithmRules{
    {"algorithm", "name", kString, DefaultAlgorithm().name, ToToml(Algorithms()[1]->name),
     "how it learns; it has defaults of its own", -1, 1, AlgorithmNames()},
    {"algorithm", "trajectory_length", kInteger, I(128), "128", "T, steps", 1, 65536},
    {"algorithm", "batch_steps", kInteger, I(2048), "2048", "steps of a batch, a multiple of T", 1,
     1 << 24},
    {"algorithm", "minibatch", kInteger, I(256), "256", "steps of an update", 1, 1 << 24},
    {"algorithm", "epochs", kInteger, I(10), "10", "passes over a batch", 1, 1000},
    {"algorithm", "gamma", kNumber, 0.99, "0.99", "discount", 0, 1},
    {"algorithm", "lambda", kNumber, 0.95, "0.95", "of advantages and value targets", 0, 1},
    {"algorithm", "reward_scale", kNumber, 1.0, "0.1", "rewards are multiplied by it", kTiny, 1e12},
    {"algorithm", "normalize_reward", kBool, true, "true",
     "rewards are divided by the deviation of the discounted return; usual: unless reward_scale is "
     "set"},
    {"algorithm", "reward_clip", kNumber, kUnset, "10",
     "and cut to +- this; 0: not; usual: 10 when normalized, else 0", 0, 1e12},
    {"algorithm", "clip", kSchedule, 0.2, "0.2", "of the policy's ratio", kTiny, 100},
    {"algorithm", "entropy", kSchedule, 0.0, "0.01", "weight of the entropy bonus", 0, 100},
    {"algorithm", "normalize_advantage", kBool, true, "true",
     "to mean 0 and deviation 1 over the batch"},
    {"algorithm", "value_weight", kNumber, 0.5, "0.5", "weight of the value loss", 0, 1000},
    {"algorithm", "max_grad_norm", kNumber, 0.5, "0.5", "clip gradients to this length; 0: not", 0,
     1e12},
    {"algorithm", "max_staleness", kInteger, I(16), "16", "versions; older play is dropped", 0,
     1 << 30},
    {"algorithm",
     "staleness",
     kString,
     S("vtrace"),
     "\"vtrace\"",
     "what becomes of late play",
     -1,
     1,
     {"vtrace", "drop", "block"}},
    {"algorithm", "target_kl", kNumber, 0.0, "0.03", "end the epochs early beyond it; 0: never", 0,
     1000},
    {"algorithm", "burn_in", kInteger, I(0), "8",
     "recurrent models: first steps of a trajectory that only warm its state", 0, 65535},
    {"algorithm", "max_trajectory_s", kNumber, 5.0, "5", "hand shorter ones over after this", 0.001,
     86400},
    {"algorithm", "batches_ahead", kInteger, I(2), "4",
     "batches that actors may play before the first is learned from; more: faster, later play", 2,
     64},
    {"algorithm", "quorum", kNumber, 1.0, "0.75",
     "staleness = \"block\": share of live agents that a batch needs", kTiny, 1},
    {"algorithm", "max_batch_s", kNumber, 10.0, "10", "train on a partial batch after this", 0.001,
     86400},
};

const std::vector<ConfigRule> kOptimizerRules{
    {"optimizer",
     "name",
     kString,
     S("adam"),
     "\"adam\"",
     "what makes a step of a gradient",
     -1,
     1,
     {"adam", "rmsprop", "sgd", "momentum", "adagrad"}},
    {"optimizer", "learning_rate", kSchedule, 3e-4, "3e-4", "step size", kTiny, 100},
    {"optimizer", "weight_decay", kNumber, 0.0, "0.01", "decoupled", 0, 100},
    {"optimizer", "epsilon", kNumber, 1e-5, "1e-5", "of Adam or Adagrad, or inside RMSProp's root",
     kTiny, 1},
    {"optimizer", "decay", kNumber, 0.99, "0.99", "of RMSProp's mean square", 0, 1},
    {"optimizer", "momentum", kNumber, 0.9, "0.9", "of momentum's velocity (Nesterov)", 0, 1},
};

const std::vector<ConfigRule> kParametersRules{
    {"parameters",
     "mode",
     kString,
     S("local"),
     "\"server\"",
     "whether this learner has its parameters to itself",
     -1,
     1,
     {"local", "server"}},
    {"parameters",
     "collective",
     kString,
     kUnset,
     "\"mpi\"",
     "the engine of ranks that mpirun starts and that average every gradient",
     -1,
     1,
     {"mpi", "nccl"}},
    {"parameters",
     "rule",
     kString,
     S("sync"),
     "\"sync\"",
     "how learners' updates become one",
     -1,
     1,
     {"asgd", "downpour", "agn", "adag", "dynsgd", "sync", "sagn", "easgd", "aeasgd", "aeamsgd",
      "hogwild"}},
    {"parameters", "threads", kInteger, I(1), "2",
     "hogwild: threads of this learner that step its parameters at once", 1, 64},
    {"parameters", "locking", kBool, false, "true",
     "hogwild: one thread after the other reads and steps all of them"},
    {"parameters",
     "form",
     kString,
     kUnset,
     "\"gradient\"",
     "what is pushed; usual: the rule's for the algorithm",
     -1,
     1,
     {"gradient", "delta"}},
    {"parameters", "window", kInteger, kUnset, "5",
     "updates from one exchange to the next; 0: a batch; usual: the rule's for the algorithm", 0,
     1 << 20},
    {"parameters", "elastic", kNumber, kUnset, "0.3",
     "alpha of easgd, aeasgd, aeamsgd; usual: 0.9 / workers", kTiny, 1},
    {"parameters", "adag_scale", kNumber, 1.0, "1", "adag: distance that halves a step, squared",
     kTiny, kMany},
    {"parameters", "shards", ValueKind::kStrings, Strings{}, "[\"tcp://127.0.0.1:7430\"]",
     "addresses of the parameter server, in the order of --shard"},
    {"parameters", "worker", kInteger, I(0), "1", "this learner's number among them", 0, 65535},
    {"parameters", "workers", kInteger, I(1), "4", "learners that begin together", 1, 65536},
    {"parameters", "backup", kInteger, I(0), "1",
     "sync, sagn: so many late ones are not waited for", 0, 65535},
    {"parameters", "max_staleness", kInteger, I(0), "8",
     "pushes that a learner may be ahead of the slowest; 0: any", 0, 1 << 20},
    {"parameters", "overlap", kBool, false, "true", "exchange while the next gradient is computed"},
    {"parameters",
     "optimizer",
     kString,
     kUnset,
     "\"adagrad\"",
     "the shards'; usual: as [optimizer]",
     -1,
     1,
     {"adam", "rmsprop", "sgd", "momentum", "adagrad"}},
    {"parameters", "learning_rate", kNumber, kUnset, "0.01",
     "of the shards' optimizer; usual: the learner's at that time", kTiny, 100},
};

const std::vector<ConfigRule> kCheckpointRules{
    {"checkpoint", "every_steps", kInteger, I(0), "100000",
     "learned from, from one to the next; 0: not by steps", 0, kMany},
    {"checkpoint", "every_s", kNumber, 60.0, "60",
     "seconds from one to the next, so much a crash can cost; 0: not by time", 0, 31'536'000},
    {"checkpoint", "keep", kInteger, I(3), "3", "the newest that stay", 1, 1 << 20},
    {"checkpoint", "keep_every", kInteger, I(0), "1000000",
     "and the first after each multiple of so many steps; 0: none", 0, kMany},
};

const std::vector<ConfigRule> kEvaluationRules{
    {"evaluation", "episodes", kInteger, I(100), "100", "without exploration, of frozen weights", 1,
     1e6},
    {"evaluation", "every", kNumber, 0.05, "0.05", "of run.steps, and at the end; 0: never", 0, 1},
};

const std::vector<ConfigRule> kDataRules{
    {"data", "path", ValueKind::kPath, kUnset, "\"recordings\"",
     "learn from this folder of recorded trajectories as labels, with no actor"},
    {"data", "observations", ValueKind::kPaths, kUnset, "\"x.npy\"",
     "or from arrays: one, or a list of \"name: path\""},
    {"data", "labels", ValueKind::kPaths, kUnset, "\"y.npy\"", "what is right for them"},
    {"data", "classes", kInteger, kUnset, "10", "of labels that are integers; usual: all there are",
     2, 4096},
    {"data", "passes", kInteger, I(10), "10", "over this learner's part of it, then the run ends",
     1, 1 << 30},
    {"data", "holdout", kNumber, 0.0, "0.1", "share that is scored and never learned from", 0, 0.9},
    {"data", "holdout_path", ValueKind::kPath, kUnset, "\"test\"",
     "or score this folder's recordings, or its arrays of the same names"},
    {"data", "divide", kBool, kUnset, "false",
     "each of several learners reads a part of its own; usual: true"},
    {"data", "threads", kInteger, I(1), "2", "that shuffle and fill the next batches", 1, 64},
};

const std::vector<ConfigRule> kRecordRules{
    {"record", "path", ValueKind::kPath, kUnset, "\"recordings\"",
     "keep what actors send in this folder"},
    {"record", "max_bytes", kInteger, I(1 << 30), "1073741824",
     "of a model's files; the oldest go first", 1 << 20, kMany},
};

}  // namespace

const std::vector<ConfigRule>& ConfigRules() {
  static const std::vector<ConfigRule> kRules = [] {
    std::vector<ConfigRule> all;
    const std::vector<ConfigRule> environment_rules = EnvironmentRules();
    for (const auto* some : {&kRunRules, &environment_rules, &kServerRules, &kModelRules,
                             &kAlgorithmRules, &kOptimizerRules, &kParametersRules,
                             &kCheckpointRules, &kEvaluationRules, &kDataRules, &kRecordRules})
      all.insert(all.end(), some->begin(), some->end());
    return all;
  }();
  return kRules;
}

}  // namespace murmurate
