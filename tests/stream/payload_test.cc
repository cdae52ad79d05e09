#include "server/stream/payload.h"
