#include "server/pictures/motion_drawings.h"

#include <cmath>

namespace murmurate {
namespace {

constexpr double kMiddle = 160;  ///< of the width

double PushOf(const Moment& moment, int middle) {
  return moment.action == nullptr ? 0 : moment.action->choice() - middle;
}

/// A joint with a bright middle.
void Joint(Point at, Canvas* canvas) {
  canvas->Circle(at, 8, Color::kGray);
  canvas->Circle(at, 4, Color::kWhite);
}

/// The height of the hills at a position of mountain_car, from 0.1 to 1.
double HillAt(double position) { return 0.45 * std::sin(3 * position) + 0.55; }

constexpr double kLeft = -1.2, kHillScale = 320 / 1.8;

Point OnHill(double position) {
  return {(position - kLeft) * kHillScale, 220 - 150 * HillAt(position)};
}

void DrawCarOnHills(double position, double goal, double push, const Moment& moment,
                    Canvas* canvas) {
  for (int x = 0; x < canvas->width(); ++x) {
    const Point top = OnHill(kLeft + (x + 0.5) / kHillScale);
    canvas->Rectangle({static_cast<double>(x), top.y}, 1, 240 - top.y, Color::kBrown);
    canvas->Rectangle({static_cast<double>(x), top.y}, 1, 5, Color::kGreen);
  }
  const Point flag = OnHill(goal);
  canvas->Line(flag, {flag.x, flag.y - 48}, 3, Color::kLight);
  canvas->Rectangle({flag.x, flag.y - 48}, 26, 16, Color::kYellow);
  const Point foot = OnHill(position), ahead = OnHill(position + 0.01);
  const double length = std::hypot(ahead.x - foot.x, ahead.y - foot.y);
  const Point along = {(ahead.x - foot.x) / length, (ahead.y - foot.y) / length};
  const auto beside = [&](double forward, double up) {
    return Point{foot.x + forward * along.x + up * along.y,
                 foot.y + forward * along.y - up * along.x};
  };
  const bool there = moment.success.value_or(false);
  canvas->Line(beside(-12, 15), beside(12, 15), 16, there ? Color::kGreen : Color::kBlue);
  canvas->Line(beside(-6, 24), beside(6, 24), 12, Color::kSky);
  for (const double wheel : {-12.0, 12.0}) canvas->Circle(beside(wheel, 7), 7, Color::kLight);
  canvas->Arrow(beside(0, 44), beside(44 * push, 44), 5, Color::kOrange);
}

}  // namespace

void DrawAcrobot(const Acrobot& game, const Moment& moment, Canvas* canvas) {
  constexpr double kLength = 55;
  const Point pivot{kMiddle, 122};
  const double first = game.state()[0], both = first + game.state()[1];
  const Point elbow{pivot.x + kLength * std::sin(first), pivot.y + kLength * std::cos(first)};
  const Point tip{elbow.x + kLength * std::sin(both), elbow.y + kLength * std::cos(both)};
  const bool there = moment.success.value_or(false);
  canvas->Line({20, pivot.y - kLength}, {300, pivot.y - kLength}, 3,
               there ? Color::kGreen : Color::kGray);
  canvas->Line(pivot, elbow, 13, Color::kBlue);
  canvas->Line(elbow, tip, 13, Color::kSky);
  Joint(pivot, canvas);
  Joint(elbow, canvas);
  canvas->Circle(tip, 6, Color::kYellow);
  const double torque = PushOf(moment, 1);
  canvas->Arrow({kMiddle, 232}, {kMiddle + 50 * torque, 232}, 5, Color::kOrange);
}

void DrawCartPole(const CartPole& game, const Moment& moment, Canvas* canvas) {
  constexpr double kScale = 320 / 4.8, kTrack = 190, kPole = 130;
  const double x = kMiddle + kScale * game.state()[0], angle = game.state()[2];
  canvas->Rectangle({0, kTrack + 18}, 320, 3, Color::kDark);
  for (const double end : {-2.4, 2.4})
    canvas->Rectangle({kMiddle + kScale * end - 3, kTrack - 6}, 6, 27, Color::kDark);
  const bool fell = moment.over && game.state()[2] * game.state()[2] > 0.04;
  canvas->Rectangle({x - 32, kTrack - 16}, 64, 32, Color::kBlue);
  for (const double wheel : {-18.0, 18.0})
    canvas->Circle({x + wheel, kTrack + 15}, 7, Color::kGray);
  const Point foot{x, kTrack - 16};
  canvas->Line(foot, {foot.x + kPole * std::sin(angle), foot.y - kPole * std::cos(angle)}, 11,
               fell ? Color::kRed : Color::kOrange);
  canvas->Circle(foot, 6, Color::kWhite);
  if (moment.action == nullptr) return;
  const double side = moment.action->choice() == 1 ? 1 : -1;
  canvas->Arrow({x, 228}, {x + side * 36, 228}, 5, Color::kYellow);
}

void DrawMountainCar(const MountainCar& game, const Moment& moment, Canvas* canvas) {
  DrawCarOnHills(game.state()[0], 0.5, PushOf(moment, 1), moment, canvas);
}

void DrawMountainCarContinuous(const MountainCarContinuous& game, const Moment& moment,
                               Canvas* canvas) {
  const double force = moment.action == nullptr ? 0 : moment.action->numbers()[0];
  DrawCarOnHills(game.numbers()[0], 0.45, force, moment, canvas);
}

void DrawPendulum(const Pendulum& game, const Moment& moment, Canvas* canvas) {
  constexpr double kLength = 88;
  const Point pivot{kMiddle, 116};
  const double angle = game.state()[0];
  canvas->Circle(pivot, kLength + 14, Color::kPanel);
  canvas->Circle(pivot, kLength + 11, Color::kBackground);
  canvas->Line({pivot.x, pivot.y - kLength - 18}, {pivot.x, pivot.y - kLength - 8}, 4,
               Color::kGreen);
  canvas->Line(pivot, {pivot.x - kLength * std::sin(angle), pivot.y - kLength * std::cos(angle)},
               18, Color::kOrange);
  Joint(pivot, canvas);
  if (moment.action == nullptr) return;
  const double low = game.spaces().action.low[0], high = game.spaces().action.high[0];
  const double part = (moment.action->numbers()[0] - low) / (high - low);
  canvas->Arrow({kMiddle, 230}, {kMiddle - 240 * (part - 0.5), 230}, 5, Color::kSky);
}

void DrawRegulator(const Regulator& game, const Moment& moment, Canvas* canvas) {
  constexpr double kScale = 130, kRow = 240.0 / Regulator::kCarts;
  canvas->Rectangle({kMiddle - 1, 0}, 3, 240, Color::kGreen);
  for (int cart = 0; cart < Regulator::kCarts; ++cart) {
    const double y = kRow * (cart + 0.5);
    const double x = kMiddle + kScale * game.positions()[static_cast<std::size_t>(cart)];
    canvas->Rectangle({0, y + 11}, 320, 2, Color::kDark);
    canvas->Rectangle({x - 13, y - 9}, 26, 18, Color::kBlue);
    for (const double wheel : {-7.0, 7.0}) canvas->Circle({x + wheel, y + 9}, 4, Color::kLight);
    if (moment.action == nullptr) continue;
    const double speed = moment.action->numbers()[static_cast<std::size_t>(cart)];
    canvas->Arrow({x, y - 15}, {x + 40 * speed, y - 15}, 3, Color::kOrange);
  }
}

}  // namespace murmurate
