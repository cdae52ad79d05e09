/* A libcuda.so.1 of CUDA 11.4, as far as a runtime asks before it refuses it. */
int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
