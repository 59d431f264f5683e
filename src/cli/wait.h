/* Pauses that Ctrl-C ends. */
#ifndef HCB_CLI_WAIT_H
#define HCB_CLI_WAIT_H

#include <stdbool.h>

/* From now on SIGINT sets a flag instead of ending the process. */
void cli_interrupt_catch(void);
bool cli_interrupted(void);

void cli_nap_ms(int ms); /* shorter when a signal comes */

#endif
