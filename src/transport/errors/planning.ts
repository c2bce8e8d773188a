import { Code } from '@connectrpc/connect'
import type { Refusals } from './refusal.ts'

/** Refusals about labels, milestones and commit statuses. */
export const PLANNING = {
  INVALID_LABEL_COLOR: {
    code: Code.InvalidArgument,
    message: ({ color }) => `bad color code: ${color}`,
    restStatus: 422,
    field: 'color',
  },
  INVALID_STATUS_STATE: {
    code: Code.InvalidArgument,
    message: ({ state }) => `"${state}" is no state of a status`,
    restStatus: 422,
    field: 'state',
  },
  LABEL_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  MILESTONE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOO_MANY_LABELS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `there are at most ${limit} labels`,
    restStatus: 422,
  },
  TOO_MANY_MILESTONES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a repository has at most ${limit} milestones`,
    restStatus: 422,
  },
  TOO_MANY_STATUS_CONTEXTS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `the statuses of a commit are about at most ${limit} contexts`,
    restStatus: 422,
  },
} satisfies Refusals
