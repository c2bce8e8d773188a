import { Code } from '@connectrpc/connect'
import type { Refusals } from '../core/refusal.ts'

/** Errors of imports of projects. */
export const IMPORTS = {
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
