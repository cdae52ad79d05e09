#include "client/environments/gridworld.h"

#include <algorithm>
#include <vector>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kRowStep[] = {-1, 0, 1, 0}, kColumnStep[] = {0, 1, 0, -1};
constexpr int kMiddle = Gridworld::kSide / 2;

}  // namespace

Gridworld::Gridworld()
    : spaces_{Dict({{"map", Image({kSide, kSide, 3})},
                    {"compass", Box({2})},
                    {"facing", Discrete(4)}}),
              Discrete(4)},
      random_(RandomIdentity()) {
  Reset();
}

void Gridworld::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Gridworld::Reset() {
  DrawWalls();
  const auto free_cell = [this] {
    int cell = 0;
    do cell = static_cast<int>(random_.UniformInt(kCells));
    while (wall_[static_cast<std::size_t>(cell)]);
    return cell;
  };
  agent_ = free_cell();
  do goal_ = free_cell();
  while (goal_ == agent_);
  facing_ = static_cast<std::int32_t>(random_.UniformInt(4));
  steps_ = 0;
  Observe();
}

void Gridworld::DrawWalls() {
  wall_.fill(false);
  for (int i = 0; i < kSide; ++i) {
    wall_[static_cast<std::size_t>(kMiddle * kSide + i)] = true;
    wall_[static_cast<std::size_t>(i * kSide + kMiddle)] = true;
  }
  for (const int first : {0, kMiddle + 1}) {
    const auto door = [&] { return first + static_cast<int>(random_.UniformInt(kMiddle)); };
    wall_[static_cast<std::size_t>(kMiddle * kSide + door())] = false;
    wall_[static_cast<std::size_t>(door() * kSide + kMiddle)] = false;
  }
}

void Gridworld::SetGrid(const char (&rows)[kCells + 1]) {
  for (int cell = 0; cell < kCells; ++cell) {
    wall_[static_cast<std::size_t>(cell)] = rows[cell] == '#';
    if (rows[cell] == 'A') agent_ = cell;
    if (rows[cell] == 'G') goal_ = cell;
  }
  facing_ = 0;
  steps_ = 0;
  Observe();
}

int Gridworld::Neighbour(int cell, int direction) const {
  const int row = cell / kSide + kRowStep[direction];
  const int column = cell % kSide + kColumnStep[direction];
  if (row < 0 || row >= kSide || column < 0 || column >= kSide) return -1;
  return wall_[static_cast<std::size_t>(row * kSide + column)] ? -1 : row * kSide + column;
}

void Gridworld::Observe() {
  map_.fill(0);
  for (std::size_t cell = 0; cell < kCells; ++cell) map_[cell * 3] = wall_[cell] ? 255 : 0;
  map_[static_cast<std::size_t>(agent_) * 3 + 1] = 255;
  map_[static_cast<std::size_t>(goal_) * 3 + 2] = 255;
  constexpr float kScale = kSide - 1;
  compass_ = {static_cast<float>(goal_ / kSide - agent_ / kSide) / kScale,
              static_cast<float>(goal_ % kSide - agent_ % kSide) / kScale};
  for (int i = 0; i < 4; ++i) mask_[static_cast<std::size_t>(i)] = Neighbour(agent_, i) >= 0;
}

Observation Gridworld::observation() const {
  Observation seen{{"map", map_}, {"compass", compass_}, {"facing", std::span(&facing_, 1)}};
  seen.Mask(mask_);
  return seen;
}

StepOutcome Gridworld::Step(const Action& action) {
  const int next = Neighbour(agent_, action.choice());
  MURMURATE_CHECK(next >= 0, "gridworld: the action is forbidden by the mask of this step");
  agent_ = next;
  facing_ = action.choice();
  ++steps_;
  Observe();
  const bool there = agent_ == goal_;
  StepOutcome outcome{(there ? 1.0 : 0.0) - kMoveCost, there, !there && steps_ >= kMaxSteps};
  if (outcome.terminated || outcome.truncated) outcome.success = there;
  return outcome;
}

double Gridworld::best_return() const {
  std::array<int, kCells> distance;
  distance.fill(-1);
  distance[static_cast<std::size_t>(agent_)] = 0;
  std::vector<int> reached = {agent_};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (int direction = 0; direction < 4; ++direction) {
      const int next = Neighbour(reached[i], direction);
      if (next < 0 || distance[static_cast<std::size_t>(next)] >= 0) continue;
      distance[static_cast<std::size_t>(next)] = distance[static_cast<std::size_t>(reached[i])] + 1;
      reached.push_back(next);
    }
  }
  const int moves = distance[static_cast<std::size_t>(goal_)];
  const int left = kMaxSteps - steps_;
  return moves >= 0 && moves <= left ? 1.0 - kMoveCost * moves : -kMoveCost * left;
}

}  // namespace murmurate
