/** The deadline of a call, and the changes that the call has committed by then. */
export { CallDeadline, withDeadline } from '../../storage/database/call-deadlines.ts'
