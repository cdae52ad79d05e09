// murmurate doctor: what of this machine murmurate can use, and what is missing.
#include <cstdio>
#include <iterator>

#include "server/command/command_line.h"
#include "server/command/doctor_lines.h"
#include "server/daemon/version.h"
#include "server/device/open_device.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

struct DoctorArguments {
  std::string device;  ///< "": none is asked for
  bool json = false;
};

void Append(std::vector<DoctorLine>* lines, std::vector<DoctorLine> more) {
  std::move(more.begin(), more.end(), std::back_inserter(*lines));
}

Result<int> RunDoctor(const CommonArguments&, const DoctorArguments& arguments) {
  if (!arguments.device.empty())
    MURMURATE_RETURN_IF_ERROR(ParseDeviceName(arguments.device).status());
  std::vector<DoctorLine> lines = {{.what = "murmurate", .found = VersionLine().substr(10)}};
  Append(&lines, MachineLines());
  Append(&lines, PlugInLines());
  Append(&lines, DeviceLines(arguments.device));
  Append(&lines, HostLines());
  const std::string text = arguments.json ? DoctorJson(lines, arguments.device) : DoctorText(lines);
  std::fputs(text.c_str(), stdout);
  return HasAllThatWasAsked(lines) ? 0 : static_cast<int>(StatusCode::kResource);
}

}  // namespace

void AddDoctor(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<DoctorArguments>();
  auto* doctor = app->add_subcommand("doctor",
                                     "Say what of this machine can be used (cores, memory, ports, "
                                     "plug-ins, GPUs), what is missing, "
                                     "and what to do");
  doctor->add_option("--device", given->device,
                     "A device that must work, cuda:0 for example: exit 5 where it does not");
  doctor->add_flag("--json", given->json, "For programs");
  line->Choose(doctor, RunDoctor, given);
}

}  // namespace murmurate
