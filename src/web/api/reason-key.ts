import type { ErrorReason } from '#gen/branchline/v1/error_reason_pb.ts'

/** The key of what the server says about a reason. */
export type ReasonKey = `${keyof typeof ErrorReason} @reason`
