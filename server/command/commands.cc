#include "server/command/command_line.h"

namespace murmurate {

AddCommand AddServe, AddTrain, AddParams, AddResume, AddActor, AddEval, AddInspect, AddExport,
    AddPlot, AddStatus, AddTop, AddStop, AddSet, AddCheck, AddDoctor, AddCluster, AddCompletion,
    AddManual;

const std::vector<AddCommand*>& Commands() {
  static const std::vector<AddCommand*> kCommands = {
      AddServe, AddTrain,   AddParams, AddCluster, AddResume,     AddActor,
      AddEval,  AddInspect, AddExport, AddPlot,    AddStatus,     AddTop,
      AddStop,  AddSet,     AddCheck,  AddDoctor,  AddCompletion, AddManual};
  return kCommands;
}

}  // namespace murmurate
