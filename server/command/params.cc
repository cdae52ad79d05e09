#include <unistd.h>

#include <filesystem>

#include "server/command/command_line.h"
#include "server/command/shard_desk.h"
#include "server/config/config_text.h"
#include "server/config/model_settings.h"
#include "server/daemon/descriptors.h"
#include "server/daemon/run_log.h"
#include "server/daemon/signals.h"
#include "server/operate/checkpoint_directory.h"
#include "server/operate/checkpoint_writer.h"
#include "server/operate/operate_settings.h"
#include "server/page/page_settings.h"
#include "server/parameters/parameter_server.h"
#include "server/parameters/parameters_settings.h"
#include "server/parameters/shard.h"
#include "shared/core/check.h"
#include "shared/core/loop.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr int kLastWordsMs = 20;

struct ParamsArguments {
  std::string config;
  int shard = 0;
  std::string folder;  ///< "": run.dir/run.name-shard-I
  bool fresh = false;
  bool stay = false;  ///< when its last worker has left
};

/// ShardFiles are the checkpoints of one shard: mmr-checkpoint writes them, a shard resumes them.
class ShardFiles {
 public:
  ShardFiles(const Config& config, std::string folder, LogCallback log)
      : folder_(std::move(folder)),
        log_(log),
        writer_(config.checkpoint().retention, log,
                [this](const std::string& at, const Status& written, const Checkpoint& checkpoint) {
                  if (on_kept && written.ok())
                    on_kept(fs::path(at).filename().string(),
                            std::make_shared<const SavedState>(checkpoint.state));
                }) {}

  /// Any thread; nothing is kept of `shard`.
  void Post(const std::string& model, const Shard& shard) {
    auto state = std::make_shared<SavedState>();
    shard.Save(state.get());
    auto center = std::make_shared<AlignedFloats>(shard.center().size());
    std::copy(shard.center().begin(), shard.center().end(), center->begin());
    writer_.Post(FolderOf(model), [spec = shard.spec(), version = shard.version(),
                                   range = shard.range(), state, center] {
      auto parsed = ModelSpec::ParseAny(spec);
      MURMURATE_CHECK(parsed.ok(), "a shard has a model");
      Checkpoint checkpoint{{*std::move(parsed), version, version, {}}};
      AlignedFloats& whole = checkpoint.weights.parameters;
      whole = AlignedFloats(ParameterLayout(checkpoint.weights.spec).total);
      std::copy(center->begin(), center->end(),
                whole.begin() + static_cast<std::ptrdiff_t>(range.begin));
      checkpoint.state = std::move(*state);
      return checkpoint;
    });
  }

  Status ResumeAll(ParameterServer* server) const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ + "/models", error)) {
      RemoveHalfWritten(entry.path().string() + "/checkpoints");
      if (CheckpointSteps(entry.path().string()).empty()) continue;  // it died before the first
      auto found = ReadNewestCheckpoint(entry.path().string(), log_);
      if (!found.ok()) return found.status();
      const Checkpoint& checkpoint = found->checkpoint;
      MURMURATE_RETURN_IF_ERROR(server->Resume(entry.path().filename().string(),
                                               checkpoint.weights.spec.ToText(), checkpoint.state));
      log_(LogLevel::kInfo, "goes on from " + found->folder);
    }
    return {};
  }

  CheckpointWriter& writer() { return writer_; }
  /// Called on the writing thread.
  std::function<void(const std::string& model, std::shared_ptr<const SavedState>)> on_kept;

 private:
  /// Removes what a killed shard was writing when it died.
  static void RemoveHalfWritten(const std::string& checkpoints) {
    const auto lock = CheckpointLock::Acquire(checkpoints);
    if (lock.ok()) SweepUnfinished(checkpoints);
  }
  std::string FolderOf(const std::string& model) const {
    const std::string folder = folder_ + "/models/" + model;
    std::error_code error;
    fs::create_directories(folder, error);  // if that fails the writer says why
    return folder;
  }

  const std::string folder_;
  const LogCallback log_;
  CheckpointWriter writer_;
};

Status CheckShard(const Config& config, const ConfigSource& source, int shard) {
  if (!config.parameters().shared())
    return InvalidArgument(source.label +
                           ": parameters.mode is \"local\", so there is no parameter server; write "
                           "learners = 2 (or more) in [run], or mode = \"server\" and shards = "
                           "[...] in [parameters]");
  const auto count = config.parameters().shards.size();
  if (shard < 0 || static_cast<std::size_t>(shard) >= count)
    return InvalidArgument("--shard: got " + std::to_string(shard) + ", expected 0 to " +
                           std::to_string(count - 1) + ", an index of parameters.shards");
  return {};
}

std::string FolderOf(const Config& config, const ParamsArguments& arguments) {
  if (!arguments.folder.empty()) return arguments.folder;
  return config.run().dir + '/' + config.run().name + "-shard-" + std::to_string(arguments.shard);
}

ParameterServerOptions OptionsOf(const Config& config, const ParamsArguments& arguments,
                                 const LogCallback& log) {
  ParameterServerOptions options;
  options.settings = [&config](const std::string& model) {
    return ShardSettingsFor(config, model);
  };
  options.shard = arguments.shard;
  options.shards = static_cast<int>(config.parameters().shards.size());
  options.address = config.parameters().shards[static_cast<std::size_t>(arguments.shard)];
  options.save_every_ns = static_cast<std::int64_t>(config.checkpoint().every_s * 1e9);
  options.log = log;
  return options;
}

/// What the config says of a shard's numbers and its page, which there is only where page.listen
/// names one.
Result<ShardDeskOptions> DeskOptionsOf(const Config& config) {
  ShardDeskOptions options;
  options.tensorboard = config.Read(MetricsKeys()).tensorboard;
  options.log_interval_s = config.run().log_interval_s;
  const PageSettings page = config.Read(PageKeys());
  if (page.listen.empty() || page.listen == "off") return options;
  const auto address = ParsePageAddress(page.listen);
  if (!address.ok()) return address.status();
  options.page.emplace();
  options.page->address = *address;
  options.page->control = page.control;
  options.page->hosts = page.hosts;
  return options;
}

/// Serves until a signal, `murmurate stop`, or the end of the last worker.
void Serve(ParameterServer* server, ShardFiles* files, ShardDesk* desk, Signals* signals) {
  Loop checkpoint(
      "mmr-checkpoint", [files] { files->writer().PollOnce(10'000); },
      [files] { files->writer().Wake(); });
  Loop operate(
      "mmr-operate", [desk] { desk->PollOnce(1000); }, [desk] { desk->Wake(); });
  Loop loop(
      "mmr-params", [server] { server->PollOnce(100); }, [server] { server->Wake(); });
  while (!signals->requested() && signals->Wait(-1) != Signals::Event::kSignal) continue;
}

Result<int> RunParams(const CommonArguments& common, const ParamsArguments& arguments) {
  auto source = FindConfig(arguments.config);
  if (!source.ok()) return source.status();
  auto config = Config::Load(*source, common.overrides);
  if (!config.ok()) return config.status();
  if (config->run().shards > 0) MURMURATE_RETURN_IF_ERROR(config->NameShards());
  MURMURATE_RETURN_IF_ERROR(CheckShard(*config, *source, arguments.shard));
  Signals signals(Signals::Hangup::kIgnored);  // before the lock: who holds it also gives it back
  const fs::path folder = FolderOf(*config, arguments);
  const auto taken =
      arguments.fresh ? RunDirectory::WhenTaken::kFresh : RunDirectory::WhenTaken::kGoOn;
  auto directory =
      RunDirectory::Open(folder.parent_path().string(), folder.filename().string(), taken);
  if (!directory.ok()) return directory.status();
  MURMURATE_RETURN_IF_ERROR(directory->Write("config.toml", ResolvedToml(*config)));
  Display display(common.quiet ? Display::Mode::kQuiet : Display::Mode::kLines);
  auto opened = Log::Open(directory->path(), directory->name(), config->Read(LogKeys()), &display,
                          common.quiet ? LogLevel::kWarning : LogLevel::kInfo);
  if (!opened.ok()) return opened.status();
  const LogCallback log = opened->callback();
  MURMURATE_RETURN_IF_ERROR(RaiseFileLimit());
  log(LogLevel::kInfo, DescriptorsInWords());
  ShardFiles files(*config, directory->path(), log);

  SocketContext context;
  ParameterServerOptions options = OptionsOf(*config, arguments, log);
  options.on_save = [&files](const std::string& model, const Shard& shard) {
    files.Post(model, shard);
  };
  options.answers_after_checkpoint = options.save_every_ns > 0;
  if (!arguments.stay)
    options.on_left = [&log, &signals] {
      log(LogLevel::kInfo, "its last worker has left, so this shard ends; --stay keeps it");
      signals.Request(RunEnd::kStepsReached);
    };
  auto server = ParameterServer::Open(context, std::move(options));
  if (!server.ok()) return server.status();
  files.on_kept = [&server](const std::string& model, std::shared_ptr<const SavedState> state) {
    (*server)->PostKept(model, std::move(state));
  };
  MURMURATE_RETURN_IF_ERROR(files.ResumeAll(server->get()));
  const int shards = static_cast<int>(config->parameters().shards.size());
  auto desk_options = DeskOptionsOf(*config);
  if (!desk_options.ok()) return desk_options.status();
  desk_options->report = {.shard = arguments.shard,
                          .shards = shards,
                          .directory = fs::absolute(directory->path()).string(),
                          .pid = getpid(),
                          .listen = (*server)->BoundAddress(),
                          .stays = arguments.stay,
                          .models = {}};
  desk_options->server = server->get();
  desk_options->directory = &*directory;
  desk_options->on_stop = [&signals] { signals.Request(RunEnd::kAsked); };
  desk_options->log = log;
  ShardDesk desk(*std::move(desk_options));
  MURMURATE_RETURN_IF_ERROR(desk.Open(context));
  if (!common.quiet && !desk.page_url().empty())
    display.Print("the live page is " + desk.page_url(), stdout);
  log(LogLevel::kInfo,
      "shard " + std::to_string(arguments.shard) + " of " + std::to_string(shards) + " on " +
          (*server)->BoundAddress() +
          (arguments.stay ? "; Ctrl+C stops it" : "; it ends with its last worker, or by Ctrl+C"));
  Serve(server->get(), &files, &desk, &signals);
  (*server)->PollOnce(kLastWordsMs);  // a worker's BYE, sent just before the signal
  (*server)->SaveAll();
  while (files.writer().PollOnce(0)) continue;
  if (!common.quiet) display.Print((*server)->Report(), stdout);
  MURMURATE_RETURN_IF_ERROR(directory->StillThere());
  return 0;
}

}  // namespace

void AddParams(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<ParamsArguments>();
  auto* params = app->add_subcommand(
      "params",
      "One shard of a parameter server, for learners with [parameters] mode = \"server\"");
  params->add_option("CONFIG", given->config, "The TOML file (or example) that the learners have")
      ->required();
  params->add_option("--shard", given->shard, "Its index in parameters.shards")->required();
  params->add_option("--dir", given->folder,
                     "Where its checkpoints lie and it goes on from; usual: RUN-shard-I");
  params->add_flag("--fresh", given->fresh, "Begin anew; what lies there is kept as DIR.1");
  params->add_flag("--stay", given->stay, "Go on when its last worker has left");
  line->Choose(params, RunParams, given);
}

}  // namespace murmurate
