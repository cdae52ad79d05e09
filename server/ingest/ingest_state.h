// What an Ingest is made of; the room's own business.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/ingest/assembly.h"
#include "server/ingest/chronicle.h"
#include "server/ingest/ingest.h"
#include "server/ingest/model_maker.h"
#include "server/ingest/outbox.h"

namespace murmurate {

struct Ingest::State : wire::ServerSession::Models {
  State(Socket main, IngestOptions given, OfferModel offer_model)
      : options(std::move(given)),
        socket(std::move(main)),
        poller(&wake),
        maker(std::move(offer_model)),
        session(options.incarnation, options.resumed, options.seed, options.limits),
        outbox(&socket, options.incarnation),
        chronicle(options.log) {}

  Result<std::uint32_t> Lookup(const std::string& name, const std::string& text) override;
  Result<std::uint32_t> AskForModel(const std::string& name, const std::string& text,
                                    const Spaces& spaces);
  void TakeMade(std::int64_t now_ns);
  void Keep(std::string peer, wire::Decoded hello);
  void Converse(std::string peer, wire::Decoded message, std::int64_t now_ns);
  Result<std::uint32_t> TakeModel(const std::string& name, const OfferedModel& offered);
  void TakeReturned(std::int64_t now_ns);
  void TakeSettings();
  void OnMessage(Message message, std::int64_t now_ns);
  void OnExperience(Message message, wire::Decoded decoded, std::int64_t now_ns);
  void Settled(std::uint32_t model, const std::string& peer, const wire::Decoded& decoded,
               Assembly::Outcome outcome, std::int64_t now_ns);
  void PassOn(std::uint32_t model, std::span<const wire::ReportedNumber> reports,
              const TrajectoryView& view) const;
  void CountSteps(std::uint32_t model);
  void CloseAtQuorum(std::uint32_t model, std::int64_t now_ns);
  void HandOver(std::uint32_t model, std::int64_t now_ns);
  void SettleWaiting(std::uint32_t model, std::int64_t now_ns);
  void Answer(std::int64_t now_ns);
  bool AnswerDue(std::int64_t now_ns) const;
  int Receive(std::int64_t now_ns);
  int Round(std::int64_t now_ns);
  void Chronicled(std::int64_t now_ns);

  const IngestOptions options;
  std::vector<std::string> addresses;
  WakeSignal wake;
  Socket socket;
  Poller poller;

  ModelMaker maker;

  std::mutex mail_mutex;  ///< of settings_mail; nothing else is locked inside it
  std::optional<wire::Settings> settings_mail;

  mutable std::mutex mutex;  ///< all below: a round against TakeReport and SayGoaway
  wire::ServerSession session;
  Outbox outbox;
  Chronicle chronicle;
  std::vector<std::unique_ptr<Assembly>> assemblies;
  std::map<std::string, std::uint32_t> model_numbers;
  /// A HELLO that names a model which is being made; the newest of each peer, oldest first.
  struct WaitingHello {
    std::string peer;
    wire::Decoded message;
  };
  std::vector<WaitingHello> waiting_hellos;
  bool hello_waits = false;  ///< what Lookup found for the HELLO in hand
  /// Why a model could not be made, while the HELLOs that waited for it are answered.
  std::optional<ModelMaker::Made> failed;
  AlignedFloats scratch;
  std::vector<StalenessMail::Age> ages;  ///< scratch
  std::uint64_t messages = 0, bytes = 0;
  std::int64_t next_tick_ns = 0;
  std::int64_t rests_at_ns = 0;    ///< from then on only a message or Wake makes a round due
  bool urgent = false;             ///< somebody waits for an answer
  std::int64_t owed_since_ns = 0;  ///< of the oldest ACCEPTED held back; 0: none
};

}  // namespace murmurate
