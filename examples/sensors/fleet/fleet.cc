#include "examples/sensors/fleet/fleet.h"

#include <cmath>
#include <numbers>

#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kLoadShare = 0.35;
constexpr double kHumidityNoise = 0.1, kVibrationNoise = 0.02;
/// Seeds of one pump: its character, its loads; its messages have the rest.
constexpr std::uint64_t kOfCharacter = 0, kOfLoads = 1, kOfMessages = 2;

Fleet::Character MakePump(const FleetSettings& settings, int device) {
  const std::uint64_t seed = DeriveSeed(settings.seed, static_cast<std::uint64_t>(device));
  Random random(DeriveSeed(seed, kOfCharacter));
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.UniformDouble();
  };
  Fleet::Character pump{};
  pump.level = between(18, 32);
  pump.wander = between(0.5, 1.5);
  pump.wander_phase = between(0, kTurn);
  pump.amplitude = between(2, 4);
  pump.season = std::round(between(18, 36));
  pump.phase = between(0, kTurn);
  pump.heat = between(1, 2);
  pump.noise = settings.noise * between(0.5, 1.5);
  pump.quiet = between(0.8, 1.2);
  pump.shake = between(0.4, 0.8);
  pump.damp = between(40, 60);
  pump.dry = between(1, 2);
  pump.seed = seed;
  return pump;
}

Fleet::Character Drifted(Fleet::Character pump) {
  Random random(DeriveSeed(pump.seed ^ 1, kOfCharacter));
  pump.level += (random.UniformInt(2) == 0 ? -1 : 1) * (4 + 4 * random.UniformDouble());
  pump.season = std::round(0.6 * pump.season);
  pump.amplitude *= 1.4;
  pump.heat = -pump.heat;
  return pump;
}

/// The load in message n; that of n - 1 heats message n.
double LoadAt(const Fleet::Character& pump, std::uint64_t n) {
  Random random(DeriveSeed(DeriveSeed(pump.seed, kOfLoads), n / Fleet::kLoadMessages));
  return random.UniformDouble() < kLoadShare ? 1 : 0;
}

double WarmthAt(const Fleet::Character& pump, std::uint64_t n) {
  const double turns = static_cast<double>(n) / pump.season;
  return pump.level +
         pump.wander * std::sin(kTurn * turns / Fleet::kWanderSeasons + pump.wander_phase) +
         pump.amplitude * std::sin(kTurn * turns + pump.phase) + pump.heat * LoadAt(pump, n - 1);
}

}  // namespace

Fleet::Fleet(const FleetSettings& settings) {
  for (int device = 0; device < settings.devices; ++device) {
    pumps_.push_back(MakePump(settings, device));
    drifted_.push_back(Drifted(pumps_.back()));
  }
}

PumpReading Fleet::At(int device, std::uint64_t n, bool drifted) const {
  const Character& pump = CharacterOf(device, drifted);
  Random random(DeriveSeed(DeriveSeed(pump.seed, kOfMessages), n));
  const double warmth = WarmthAt(pump, n);
  PumpReading reading;
  reading.temp = warmth + pump.noise * random.Normal();
  reading.hum = pump.damp - pump.dry * (warmth - pump.level) + kHumidityNoise * random.Normal();
  reading.vib = pump.quiet + pump.shake * LoadAt(pump, n) + kVibrationNoise * random.Normal();
  return reading;
}

double Fleet::BestError() const {
  double sum = 0;
  for (const Character& pump : pumps_) sum += pump.noise * std::sqrt(2 / std::numbers::pi);
  return sum / static_cast<double>(pumps_.size());
}

}  // namespace murmurate
