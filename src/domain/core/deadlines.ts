/** How long the client of a call waits, and what the call has changed by then. */
export { CallDeadline, withDeadline } from '../../storage/database/call-deadlines.ts'
