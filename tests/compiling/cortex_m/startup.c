/* Start-up of a Cortex-M7 in QEMU (machine mps2-an500): the stack, the floating-point unit, then the C library,
 * which reaches the host by semihosting. */
extern char stack_top[];
void _start(void);

static void reset(void) {
  *(volatile unsigned*)0xE000ED88 |= 0xFu << 20; /* CPACR: access to the floating-point unit */
  __asm__ volatile("dsb\nisb");
  _start();
}

static void stop(void) {
  /* SYS_EXIT, by a run-time error. */
  register unsigned operation __asm__("r0") = 0x18, reason __asm__("r1") = 0x20023;
  __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(reason));
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top, reset, stop, stop, stop, stop, stop};
