#include "server/cli.h"
#include "server/descriptors.h"

int main(int argument_count, char** arguments) {
  murmurate::BeginRoutingIdsAtRandom();
  return murmurate::RunCommandLine(argument_count, arguments);
}
