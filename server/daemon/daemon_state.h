// Daemon::State: the parts that a daemon's models share, the models, and the threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/daemon/daemon.h"
#include "server/daemon/life_signs.h"
#include "server/daemon/live_models.h"
#include "server/daemon/model_factory.h"
#include "server/daemon/reloading.h"
#include "server/daemon/run_hooks.h"
#include "server/daemon/run_parts.h"
#include "server/operate/disk_budget.h"
#include "server/page/page.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"

namespace murmurate {

struct Daemon::State {
  State(const Config& config, DaemonOptions options, Signals* signals, RunDirectory directory,
        std::unique_ptr<TrainingPlaces> places)
      : display(options.display),
        parts(config, std::move(options), signals, std::move(directory), std::move(places)),
        factory(&parts, &models) {}
  /// While the models are there, which hooks call.
  ~State() {
    if (parts.hooks) parts.hooks->Cancel();
  }

  Status Open();
  Status OpenSockets(const std::string& folder);
  Status OpenIngest(const std::string& folder);
  Status OpenIngestAndPublishing(const IngestOptions& in);
  Status OpenOperate(const std::string& folder);
  void MakeBoard();
  Status OpenPage();
  Result<std::vector<std::string>> Listen(const std::string& folder);
  Status WriteFiles() const;
  Status Resume();
  void StartLoops();
  void StartReloading();
  void TurnOperate();
  void TurnCheckpoint();
  ActorsView Actors();
  void FinishRound();
  void SayGoodbye(const wire::Goaway& goaway, const std::function<bool()>& actors_gone);
  std::string WriteLastCheckpoints();

  Display display;
  const ServiceNotice notice;
  LifeSigns life{&notice};
  RunParts parts;
  std::optional<DiskBudget> disk;
  std::optional<Reloading> reloading;
  const std::uint64_t incarnation = RandomIdentity();
  std::string admin_address;
  std::unique_ptr<SnapshotBoard> board;  ///< null: there is no page
  std::unique_ptr<Page> page;
  ModelFactory factory;  ///< models call back through it
  LiveModels models;
  std::unique_ptr<Loop> publish_loop, checkpoint_loop, operate_loop, ingest_loop, make_loop,
      page_loop;
  std::string borrowed_folder;  ///< of a resumed run's earlier ipc addresses, removed at the end
  bool stopped = false;
};

}  // namespace murmurate
