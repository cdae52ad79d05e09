// murmurate_ledger: the `murmurate` executable with one more algorithm, name = "ledger".
#include "server/command/cli.h"
#include "server/daemon/descriptors.h"
#include "server/learn/algorithms.h"
#include "tests/ledger/ledger.h"

int main(int argument_count, char** arguments) {
  murmurate::AddAlgorithm(murmurate::LedgerKind());
  murmurate::BeginRoutingIdsAtRandom();
  return murmurate::RunCommandLine(argument_count, arguments);
}
