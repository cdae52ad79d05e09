// Fleet: made-up pumps, each with a temperature, a humidity and a vibration, for a user who wants
// to see a stream forecast without owning a sensor. Message n of a pump depends on the seed, the
// pump and n alone, so any message can be made again.
//
//   warm(n) = level + wander sin(2 pi n / (kWanderSeasons season) + wander_phase)
//           + amplitude sin(2 pi n / season + phase) + heat load(n - 1)
//   temp(n) = warm(n) + noise * a standard normal number of its own
//   vib(n)  = quiet + shake load(n) + a little noise       so it tells the next temperature
//   hum(n)  = damp - dry (warm(n) - level) + a little noise   so it tells warm from noise
//
// load is 0 or 1 at random, kLoadMessages messages long each time. Messages count from 1; seasons
// are messages, not hours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace murmurate {

struct FleetSettings {
  int devices = 10;
  std::uint64_t seed = 1;
  double noise = 0.2;  ///< degrees; each pump has between half of it and one and a half
};

struct PumpReading {
  double temp = 0, hum = 0, vib = 0;
};

class Fleet {
 public:
  static constexpr int kLoadMessages = 8;
  static constexpr double kWanderSeasons = 9.5;

  /// The constants of one pump. Seasons are in messages, phases in radians, the rest in degrees, %
  /// and mm/s.
  struct Character {
    double level, wander, wander_phase, amplitude, season, phase, heat, noise;
    double quiet, shake, damp, dry;
    std::uint64_t seed;
  };

  explicit Fleet(const FleetSettings& settings);

  int devices() const { return static_cast<int>(pumps_.size()); }
  /// "pump-1" for device 0.
  static std::string NameOf(int device) { return "pump-" + std::to_string(device + 1); }

  /// `drifted`: after something broke. The level has jumped, the season is shorter and stronger,
  /// and a load cools where it heated; the noise is the same.
  PumpReading At(int device, std::uint64_t n, bool drifted) const;
  const Character& CharacterOf(int device, bool drifted) const {
    return (drifted ? drifted_ : pumps_)[static_cast<std::size_t>(device)];
  }

  /// The mean absolute error of temperatures one message ahead, over all pumps, of a forecaster
  /// that knows everything but the noise to come: E|x| = deviation * sqrt(2 / pi) of a normal x.
  double BestError() const;

 private:
  std::vector<Character> pumps_, drifted_;
};

}  // namespace murmurate
