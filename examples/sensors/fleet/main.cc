// murmurate-sensors: a made-up fleet of sensors, for a first look at a stream without owning a
// sensor. `murmurate actor sensors` starts it with the options that follow these words.
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <new>
#include <string>

#include "examples/sensors/fleet/fleet_run.h"
#include "server/daemon/descriptors.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

double RateOf(const std::string& text) {
  if (text == "max") return 0;
  double rate = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, rate);
  if (read.ec == std::errc() && read.ptr == end && rate >= 0 && rate <= 1e6) return rate;
  throw CLI::ValidationError("--rate", "got \"" + text +
                                           "\", expected messages a second, at most 1000000, or "
                                           "max for as many as the broker takes");
}

void AddTopics(CLI::App* app, FleetArguments* given) {
  auto* connect = app->add_option(
      "--connect", given->connect,
      "tcp://HOST:PORT or ipc://PATH of a stream that listens, instead of a broker");
  for (auto* of_broker :
       {app->add_option("--broker", given->broker, "mqtt://HOST[:PORT]")->capture_default_str(),
        app->add_option("--topic", given->topic, "Where each device publishes")
            ->capture_default_str(),
        app->add_option("--committed", given->committed,
                        "Where the learner says what is on disk, {\"sequence\":N}, e.g. "
                        "sensors/{device}/committed: after a loss the rest is sent again"),
        app->add_option("--status", given->status,
                        "Where the learner says that it is there: with --committed nothing is "
                        "sent before"),
        static_cast<CLI::Option*>(
            app->add_flag("--insecure", given->insecure,
                          "A broker on another machine without TLS: the messages can be read on "
                          "the way"))})
    connect->excludes(of_broker);
}

void AddOptions(CLI::App* app, FleetArguments* given) {
  AddTopics(app, given);
  app->add_option("--devices", given->devices, "Devices")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--rate", [given](const std::string& text) { given->rate = RateOf(text); },
         "Messages a second of each device, or max")
      ->type_name("NUMBER|max")
      ->default_str("1");
  app->add_option("--seconds", given->seconds, "How long")
      ->check(CLI::Range(0.001, 1e8))
      ->capture_default_str();
  app->add_option("--seed", given->seed, "Of the fleet")->capture_default_str();
  app->add_option("--noise", given->noise,
                  "Degrees of random noise in temperatures, which cannot be forecast")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  app->add_option("--drift-at", given->drift_at_s,
                  "After so many seconds all devices change: level, season, and what a load does")
      ->check(CLI::Range(0.0, 1e8));
  app->add_flag("--quiet", given->quiet, "Only warnings and errors");
}

int Report(const Status& status) {
  if (status.ok()) return 0;
  std::cerr << status.message() << '\n';
  return static_cast<int>(status.code());
}

int Run(const FleetArguments& arguments) try {
  return Report(RunFleet(arguments));
} catch (const std::bad_alloc&) {
  return Report(ResourceError("no memory; lower --devices"));
} catch (const std::exception& error) {
  return Report(Status(StatusCode::kInternal, std::string("a fault inside murmurate-sensors: ") +
                                                  error.what() +
                                                  "; please report it with the command line"));
}

}  // namespace
}  // namespace murmurate

int main(int argument_count, char** arguments) {
  using namespace murmurate;
  BeginRoutingIdsAtRandom();
  // The name is what its users type; help and errors show it.
  CLI::App app("A made-up fleet of sensors for [stream.NAME], over an MQTT broker or ZeroMQ",
               "murmurate actor sensors");
  FleetArguments given;
  AddOptions(&app, &given);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return Report(InvalidArgument(std::string(error.what()) + "; see murmurate --help"));
  }
  const int code = Run(given);
  RemoveRuntimeFolder();
  return code;
}
