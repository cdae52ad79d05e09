// Each kind of hook, made by a file of its own: its header comment says what it does.
#pragma once

#include "server/hooks/hook_settings.h"

namespace murmurate {

HookKind LoggingHookKind();
HookKind StepCounterHookKind();
HookKind StopAtStepHookKind();
HookKind StopAtReturnHookKind();
HookKind StopAtLossHookKind();
HookKind StopOnPlateauHookKind();
HookKind StopAtTimeHookKind();
HookKind CheckpointSaverHookKind();
HookKind NanGuardHookKind();
HookKind SummarySaverHookKind();
HookKind WaitForStepHookKind();
HookKind FinalEvaluationHookKind();
HookKind FeedHookKind();
HookKind LibraryHookKind();
HookKind CommandHookKind();

}  // namespace murmurate
