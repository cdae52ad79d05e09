// murmurate play RUN: a run's policy plays its built-in game, as pictures in the terminal or in files.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"
#include "server/command/play_show.h"
#include "server/command/run_game.h"
#include "server/daemon/policy_player.h"
#include "server/metrics/number_text.h"
#include "server/pictures/pictures.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kLastPictureSeconds = 1;

struct PlayArguments {
  std::string source;  ///< a run or a checkpoint
  std::string checkpoint = kNewestCheckpoint;
  std::string game;  ///< "": the run's
  std::uint64_t episodes = 1;
  std::optional<std::uint64_t> seed;
  bool sample = false, deterministic = false;
  double speed = 1;
  std::string gif, frames;
};

/// Of the episodes that came to their end.
struct Played {
  std::uint64_t episodes = 0, steps = 0;
  double return_sum = 0;
};

std::string CaptionOf(std::uint64_t step, const Moment& moment, double episode_return) {
  std::string caption = "step " + std::to_string(step) + "  reward " +
                        FormatNumber("%.3f", moment.reward) + "  return " +
                        FormatNumber("%.3f", episode_return);
  if (moment.success) caption += *moment.success ? "  success" : "  failure";
  return caption;
}

/// One episode after the other, each step a frame.
class Playing {
 public:
  Playing(PolicyPlayer* player, const RunGame& game, PlayShow* show, double speed)
      : player_(player),
        environment_(*game.environment),
        picture_(PictureOf(game.name)),
        show_(show),
        speed_(speed) {
    MURMURATE_CHECK(picture_ != nullptr, "each built-in game has a picture");
  }

  /// 0 episodes: until the end is asked for.
  Status Run(std::uint64_t episodes) {
    for (std::uint64_t i = 0; i < episodes || episodes == 0; ++i) {
      const auto goes_on = RunEpisode(i);
      if (!goes_on.ok()) return goes_on.status();
      if (!*goes_on) break;
    }
    return player_->status();
  }
  const Played& played() const { return played_; }

 private:
  Result<bool> RunEpisode(std::uint64_t episode) {
    player_->Begin(episode);
    Moment moment;
    double episode_return = 0;
    for (std::uint64_t step = 0;; ++step) {
      const auto goes_on = Show(moment, CaptionOf(step, moment, episode_return));
      if (!goes_on.ok()) return goes_on.status();
      if (moment.over) Count(step, episode_return);
      if (!*goes_on || moment.over) return *goes_on;
      const StepOutcome outcome = player_->Step();
      moment = {.action = &player_->action(),
                .reward = outcome.reward,
                .over = outcome.terminated || outcome.truncated,
                .success = outcome.success};
      episode_return += outcome.reward;
    }
  }

  Result<bool> Show(const Moment& moment, std::string caption) {
    frame_.picture.Clear(Color::kBackground);
    picture_->draw(environment_, moment, &frame_.picture);
    frame_.caption = std::move(caption);
    frame_.seconds = 1 / (picture_->steps_per_second * speed_);
    if (moment.over) frame_.seconds = std::max(frame_.seconds, kLastPictureSeconds / speed_);
    return show_->Add(frame_);
  }

  void Count(std::uint64_t steps, double episode_return) {
    ++played_.episodes;
    played_.steps += steps;
    played_.return_sum += episode_return;
  }

  PolicyPlayer* const player_;
  const Environment& environment_;
  const GamePicture* const picture_;
  PlayShow* const show_;
  const double speed_;
  GameFrame frame_;
  Played played_;
};

Status CheckArguments(const PlayArguments& arguments, bool terminal) {
  if (!terminal && arguments.gif.empty() && arguments.frames.empty())
    return InvalidArgument(
        "play: there is no terminal to show pictures on (TERM must be set and not dumb, and play "
        "be in the foreground); write them with --gif FILE or --frames FOLDER");
  if (!terminal && arguments.episodes == 0)
    return InvalidArgument(
        "--episodes 0 plays until q is pressed, and there is no terminal; give a number");
  return {};
}

const char* WayOf(ScoredPlay play) {
  if (play == ScoredPlay::kSampled) return "sampled";
  return play == ScoredPlay::kGreedy ? "greedy" : "deterministic";
}

void PrintPlayed(const Played& played, const std::string& what) {
  std::printf("%s: ", what.c_str());
  if (played.episodes == 0) {
    std::printf("no whole episode\n");
    return;
  }
  const auto count = static_cast<double>(played.episodes);
  std::printf("%s episode%s, mean return %.3f, mean length %.1f steps\n",
              WithCommas(played.episodes).c_str(), played.episodes == 1 ? "" : "s",
              played.return_sum / count, static_cast<double>(played.steps) / count);
}

void PrintFiles(const PlayArguments& arguments, const RunGame& game) {
  if (!arguments.gif.empty()) std::printf("wrote %s\n", arguments.gif.c_str());
  if (arguments.frames.empty()) return;
  const double rate = PictureOf(game.name)->steps_per_second * arguments.speed;
  std::printf(
      "wrote the frames in %s; a film: ffmpeg -framerate %g -i %s/frame-%%06d.png -pix_fmt "
      "yuv420p %s.mp4\n",
      arguments.frames.c_str(), rate, arguments.frames.c_str(), game.name.c_str());
}

Result<RunGame> GameToPlay(const CommonArguments& common, const CheckpointSource& source,
                           const std::string& name) {
  return MakeRunGame(common, source, name,
                     "play shows built-in games only; name one of the same spaces with --game, or "
                     "`murmurate export` the policy and let your game load the file "
                     "(examples/game)");
}

PolicyPlayer::Options OptionsOf(const PlayArguments& arguments) {
  PolicyPlayer::Options options;
  if (arguments.sample) options.play = ScoredPlay::kSampled;
  if (arguments.deterministic) options.play = ScoredPlay::kDeterministic;
  options.seed = arguments.seed.value_or(options.seed);
  return options;
}

/// Plays, and finishes the files whatever comes of it.
Result<Played> PlayAndShow(const PlayArguments& arguments, const RunGame& game,
                           PolicyPlayer* player, const PlayShowOptions& options) {
  const auto show = PlayShow::Open(options);
  if (!show.ok()) return show.status();
  Playing playing(player, game, show->get(), arguments.speed);
  const Status status = playing.Run(arguments.episodes);
  const Status written = (*show)->Finish();
  MURMURATE_RETURN_IF_ERROR(status);
  MURMURATE_RETURN_IF_ERROR(written);
  return playing.played();
}

Result<int> RunPlay(const CommonArguments& common, const PlayArguments& arguments) {
  const bool files = !arguments.gif.empty() || !arguments.frames.empty();
  const bool terminal = TerminalScreen::Suitable() && !(common.quiet && files);
  MURMURATE_RETURN_IF_ERROR(CheckArguments(arguments, terminal));
  const auto source = FindCheckpointSource(common, arguments.source);
  if (!source.ok()) return source.status();
  const auto game = GameToPlay(common, *source, arguments.game);
  if (!game.ok()) return game.status();
  const auto found = ChooseCheckpointNamed(*source, arguments.checkpoint);
  if (!found.ok()) return found.status();
  const WeightsFile& weights = found->checkpoint.weights;
  MURMURATE_RETURN_IF_ERROR(
      CheckGameFits(*game, weights.spec, *source,
                    arguments.game.empty() ? kNameOwnWeights
                                           : "leave out --game, or name one of the same spaces"));
  const PolicyPlayer::Options options = OptionsOf(arguments);
  const auto player = PolicyPlayer::Open(FormatWeightsFile(weights, /*published_only=*/true),
                                         game->environment.get(), options);
  if (!player.ok()) return player.status();
  const std::string what = game->name + ", " + WayOf(options.play) + ", weights of step " +
                           WithCommas(weights.steps) + " of " + arguments.source;
  const auto played = PlayAndShow(arguments, *game, player->get(),
                                  {what, terminal, arguments.gif, arguments.frames});
  if (!played.ok()) return played.status();
  if (common.quiet) return 0;
  PrintPlayed(*played, what);
  PrintFiles(arguments, *game);
  return 0;
}

}  // namespace

void AddPlay(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<PlayArguments>();
  auto* play = app->add_subcommand(
      "play", "Show a run's policy as it plays its built-in game, in the terminal or as a GIF");
  play->add_option("RUN", given->source,
                   "A run directory, a name under run.dir, or one checkpoint's folder")
      ->required();
  play->add_option("--checkpoint", given->checkpoint,
                   "Which weights: newest, best, or the name of a folder in RUN/checkpoints")
      ->capture_default_str();
  play->add_option("--game", given->game,
                   "Another built-in game that has the same spaces, or the game of a run that "
                   "names none")
      ->check(CLI::IsMember(EnvironmentNames()));
  play->add_option("--episodes", given->episodes, "Episodes; 0: until q is pressed")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  play->add_option("--seed", given->seed,
                   "Of the episodes; without it they are those that eval plays");
  auto* sample =
      play->add_flag("--sample", given->sample, "Draw each action from the policy, as in training");
  play->add_flag("--deterministic", given->deterministic,
                 "Greedy, by the same bits on every x86-64 machine")
      ->excludes(sample);
  play->add_option("--speed", given->speed, "Times the game's own speed")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  play->add_option("--gif", given->gif, "Also write an animated GIF; with --quiet nothing else");
  play->add_option("--frames", given->frames,
                   "Also write a PNG file for each step to this folder, for ffmpeg");
  line->Choose(play, RunPlay, given);
}

}  // namespace murmurate
