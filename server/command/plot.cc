#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "server/command/command_line.h"
#include "server/config/config_text.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/stream_metrics.h"
#include "server/operate/learning_curve.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

constexpr std::string_view kRolloutColumn = kMeanReturn.name;
struct PlotArguments {
  std::vector<std::string> runs;
  std::string output, title, column{kRolloutColumn};
  std::optional<double> target;  ///< instead of the runs' stop_at_return
};

/// PlottedRun is what `plot` needs of a run.
struct PlottedRun {
  std::string folder, name;
  std::string
      settings;  ///< its resolved config without what makes one run of many: same, same curve
  std::optional<double> target;
  std::string stream;  ///< of its first model; "": that plays
  std::vector<CurvePoint> points;
};

/// The resolved config but for the lines of [run] that name a run, and of where it listened.
std::string SettingsOf(const Config& config) {
  std::string settings;
  for (const ConfigLine& line : Explain(config))
    if (line.path != "run.name" && line.path != "run.dir" && line.path != "run.seed" &&
        line.path != "server.listen")
      settings += line.path + '=' + line.value + '\n';
  return settings;
}

/// Reads a column of progress.csv in a run's folder, or else a name of reports.csv.
Result<std::vector<CurvePoint>> ReadColumn(const std::string& folder, const std::string& column) {
  auto points = ReadCurve(folder + "/progress.csv", column);
  if (points.ok()) return points;
  auto reported = ReadReportedCurve(folder + "/reports.csv", column);
  return reported.ok() ? std::move(reported) : std::move(points);
}

Result<PlottedRun> ReadRun(const CommonArguments& common, const std::string& name,
                           const std::string& column) {
  auto folder = FindRun(common, name);
  if (!folder.ok()) return folder.status();
  auto source = FindConfig(*folder + "/config.toml");
  if (!source.ok()) return source.status();
  auto config = Config::Load(*source, {});
  if (!config.ok()) return config.status();
  auto points = ReadColumn(*folder, column);
  if (!points.ok()) return points.status();
  return PlottedRun{*folder,
                    config->run().name,
                    SettingsOf(*config),
                    config->run().stop_at_return,
                    config->streams().empty() ? "" : config->streams().front().name,
                    std::move(*points)};
}

Result<std::vector<PlottedRun>> ReadRuns(const CommonArguments& common,
                                         const std::vector<std::string>& names,
                                         const std::string& column) {
  std::vector<PlottedRun> runs;
  for (const std::string& name : names) {
    auto run = ReadRun(common, name, column);
    if (!run.ok()) return run.status();
    runs.push_back(std::move(*run));
  }
  return runs;
}

/// "catch-101" -> "catch": what the runs of one configuration have in common.
std::string Stem(const std::string& name) {
  const std::size_t dash = name.find_last_not_of("0123456789");
  const bool numbered = dash != std::string::npos && dash > 0 && dash + 1 < name.size();
  return numbered && (name[dash] == '-' || name[dash] == '.') ? name.substr(0, dash) : name;
}

/// Runs of the same settings are one series, in the order of their first.
Result<std::vector<CurveSeries>> SeriesOf(const std::vector<PlottedRun>& runs) {
  std::vector<CurveSeries> series;
  std::vector<std::string> settings;
  for (const PlottedRun& run : runs) {
    const auto found = std::find(settings.begin(), settings.end(), run.settings);
    const std::size_t at = static_cast<std::size_t>(found - settings.begin());
    if (found == settings.end()) {
      settings.push_back(run.settings);
      series.push_back({run.name, {}});
    } else {
      series[at].name = Stem(run.name);
    }
    series[at].runs.push_back(run.points);
  }
  if (series.size() <= kMaxSeries) return series;
  return InvalidArgument("plot: got runs of " + std::to_string(series.size()) +
                         " different configurations, expected at most " +
                         std::to_string(kMaxSeries) + "; plot them in several pictures");
}

/// Splits names that stand between commas.
std::vector<std::string> ColumnsOf(const std::string& text) {
  std::vector<std::string> columns;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) columns.push_back(word);
  if (columns.empty()) columns.push_back(text);
  return columns;
}

std::string NameOf(const std::string& column) {
  return column == kStreamError.name        ? kStreamCurve
         : column == kStreamNaiveError.name ? kNaiveCurve
                                            : column;
}

/// Plotted is what is drawn: a column of runs of several configurations, or several columns of one.
struct Plotted {
  std::vector<PlottedRun> runs;
  std::vector<CurveSeries> series;
};

Result<Plotted> ReadPlotted(const CommonArguments& common, const PlotArguments& arguments) {
  const std::vector<std::string> columns = ColumnsOf(arguments.column);
  Plotted plotted;
  for (const std::string& column : columns) {
    auto runs = ReadRuns(common, arguments.runs, column);
    if (!runs.ok()) return runs.status();
    auto series = SeriesOf(*runs);
    if (!series.ok()) return series.status();
    plotted.runs = std::move(*runs);
    if (columns.size() == 1) {
      plotted.series = std::move(*series);
      return plotted;
    }
    if (series->size() != 1 || columns.size() > kMaxSeries)
      return InvalidArgument(
          "--column: got " + std::to_string(columns.size()) + " columns of " +
          std::to_string(series->size()) + " configurations, expected one column, or at most " +
          std::to_string(kMaxSeries) + " of one configuration; plot them in several pictures");
    plotted.series.push_back({NameOf(column), std::move(series->front().runs)});
  }
  return plotted;
}

/// Whether no run played games: there is no return to draw.
bool OnlyStreams(const Plotted& plotted) {
  return std::ranges::all_of(plotted.runs, [](const PlottedRun& run) {
    return !run.stream.empty() && run.points.empty();
  });
}

CurveDrawing DrawingOf(const PlotArguments& arguments, const Plotted& plotted) {
  const bool stream = arguments.column.starts_with("stream/");
  CurveDrawing drawing = stream ? StreamDrawing() : CurveDrawing();
  drawing.title = arguments.title;
  drawing.target = plotted.runs.front().target;
  for (const PlottedRun& run : plotted.runs)
    if (run.target != drawing.target) drawing.target.reset();  // each has its own: none is drawn
  if (arguments.target) {
    drawing.target = arguments.target;
    drawing.target_name = "target";
  }
  if (stream && drawing.title.empty() && plotted.runs.size() == 1)
    drawing.title = plotted.runs.front().name + ": stream " + plotted.runs.front().stream;
  if (arguments.column != kRolloutColumn) {
    if (!arguments.column.starts_with(kStreamError.name))
      drawing.y_name = plotted.series.size() == 1 ? arguments.column : "";
    if (!arguments.target) drawing.target.reset();
  }
  return drawing;
}

Status CheckOutput(const std::string& file) {
  if (file.empty() || std::filesystem::path(file).extension() == ".svg") return Status();
  return InvalidArgument("plot: -o " + file +
                         ": expected a name that ends in .svg, which is all that plot writes; a "
                         "browser or rsvg-convert makes a PNG or a PDF of it");
}

Result<int> RunPlot(const CommonArguments& common, const PlotArguments& given) {
  MURMURATE_RETURN_IF_ERROR(CheckOutput(given.output));
  PlotArguments arguments = given;
  auto plotted = ReadPlotted(common, arguments);
  if (plotted.ok() && arguments.column == kRolloutColumn && OnlyStreams(*plotted)) {
    arguments.column = kStreamError.name;
    if (plotted->series.size() == 1) arguments.column.append(",").append(kStreamNaiveError.name);
    plotted = ReadPlotted(common, arguments);
  }
  if (!plotted.ok()) return plotted.status();
  const std::vector<PlottedRun>& runs = plotted->runs;
  CurveDrawing drawing = DrawingOf(arguments, *plotted);
  if (plotted->series.size() == 1) {
    if (drawing.title.empty()) drawing.title = plotted->series.front().name;
    plotted->series.front().name.clear();
  }
  if (drawing.title.empty()) drawing.title = "learning curves";
  std::string file = arguments.output;
  if (file.empty()) file = runs.size() == 1 ? runs[0].folder + "/plots/learning.svg" : "curves.svg";
  const auto folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const std::string svg = DrawLearningCurves(drawing, plotted->series);
  if (Status status = WriteFileAtomically(file, std::as_bytes(std::span(svg.data(), svg.size())));
      !status.ok())
    return status;
  if (!common.quiet) std::printf("%s\n", file.c_str());
  return 0;
}

}  // namespace

void AddPlot(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<PlotArguments>();
  auto* plot = app->add_subcommand(
      "plot", "Learning curves as an SVG; runs that differ in their seeds only become one curve");
  plot->add_option("RUN", given->runs, "Run directories, or names under run.dir")->required();
  plot->add_option("-o,--output", given->output,
                   "The picture; without it plots/learning.svg of a single run, else curves.svg");
  plot->add_option("--title", given->title, "Above it");
  plot->add_option(
      "--target", given->target,
      "A dashed line here; without it at stop_at_return, where all runs have the same");
  plot->add_option("--column", given->column,
                   "Of progress.csv, or a name of reports.csv; of one configuration several, with "
                   "commas between")
      ->capture_default_str();
  line->Choose(plot, RunPlot, given);
}

}  // namespace murmurate
