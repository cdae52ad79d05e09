/* What abi_4.c knows of what the fourth version added. */
#ifndef TESTS_CLIENT_ABI_ABI_4_H_
#define TESTS_CLIENT_ABI_ABI_4_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many things have changed since; the first of them in `text`. */
int abi_4_differences(char* text, size_t size);
/* The names that were added, and NULL. */
const char* const* abi_4_functions(void);

#ifdef __cplusplus
}
#endif
#endif
