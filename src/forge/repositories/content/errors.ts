import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

/** Errors of commits, files and other Git objects. */
export const CONTENTS = {
  COMMIT_NOT_FOUND: { code: Code.NotFound, message: ({ ref }) => `commit doesn't exist: ${ref}` },
  DIFF_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: 'the diff is too large for one response; fetch the commits with Git',
    restStatus: 422,
  },
  FILE_CHANGED: {
    code: Code.Aborted,
    message: ({ given, expected }) => `sha does not match [given: ${given}, expected: ${expected}]`,
    restStatus: 422,
  },
  FILE_EXISTS: {
    code: Code.AlreadyExists,
    message: ({ path }) => `repository file already exists [path: ${path}]`,
    restStatus: 422,
  },
  GIT_MEMORY_EXCEEDED: {
    code: Code.ResourceExhausted,
    message: 'reading this takes more memory than the server allows; fetch it with Git',
    restStatus: 422,
  },
  GIT_TIMEOUT: {
    code: Code.DeadlineExceeded,
    message: 'reading this takes longer than the server allows',
  },
  INVALID_FILE_CHANGE: {
    code: Code.InvalidArgument,
    message: ({ path, problem }) => `${problem} [path: ${path}]`,
    restStatus: 422,
  },
  INVALID_FILE_PATH: {
    code: Code.InvalidArgument,
    message: ({ path }) => `path contains a malformed path component [path: ${path}]`,
    restStatus: 422,
  },
  OBJECT_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  PATH_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  TOO_MANY_FILE_CHANGES: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `one call can change at most ${limit} files`,
    restStatus: 422,
    field: 'files',
  },
} satisfies Refusals
