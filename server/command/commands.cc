#include "server/command/command_line.h"

namespace murmurate {

AddCommand AddServe, AddTrain, AddParams, AddResume, AddActor, AddEval, AddPlay, AddInspect,
    AddExport, AddPlot, AddStatus, AddTop, AddStop, AddPause, AddUnpause, AddSet, AddCheck,
    AddDoctor, AddBench, AddCluster, AddCompletion, AddManual;

const std::vector<AddCommand*>& Commands() {
  static const std::vector<AddCommand*> kCommands = {
      AddServe,   AddTrain,  AddParams, AddCluster, AddResume,     AddActor, AddEval,  AddPlay,
      AddInspect, AddExport, AddPlot,   AddStatus,  AddTop,        AddStop,  AddPause, AddUnpause,
      AddSet,     AddCheck,  AddDoctor, AddBench,   AddCompletion, AddManual};
  return kCommands;
}

}  // namespace murmurate
