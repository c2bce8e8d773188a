import { Code } from '@connectrpc/connect'
import type { Refusals } from '../core/refusal.ts'

/** Errors of imports of projects. */
export const IMPORTS = {
  ARCHIVE_OVER_LIMIT: {
    code: Code.ResourceExhausted,
    message: ({ max_bytes }) =>
      `an archive can have at most ${max_bytes} bytes without the files of releases`,
    restStatus: 413,
  },
  INVALID_PROJECT_ARCHIVE: {
    code: Code.InvalidArgument,
    message: ({ cause }) => `the archive cannot be imported: ${cause}`,
    restStatus: 422,
    field: 'attachment',
  },
  IMPORT_NOT_FOUND: { code: Code.NotFound, message: 'the repository has no import' },
  IMPORT_SOURCE_REFUSED: {
    code: Code.InvalidArgument,
    message: ({ cause }) => `the project cannot be imported: ${cause}`,
    restStatus: 422,
    field: 'clone_addr',
  },
  REPOSITORY_IMPORTING: {
    code: Code.FailedPrecondition,
    message: 'the import of the repository is not complete',
    restStatus: 409,
  },
} satisfies Refusals
