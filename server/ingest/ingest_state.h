// Ingest::State: the parts of an Ingest; the room's own business.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/ingest/event_log.h"
#include "server/ingest/ingest.h"
#include "server/ingest/intake.h"
#include "server/ingest/model_requests.h"
#include "server/ingest/model_table.h"
#include "server/ingest/reply_queue.h"
#include "server/ingest/round_pace.h"

namespace murmurate {

struct Ingest::State {
  State(Socket main, IngestOptions given, OfferModel offer_model)
      : options(std::move(given)),
        socket(std::move(main)),
        poller(&wake),
        session(options.incarnation, options.resumed, options.seed, options.limits),
        reply_queue(&socket, options.incarnation),
        event_log(options.log),
        models(&session, options.shm),
        requests(std::move(offer_model), options.models_apart, &session, &models),
        intake(options, &session, &models, &pace) {}

  void CollectReturned(std::int64_t now_ns);
  void ApplySettings();
  void OnMessage(Message message, std::int64_t now_ns);
  void Answer(std::int64_t now_ns);
  int Receive(std::int64_t now_ns);
  int Round(std::int64_t now_ns);
  void LogActors(std::int64_t now_ns);

  const IngestOptions options;
  std::vector<std::string> addresses;
  WakeSignal wake;
  Socket socket;
  Poller poller;

  std::mutex mail_mutex;  ///< of settings_mail; nothing else is locked inside it
  std::optional<wire::Settings> settings_mail;

  mutable std::mutex mutex;  ///< all below: a round against CollectReport and SayGoaway
  wire::ServerSession session;
  ReplyQueue reply_queue;
  EventLog event_log;
  RoundPace pace;
  ModelTable models;
  ModelRequests requests;  ///< makes models outside of the lock
  Intake intake;
  std::vector<StalenessMail::Age> ages;  ///< scratch
  std::uint64_t messages = 0, bytes = 0;
};

}  // namespace murmurate
