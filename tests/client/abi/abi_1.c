/* The C interface as it was first released: what was there never changes. Later releases add an
 * abi_2.c for what they add; this file is not edited. */
#include "tests/client/abi/abi_1.h"

#include <murmurate.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

struct report {
  char* text;
  size_t size;
  int differences;
};

static void differ(struct report* report, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (report->differences++ == 0) vsnprintf(report->text, report->size, format, arguments);
  va_end(arguments);
}

#define ENUM(name, value) \
  if ((int)(name) != (value)) differ(report, "%s was %d and is %d", #name, value, (int)(name))
/* A struct may grow at its end. */
#define STRUCT(name, bytes)   \
  if (sizeof(name) < (bytes)) \
  differ(report, "%s had %d bytes and has %d", #name, bytes, (int)sizeof(name))
#define FIELD(type, field, offset, bytes)                                                  \
  if (offsetof(type, field) != (offset) || sizeof(((type*)0)->field) != (bytes))           \
  differ(report, "%s.%s was %d bytes at %d and is %d at %d", #type, #field, bytes, offset, \
         (int)sizeof(((type*)0)->field), (int)offsetof(type, field))
#define FUNCTION(name, result, ...)                              \
  if (!_Generic(&name, result(*)(__VA_ARGS__) : 1, default : 0)) \
  differ(report, "%s has another type than %s(%s)", #name, #result, #__VA_ARGS__)

static void check_enums(struct report* report) {
  ENUM(MMR_OK, 0);
  ENUM(MMR_INVALID_ARGUMENT, -1);
  ENUM(MMR_INVALID_DATA, -2);
  ENUM(MMR_SECURITY, -3);
  ENUM(MMR_RESOURCE, -4);
  ENUM(MMR_UNAVAILABLE, -5);
  ENUM(MMR_BAD_HANDLE, -6);
  ENUM(MMR_FORKED, -7);
  ENUM(MMR_INTERNAL, -8);
  ENUM(MMR_BOX, 1);
  ENUM(MMR_DISCRETE, 2);
  ENUM(MMR_MULTI_DISCRETE, 3);
  ENUM(MMR_MULTI_BINARY, 4);
  ENUM(MMR_DICT, 5);
  ENUM(MMR_FLOAT32, 0);
  ENUM(MMR_UINT8, 1);
  ENUM(MMR_INT32, 2);
  ENUM(MMR_UNBOUNDED, 0);
  ENUM(MMR_BOUNDED_ALL, 1);
  ENUM(MMR_BOUNDED_EACH, 2);
  ENUM(MMR_PACE_NEVER, 0);
  ENUM(MMR_PACE_CREDIT, 1);
  ENUM(MMR_PACE_LOCKSTEP, 2);
  ENUM(MMR_WITHOUT_RANDOM, 0);
  ENUM(MMR_WITHOUT_DEFAULT, 1);
  ENUM(MMR_WITHOUT_WAIT, 2);
  ENUM(MMR_UPDATES_AUTOMATIC, 0);
  ENUM(MMR_UPDATES_MANUAL, 1);
  ENUM(MMR_LOG_INFO, 0);
  ENUM(MMR_LOG_WARNING, 1);
  ENUM(MMR_LOG_ERROR, 2);
  ENUM(MMR_STATE_NO_LEARNER, 0);
  ENUM(MMR_STATE_WAITING_FOR_WEIGHTS, 1);
  ENUM(MMR_STATE_LIVE, 2);
  ENUM(MMR_STATE_DEGRADED, 3);
  ENUM(MMR_STATE_REFUSED, 4);
  ENUM(MMR_TERMINATED, 0);
  ENUM(MMR_TRUNCATED, 1);
  ENUM(MMR_NOT_SAID, 0);
  ENUM(MMR_FAILURE, 1);
  ENUM(MMR_SUCCESS, 2);
  ENUM(MMR_TRAIN, 0);
  ENUM(MMR_EVALUATE, 1);
  ENUM(MMR_SILENT, 2);
}

static void check_structs(struct report* report) {
  STRUCT(mmr_space, 120);
  FIELD(mmr_space, size, 0, 4);
  FIELD(mmr_space, kind, 4, 4);
  FIELD(mmr_space, element, 8, 4);
  FIELD(mmr_space, n, 12, 4);
  FIELD(mmr_space, dimensions, 16, 4);
  FIELD(mmr_space, shape, 20, 32);
  FIELD(mmr_space, bounds, 52, 4);
  FIELD(mmr_space, low_all, 56, 4);
  FIELD(mmr_space, high_all, 60, 4);
  FIELD(mmr_space, low, 64, 8);
  FIELD(mmr_space, high, 72, 8);
  FIELD(mmr_space, choices, 80, 8);
  FIELD(mmr_space, choice_count, 88, 8);
  FIELD(mmr_space, name, 96, 8);
  FIELD(mmr_space, leaves, 104, 8);
  FIELD(mmr_space, leaf_count, 112, 8);
  STRUCT(mmr_client_options, 72);
  FIELD(mmr_client_options, size, 0, 4);
  FIELD(mmr_client_options, pace, 4, 4);
  FIELD(mmr_client_options, name, 8, 8);
  FIELD(mmr_client_options, without_policy, 16, 4);
  FIELD(mmr_client_options, accept_reset, 20, 4);
  FIELD(mmr_client_options, updates, 24, 4);
  FIELD(mmr_client_options, deterministic, 28, 4);
  FIELD(mmr_client_options, policy_path, 32, 8);
  FIELD(mmr_client_options, policy_bytes, 40, 8);
  FIELD(mmr_client_options, policy_size, 48, 8);
  FIELD(mmr_client_options, log, 56, 8);
  FIELD(mmr_client_options, log_user, 64, 8);
  STRUCT(mmr_state, 512);
  FIELD(mmr_state, size, 0, 4);
  FIELD(mmr_state, state, 4, 4);
  FIELD(mmr_state, in_session, 8, 4);
  FIELD(mmr_state, should_stop, 12, 4);
  FIELD(mmr_state, reason, 16, 496);
  STRUCT(mmr_stats, 104);
  FIELD(mmr_stats, size, 0, 4);
  FIELD(mmr_stats, reserved, 4, 4);
  FIELD(mmr_stats, steps, 8, 8);
  FIELD(mmr_stats, trajectories_sent, 16, 8);
  FIELD(mmr_stats, trajectories_dropped, 24, 8);
  FIELD(mmr_stats, steps_dropped, 32, 8);
  FIELD(mmr_stats, steps_given_up, 40, 8);
  FIELD(mmr_stats, trajectories_refused, 48, 8);
  FIELD(mmr_stats, weights_received, 56, 8);
  FIELD(mmr_stats, version, 64, 8);
  FIELD(mmr_stats, reconnects, 72, 8);
  FIELD(mmr_stats, trajectories_committed, 80, 8);
  FIELD(mmr_stats, steps_committed, 88, 8);
  FIELD(mmr_stats, trajectories_lost, 96, 8);
  STRUCT(mmr_action, 40);
  FIELD(mmr_action, size, 0, 4);
  FIELD(mmr_action, reserved, 4, 4);
  FIELD(mmr_action, choices, 8, 8);
  FIELD(mmr_action, choice_count, 16, 8);
  FIELD(mmr_action, numbers, 24, 8);
  FIELD(mmr_action, number_count, 32, 8);
  STRUCT(mmr_input, 32);
  FIELD(mmr_input, size, 0, 4);
  FIELD(mmr_input, element, 4, 4);
  FIELD(mmr_input, name, 8, 8);
  FIELD(mmr_input, values, 16, 8);
  FIELD(mmr_input, count, 24, 8);
  STRUCT(mmr_observation, 40);
  FIELD(mmr_observation, size, 0, 4);
  FIELD(mmr_observation, reserved, 4, 4);
  FIELD(mmr_observation, inputs, 8, 8);
  FIELD(mmr_observation, input_count, 16, 8);
  FIELD(mmr_observation, allowed, 24, 8);
  FIELD(mmr_observation, allowed_count, 32, 8);
  STRUCT(mmr_agent_options, 40);
  FIELD(mmr_agent_options, size, 0, 4);
  FIELD(mmr_agent_options, reserved, 4, 4);
  FIELD(mmr_agent_options, observation, 8, 8);
  FIELD(mmr_agent_options, action, 16, 8);
  FIELD(mmr_agent_options, model, 24, 8);
  FIELD(mmr_agent_options, default_action, 32, 8);
  STRUCT(mmr_shape, 40);
  FIELD(mmr_shape, size, 0, 4);
  FIELD(mmr_shape, inputs, 4, 4);
  FIELD(mmr_shape, observation_numbers, 8, 8);
  FIELD(mmr_shape, choices, 16, 8);
  FIELD(mmr_shape, numbers, 24, 8);
  FIELD(mmr_shape, mask_bytes, 32, 8);
  STRUCT(mmr_part, 24);
  FIELD(mmr_part, size, 0, 4);
  FIELD(mmr_part, continuous, 4, 4);
  FIELD(mmr_part, first, 8, 8);
  FIELD(mmr_part, count, 16, 8);
}

static void check_functions(struct report* report) {
  FUNCTION(mmr_abi_version, uint32_t, void);
  FUNCTION(mmr_version, const char*, void);
  FUNCTION(mmr_last_error, const char*, void);
  FUNCTION(mmr_last_status, mmr_status, void);
  FUNCTION(mmr_status_name, const char*, mmr_status);
  FUNCTION(mmr_connect, mmr_client*, const char*, const mmr_client_options*);
  FUNCTION(mmr_open, mmr_client*, const mmr_client_options*);
  FUNCTION(mmr_close, mmr_status, mmr_client*);
  FUNCTION(mmr_get_state, mmr_status, mmr_client*, mmr_state*);
  FUNCTION(mmr_state_name, const char*, int32_t);
  FUNCTION(mmr_get_stats, mmr_status, mmr_client*, mmr_stats*);
  FUNCTION(mmr_setting, double, mmr_client*, const char*, double);
  FUNCTION(mmr_update, int32_t, mmr_client*);
  FUNCTION(mmr_save, mmr_status, mmr_client*, const char*, const char*);
  FUNCTION(mmr_next_log, int32_t, mmr_client*, char*, uint64_t, int32_t*);
  FUNCTION(mmr_agent_new, mmr_agent*, mmr_client*, const mmr_agent_options*);
  FUNCTION(mmr_agent_close, mmr_status, mmr_agent*);
  FUNCTION(mmr_act, int32_t, mmr_agent*, const float*, uint64_t);
  FUNCTION(mmr_act_masked, int32_t, mmr_agent*, const float*, uint64_t, const uint8_t*, uint64_t);
  FUNCTION(mmr_act_continuous, mmr_status, mmr_agent*, const float*, uint64_t, float*, uint64_t);
  FUNCTION(mmr_act_any, mmr_status, mmr_agent*, const mmr_observation*, const mmr_action*);
  FUNCTION(mmr_reward, mmr_status, mmr_agent*, double);
  FUNCTION(mmr_end, mmr_status, mmr_agent*, int32_t, const float*, uint64_t);
  FUNCTION(mmr_end_any, mmr_status, mmr_agent*, int32_t, int32_t, const mmr_observation*);
  FUNCTION(mmr_took, mmr_status, mmr_agent*, int32_t);
  FUNCTION(mmr_took_any, mmr_status, mmr_agent*, const mmr_action*);
  FUNCTION(mmr_record, mmr_status, mmr_agent*, const float*, uint64_t, int32_t);
  FUNCTION(mmr_record_any, mmr_status, mmr_agent*, const mmr_observation*, const mmr_action*);
  FUNCTION(mmr_discard, mmr_status, mmr_agent*);
  FUNCTION(mmr_report, mmr_status, mmr_agent*, const char*, double);
  FUNCTION(mmr_set_mode, mmr_status, mmr_agent*, int32_t);
  FUNCTION(mmr_get_shape, mmr_status, mmr_agent*, mmr_shape*);
  FUNCTION(mmr_find_part, mmr_status, mmr_agent*, const char*, mmr_part*);
  FUNCTION(mmr_group_new, mmr_group*, mmr_client*, const mmr_agent_options*, int32_t);
  FUNCTION(mmr_group_close, mmr_status, mmr_group*);
  FUNCTION(mmr_group_size, int32_t, mmr_group*);
  FUNCTION(mmr_group_agent, mmr_agent*, mmr_group*, int32_t);
  FUNCTION(mmr_group_act, mmr_status, mmr_group*, const float*, uint64_t, int32_t*, uint64_t,
           const uint8_t*, uint64_t);
  FUNCTION(mmr_group_act_any, mmr_status, mmr_group*, const mmr_observation*, const mmr_action*,
           uint64_t);
}

int abi_1_differences(char* text, size_t size) {
  struct report report = {text, size, 0};
  check_enums(&report);
  check_structs(&report);
  check_functions(&report);
  return report.differences;
}

const char* const* abi_1_functions(void) {
  static const char* const functions[] = {
      "mmr_abi_version", "mmr_version",    "mmr_last_error",    "mmr_last_status",
      "mmr_status_name", "mmr_connect",    "mmr_open",          "mmr_close",
      "mmr_get_state",   "mmr_state_name", "mmr_get_stats",     "mmr_setting",
      "mmr_update",      "mmr_save",       "mmr_next_log",      "mmr_agent_new",
      "mmr_agent_close", "mmr_act",        "mmr_act_masked",    "mmr_act_continuous",
      "mmr_act_any",     "mmr_reward",     "mmr_end",           "mmr_end_any",
      "mmr_took",        "mmr_took_any",   "mmr_record",        "mmr_record_any",
      "mmr_discard",     "mmr_report",     "mmr_set_mode",      "mmr_get_shape",
      "mmr_find_part",   "mmr_group_new",  "mmr_group_close",   "mmr_group_size",
      "mmr_group_agent", "mmr_group_act",  "mmr_group_act_any", NULL};
  return functions;
}
