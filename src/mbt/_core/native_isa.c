// Run by the build: its exit code is the level that `MBT_ISA=native` stands for.
#include "cpu_level.h"

int main(void) { return cpu_level(); }
