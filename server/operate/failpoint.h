// Failpoint: a named place at which a test lets the process die, as by kill -9.
//
// Armed by MURMURATE_FAILPOINT=name[:count] in the environment alone: the process kills itself when
// it passes the place for the count-th time (1 when not said). It is compiled in always, so what is
// killed in tests is what ships; the dozen places lie on the thread that writes checkpoints, and an
// unarmed one costs a test of a pointer that was read once.
#pragma once

namespace murmurate {

void Failpoint(const char* name);

}  // namespace murmurate
