/* What abi_3.c knows of what the third version added. */
#ifndef TESTS_CLIENT_ABI_ABI_3_H_
#define TESTS_CLIENT_ABI_ABI_3_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many things have changed since; the first of them in `text`. */
int abi_3_differences(char* text, size_t size);
/* The names that were added, and NULL. */
const char* const* abi_3_functions(void);

#ifdef __cplusplus
}
#endif
#endif
