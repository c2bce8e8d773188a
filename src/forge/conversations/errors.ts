import { Code } from '@connectrpc/connect'
import type { Refusals } from '../core/refusal.ts'

/** Errors of labels, milestones and commit statuses. */
export const PLANNING = {
  INVALID_LABEL_COLOR: {
    code: Code.InvalidArgument,
    message: ({ color }) => `bad color code: ${color}`,
    restStatus: 422,
    field: 'color',
  },
  INVALID_STATUS_STATE: {
    code: Code.InvalidArgument,
    message: ({ state }) => `"${state}" is not a valid status state`,
    restStatus: 422,
    field: 'state',
  },
  LABEL_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  MILESTONE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOO_MANY_LABELS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the limit of ${limit} labels has been reached`,
    restStatus: 422,
  },
  TOO_MANY_MILESTONES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository can have at most ${limit} milestones`,
    restStatus: 422,
  },
  TOO_MANY_STATUS_CONTEXTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a commit can have statuses of at most ${limit} contexts`,
    restStatus: 422,
  },
} satisfies Refusals
