/* To be preloaded under valgrind, which cannot always extend the main thread's stack once
 * large mappings are there: touches what tests will need of it while that still works. */
#define STACK_BYTES (1 << 20)
#define PAGE_BYTES 4096

static int __attribute__((constructor, noinline)) touch(void)
{
    volatile char stack[STACK_BYTES];
    int sum = 0;
    for (int i = STACK_BYTES - 1; i >= 0; i -= PAGE_BYTES) {
        stack[i] = 1;
        sum += stack[i];
    }
    return sum;
}
