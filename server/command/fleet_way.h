// FleetWay: how the messages of a made-up fleet reach a learner, and how the fleet hears what is
// safe there: over a broker or straight to a stream that listens.
//
// One thread; waits only in PollOnce.
#pragma once

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/command/commands.h"
#include "server/stream/fleet_sender.h"

namespace murmurate {

class FleetWay {
 public:
  virtual ~FleetWay() = default;

  /// Whom to tell what is committed, and when to send again; outlives the way.
  void TellTo(FleetSender* sender) { sender_ = sender; }

  virtual bool up() const = 0;
  /// Somebody is there who takes what is sent now.
  virtual bool MaySend() const = 0;
  /// False: no room now.
  virtual bool Give(const FleetMessage& message) = 0;
  virtual void PollOnce(int timeout_ms) = 0;
  /// Given, and nobody has said yet that it arrived.
  virtual bool waits() const = 0;
  /// Why nothing will ever be taken; ok: it may.
  virtual Status broken() const = 0;
  /// Why not all was taken by the end: a sentence.
  virtual std::string Trouble() const = 0;

 protected:
  FleetSender* sender_ = nullptr;
};

Result<std::unique_ptr<FleetWay>> OpenBrokerWay(const FleetArguments& arguments, bool quiet);
Result<std::unique_ptr<FleetWay>> OpenSampleWay(const FleetArguments& arguments, bool quiet);

}  // namespace murmurate
