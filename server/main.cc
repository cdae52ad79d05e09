#include "server/command/cli.h"
#include "server/daemon/descriptors.h"

int main(int argument_count, char** arguments) {
  murmurate::BeginRoutingIdsAtRandom();
  return murmurate::RunCommandLine(argument_count, arguments);
}
