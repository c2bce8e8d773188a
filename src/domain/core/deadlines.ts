/** How long the client of a call waits, and what the call has changed by then. */
