/* What abi_1.c knows of the interface as released. */
#ifndef TESTS_CLIENT_ABI_ABI_1_H_
#define TESTS_CLIENT_ABI_ABI_1_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many things have changed since; the first of them in `text`. */
int abi_1_differences(char* text, size_t size);
/* The exported names, and NULL. */
const char* const* abi_1_functions(void);

#ifdef __cplusplus
}
#endif
#endif
