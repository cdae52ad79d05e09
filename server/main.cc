#include "server/cli.h"

int main(int argument_count, char** arguments) {
  return murmurate::RunCommandLine(argument_count, arguments);
}
