import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

/** The message of compatible systems, whether hooks are disabled or the user lacks the right. */
const HOOKS_DENIED = 'must be allowed to edit Git hooks'

/** Errors of Git hooks. */
export const GIT_HOOKS = {
  GIT_HOOKS_DISABLED: { code: Code.PermissionDenied, message: HOOKS_DENIED },
  GIT_HOOK_ACCESS_DENIED: { code: Code.PermissionDenied, message: HOOKS_DENIED },
  GIT_HOOK_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  GIT_HOOK_REFUSED: {
    code: Code.PermissionDenied,
    message: ({ text }) => text || 'push is rejected',
  },
  TOO_MANY_GIT_HOOKS: {
    code: Code.Unavailable,
    message: 'too many hooks are running; try again soon',
  },
} satisfies Refusals
