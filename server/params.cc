#include <filesystem>

#include "server/commands.h"
#include "server/descriptors.h"
#include "server/log.h"
#include "server/operate/checkpoint_writer.h"
#include "server/parameters/parameter_server.h"
#include "server/signals.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr int kLastWordsMs = 20;

/// What mmr-checkpoint writes of one shard, and what a shard goes on from.
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
      auto parsed = ModelSpec::Parse(spec);
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
  /// On the writing thread.
  std::function<void(const std::string& model, std::shared_ptr<const SavedState>)> on_kept;

 private:
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
  if (!config.shares_parameters())
    return InvalidArgument(source.label +
                           ": parameters.mode is \"local\", so there is no parameter server; write "
                           "mode = \"server\" and shards = [...] in [parameters]");
  const auto count = config.shards().size();
  if (shard < 0 || static_cast<std::size_t>(shard) >= count)
    return InvalidArgument("--shard: got " + std::to_string(shard) + ", expected 0 to " +
                           std::to_string(count - 1) + ", an index of parameters.shards");
  return {};
}

}  // namespace

Result<int> RunParams(const CommonArguments& common, const ParamsArguments& arguments) {
  auto source = FindConfig(arguments.config);
  if (!source.ok()) return source.status();
  const auto config = Config::Load(*source, common.overrides);
  if (!config.ok()) return config.status();
  MURMURATE_RETURN_IF_ERROR(CheckShard(*config, *source, arguments.shard));
  const fs::path folder = arguments.folder.empty()
                              ? fs::path(config->run().dir) / (config->run().name + "-shard-" +
                                                               std::to_string(arguments.shard))
                              : fs::path(arguments.folder);
  const auto taken =
      arguments.fresh ? RunDirectory::WhenTaken::kFresh : RunDirectory::WhenTaken::kGoOn;
  auto directory =
      RunDirectory::Open(folder.parent_path().string(), folder.filename().string(), taken);
  if (!directory.ok()) return directory.status();
  MURMURATE_RETURN_IF_ERROR(directory->Write("config.toml", config->Resolved()));
  Signals signals(Signals::Hangup::kIgnored);
  Display display(common.quiet ? Display::Mode::kQuiet : Display::Mode::kLines);
  auto log = Log::Open(directory->path() + "/log.txt", &display,
                       common.quiet ? LogLevel::kWarning : LogLevel::kInfo);
  if (!log.ok()) return log.status();
  MURMURATE_RETURN_IF_ERROR(RaiseFileLimit());
  log->callback()(LogLevel::kInfo, DescriptorsInWords());
  ShardFiles files(*config, directory->path(), log->callback());

  SocketContext context;
  ParameterServerOptions options;
  options.settings = [&config](const std::string& model) { return config->shard_settings(model); };
  options.shard = arguments.shard;
  options.shards = static_cast<int>(config->shards().size());
  options.address = config->shards()[static_cast<std::size_t>(arguments.shard)];
  options.save_every_ns = static_cast<std::int64_t>(config->checkpoint().every_s * 1e9);
  options.log = log->callback();
  options.on_save = [&files](const std::string& model, const Shard& shard) {
    files.Post(model, shard);
  };
  auto server = ParameterServer::Open(context, std::move(options));
  if (!server.ok()) return server.status();
  files.on_kept = [&server](const std::string& model, std::shared_ptr<const SavedState> state) {
    (*server)->PostKept(model, std::move(state));
  };
  MURMURATE_RETURN_IF_ERROR(files.ResumeAll(server->get()));
  log->callback()(LogLevel::kInfo, "shard " + std::to_string(arguments.shard) + " of " +
                                       std::to_string(config->shards().size()) + " on " +
                                       (*server)->BoundAddress() + "; Ctrl+C stops it");
  {
    Loop checkpoint(
        "mmr-checkpoint", [&files] { files.writer().PollOnce(100); },
        [&files] { files.writer().Wake(); });
    Loop loop(
        "mmr-params", [&server] { (*server)->PollOnce(100); }, [&server] { (*server)->Wake(); });
    while (signals.Wait(-1) != Signals::Event::kSignal) continue;
  }
  (*server)->PollOnce(kLastWordsMs);  // a worker's BYE, sent just before the signal
  (*server)->SaveAll();
  while (files.writer().PollOnce(0)) continue;
  if (!common.quiet) display.Print((*server)->Report(), stdout);
  MURMURATE_RETURN_IF_ERROR(directory->StillThere());
  return 0;
}

}  // namespace murmurate
