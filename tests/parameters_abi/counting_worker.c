/* A worker whose every push moves each number of its arrays by one: a gradient of -1 at a rate of 1,
 * so the center is the number of pushes that were merged.
 *
 *   counting_worker ADDRESS NUMBER PUSHES     PUSHES 0: pulls, prints the center, and ends
 *
 * stdout: a line with the count of its own pushes each time one was answered. Ends with 0 when all
 * are, or after Ctrl+C. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "murmurate_parameters.h"

enum { kNumbers = 100 };

static mmr_parameters* parameters;

static void Interrupt(int signal_number) {
  (void)signal_number;
  mmr_parameters_interrupt(parameters);
}

static int Fail(void) {
  fprintf(stderr, "%s\n", mmr_parameters_last_error());
  return 1;
}

int main(int count, char** arguments) {
  static float numbers[kNumbers], single[1], ones[kNumbers], one[1] = {-1};
  const int32_t shape[] = {4, 25};
  if (count != 4) return 2;
  const long pushes = atol(arguments[3]);
  for (int i = 0; i < kNumbers; ++i) ones[i] = -1;
  const mmr_array arrays[] = {mmr_array_of("numbers", numbers, 2, shape),
                              mmr_array_of("single", single, 0, NULL)};
  const float* gradients[] = {ones, one};
  mmr_parameters_options options = MMR_NOTHING;
  options.size = sizeof options;
  options.worker = (uint32_t)atoi(arguments[2]);
  parameters = mmr_parameters_open(arguments[1], arrays, 2, &options);
  if (parameters == NULL) return Fail();
  signal(SIGINT, Interrupt);
  if (mmr_parameters_pull(parameters) != MMR_OK) return Fail();
  int32_t done = mmr_parameters_wait(parameters, -1);
  for (long i = 1; done == 1 && i <= pushes; ++i) {
    done = mmr_parameters_push(parameters, gradients, 2, 1.0);
    if (done == MMR_OK) done = mmr_parameters_wait(parameters, -1);
    if (done == 1) printf("%ld\n", i), fflush(stdout);
  }
  if (done < 0 && done != MMR_UNAVAILABLE) return Fail();
  if (pushes == 0) printf("%.0f %.0f %.0f\n", numbers[0], numbers[kNumbers - 1], single[0]);
  return mmr_parameters_close(parameters) == MMR_OK ? 0 : Fail();
}
