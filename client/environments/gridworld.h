// Gridworld: four rooms with a door between each two neighbours, and a way to find to the goal. A
// small one after Sutton, Precup and Singh, "Between MDPs and semi-MDPs" (1999), whose doors are
// elsewhere in every episode.
//
//   .......      7 x 7 cells: the walls are row 3 and column 3, with one door in each of their four
//   .A.#...      parts (three cells each), drawn anew each episode; the middle is always wall.
//   ...#.G.      Agent and goal begin at two free cells, any pair equally often.
//   #.####.
//   ...#...
//   ...#...
//   .......
//
// Observation, three inputs: `map`, 7 x 7 x 3 bytes, 255 where a wall, the agent, the goal is;
// `compass`, where the goal lies from the agent: rows down and columns right, each divided by 6;
// `facing`, the direction of the last move (0 up, 1 right, 2 down, 3 left; drawn at the start).
// Actions: move up, right, down, left. The mask forbids to leave the grid and to walk into walls;
// to take a forbidden action aborts. Each move costs 0.02; the one onto the goal gives 1 more and
// terminates the episode; the 50th move truncates it.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Gridworld : public Environment {
 public:
  static constexpr int kSide = 7, kCells = kSide * kSide, kMaxSteps = 50;
  static constexpr double kMoveCost = 0.02;

  Gridworld();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override;
  Observation observation() const override;

  /// The most that can still be had in this episode, by breadth-first search from where the agent
  /// is.
  double best_return() const;

  /// Begins an episode on a grid drawn as above: '#' wall, 'A' the agent, 'G' the goal, else free.
  void SetGrid(const char (&rows)[kCells + 1]);
  std::span<const std::uint8_t> mask() const { return mask_; }
  std::span<const std::uint8_t> map() const { return map_; }
  std::span<const float> compass() const { return compass_; }
  std::span<const std::int32_t> facing() const { return std::span(&facing_, 1); }

 private:
  void DrawWalls();
  /// The cell next to `cell`, or -1 where a wall or the edge is.
  int Neighbour(int cell, int direction) const;
  void Observe();

  const Spaces spaces_;
  Random random_;
  std::array<bool, kCells> wall_{};
  int agent_ = 0, goal_ = 0, steps_ = 0;
  std::array<std::uint8_t, kCells * 3> map_{};
  std::array<float, 2> compass_{};
  std::int32_t facing_ = 0;
  std::array<std::uint8_t, 4> mask_{};
};

}  // namespace murmurate
