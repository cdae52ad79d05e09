// ModelRequests: how ingest comes to its models: a model that a HELLO names is looked up or made,
// and the HELLO waits until it is there.
//
// All runs on ingest's thread, or under its lock, but MakeModels and StopMaking (model_maker.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/ingest/model_maker.h"
#include "server/ingest/model_table.h"

namespace murmurate {

class ModelRequests : public wire::ServerSession::Models {
 public:
  /// `apart`: MakeModels is called on a thread of its own, so a HELLO waits for its model. Session
  /// and table must outlive this.
  ModelRequests(OfferModel offer, bool apart, wire::ServerSession* session, ModelTable* models)
      : session_(session), models_(models), apart_(apart), maker_(std::move(offer)) {}

  Result<std::uint32_t> Lookup(const std::string& name, const std::string& text) override;

  /// Gives the session a message that is no EXPERIENCE; a HELLO whose model is being made is kept.
  void Converse(std::string peer, wire::Decoded message, std::int64_t now_ns);
  /// Adds the models that were made meanwhile, and answers the clients that waited for them; false:
  /// there were none.
  bool AddMade(std::int64_t now_ns);

  /// These are as Ingest's of the same names; MakeModels: true when a model was made.
  bool MakeModels(int timeout_ms);
  void StopMaking() { maker_.Stop(); }

 private:
  /// A WaitingHello names a model that is being made; the newest of each peer, oldest first.
  struct WaitingHello {
    std::string peer;
    wire::Decoded message;
  };

  Result<std::uint32_t> Ask(const std::string& name, const std::string& text, const Spaces& spaces);
  void Keep(std::string peer, wire::Decoded hello);

  wire::ServerSession* const session_;
  ModelTable* const models_;
  const bool apart_;
  ModelMaker maker_;
  std::vector<WaitingHello> waiting_;
  bool hello_waits_ = false;  ///< what Lookup found for the HELLO in hand
  /// Why a model could not be made, while the HELLOs that waited for it are answered.
  std::optional<ModelMaker::Made> failed_;
};

}  // namespace murmurate
