// FleetTransport: how the messages of a made-up fleet reach a learner, and how the fleet hears what
// is safe there: over a broker or straight to a stream that listens.
//
// One thread; waits only in PollOnce.
#pragma once

#include <memory>
#include <string>

#include "examples/sensors/fleet/fleet_run.h"
#include "examples/sensors/fleet/fleet_sender.h"
#include "murmurate/status.h"

namespace murmurate {

class FleetTransport {
 public:
  virtual ~FleetTransport() = default;

  /// `sender` is told what is committed and when to send again; it outlives the transport.
  void SetSender(FleetSender* sender) { sender_ = sender; }

  virtual bool up() const = 0;
  /// True while a receiver is there that takes what is sent now.
  virtual bool MaySend() const = 0;
  /// False: no room now.
  virtual bool TrySend(const FleetMessage& message) = 0;
  virtual void PollOnce(int timeout_ms) = 0;
  /// True while the arrival of some message is not confirmed yet.
  virtual bool waits() const = 0;
  /// The reason why nothing will ever be taken; ok: it may.
  virtual Status broken() const = 0;
  /// A sentence that says why not all was taken by the end.
  virtual std::string Trouble() const = 0;

 protected:
  FleetSender* sender_ = nullptr;
};

/// `arguments` outlive the transport.
Result<std::unique_ptr<FleetTransport>> OpenBrokerTransport(const FleetArguments& arguments);
Result<std::unique_ptr<FleetTransport>> OpenSampleTransport(const FleetArguments& arguments);

}  // namespace murmurate
