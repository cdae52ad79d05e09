// bench_stream's ZeroMQ half: the same daemon, without a broker.
#pragma once

namespace murmurate {

/// One sample, its forecast, and 5 ms of rest; beside a bare ROUTER's echo of as many bytes to a
/// DEALER, in another process.
void MeasureSampleLatency();
/// `rate` samples a second (0: all that is taken) of `devices`, over one connection.
void MeasureSampleRate(int devices, int units, double rate, double seconds);

}  // namespace murmurate
