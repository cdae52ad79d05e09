#include "shared/core/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>

#include "shared/core/normals.h"

namespace murmurate {
namespace {

std::uint64_t SplitMix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// log, sin and cos of a mathematics library differ in their last bits from one processor to the
// next. These have the polynomials of fdlibm (Sun Microsystems 1993: e_log.c, k_sin.c, k_cos.c) and
// only what IEEE 754 rounds in one way (+ - * / and sqrt); right to two units in the last place.

/// The logarithm of a normal x > 0.
double Log(double x) {
  // x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
  const std::uint64_t above = bits - kRootOfHalf;
  const double k = static_cast<double>(static_cast<std::int64_t>(above) >> 52);
  const double f = std::bit_cast<double>((above & 0x000fffffffffffff) + kRootOfHalf) - 1.0;
  const double s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860510658591e-01)));
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double low = k * 1.90821492927058770002e-10, high = k * 6.93147180369123816490e-01;
  return high - ((half - (s * (half + (even + odd)) + low)) - f);
}

/// The sine of x in -pi/4 .. pi/4.
double Sin(double x) {
  const double z = x * x;
  return x +
         x * z *
             (-1.66666666666666324348e-01 +
              z * (8.33333333332248946124e-03 +
                   z * (-1.98412698298579493134e-04 +
                        z * (2.75573137070700676789e-06 +
                             z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
}

double Cos(double x) {
  const double z = x * x, half = 0.5 * z, one_less = 1.0 - half;
  const double rest =
      z * z *
      (4.16666666666666019037e-02 +
       z * (-1.38888888888741095749e-03 +
            z * (2.48015872894767294178e-05 +
                 z * (-2.75573143513906633035e-07 +
                      z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  return one_less + (((1.0 - one_less) - half) + rest);
}

struct Direction {
  double cos, sin;
};

/// The direction of the angle 2 pi `turns`, turns in [0, 1).
Direction DirectionOf(double turns) {
  const int quarter = static_cast<int>(4.0 * turns + 0.5);
  const double rest = (4.0 * turns - quarter) * (0.5 * std::numbers::pi);  // -pi/4 .. pi/4
  const double c = Cos(rest), s = Sin(rest);
  switch (quarter & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

/// Two uniform numbers become two normal ones (Box and Muller).
void ToNormals(double* pair) {
  const double radius = std::sqrt(-2.0 * Log(1.0 - pair[0]));
  const Direction direction = DirectionOf(pair[1]);
  pair[0] = radius * direction.cos;
  pair[1] = radius * direction.sin;
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = SplitMix(seed);
}

double Random::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  double pair[2] = {UniformDouble(), UniformDouble()};
  ToNormals(pair);
  spare_normal_ = pair[1];
  has_spare_ = true;
  return pair[0];
}

Random::Words Random::Saved() const {
  return {state_[0], state_[1],  state_[2],
          state_[3], has_spare_, std::bit_cast<std::uint64_t>(spare_normal_)};
}

void Random::GoOnFrom(const Words& saved) {
  std::copy_n(saved.begin(), state_.size(), state_.begin());
  has_spare_ = saved[4] != 0;
  spare_normal_ = std::bit_cast<double>(saved[5]);
}

void FillNormals(std::span<double> into, Random& random, ThreadTeam& team) {
  const bool keeps_one = random.Saved()[4] != 0;
  if (keeps_one && !into.empty()) {
    into.front() = random.Normal();
    into = into.subspan(1);
  }
  const std::size_t pairs = into.size() / 2;
  for (double& number : into.first(2 * pairs)) number = random.UniformDouble();
  const std::size_t shares = static_cast<std::size_t>(team.size());
  team.Run([&](int share) {
    const std::size_t mine = static_cast<std::size_t>(share), end = pairs * (mine + 1) / shares;
    for (std::size_t i = pairs * mine / shares; i < end; ++i) ToNormals(&into[2 * i]);
  });
  if (2 * pairs < into.size()) into.back() = random.Normal();
}

std::uint64_t DeriveSeed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t state = seed;
  state = SplitMix(state) ^ index;
  return SplitMix(state);
}

std::uint64_t RandomIdentity() {
  std::random_device device;
  std::uint64_t identity = 0;
  while (identity == 0) identity = (std::uint64_t{device()} << 32) | device();
  return identity;
}

}  // namespace murmurate
