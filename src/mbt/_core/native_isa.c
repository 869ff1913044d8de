// Run by the build: what `MBT_ISA=native` stands for, as an exit code.
#include "cpu_level.h"

int main(void) { return cpu_level(); }
