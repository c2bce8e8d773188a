import { Code } from '@connectrpc/connect'
import type { Refusals } from '../../core/refusal.ts'

/** Errors of releases and their files. */
export const RELEASES = {
  ASSET_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  ASSET_TOO_LARGE: {
    code: Code.ResourceExhausted,
    message: ({ max_bytes }) => `a file can have at most ${max_bytes} bytes`,
    restStatus: 413,
  },
  INVALID_UPLOAD: {
    code: Code.InvalidArgument,
    message: 'the content must be a form with a file in the field "attachment"',
    restStatus: 400,
    field: 'attachment',
  },
  // The message of compatible systems.
  RELEASE_EXISTS: { code: Code.AlreadyExists, message: 'Release is has no Tag' },
  RELEASE_NOT_FOUND: { code: Code.NotFound, message: 'not found' },
  RELEASE_REPOSITORY_EMPTY: {
    code: Code.FailedPrecondition,
    message: 'repo is empty',
    restStatus: 422,
  },
  RELEASE_TAG_INVALID: {
    code: Code.InvalidArgument,
    message: ({ tag }) => `release tag name is not valid [tag_name: ${tag}]`,
    restStatus: 422,
    field: 'tag_name',
  },
  RELEASE_TAG_PROTECTED: {
    code: Code.PermissionDenied,
    message: ({ tag }) => `release tag name is protected [tag_name: ${tag}]`,
    restStatus: 422,
  },
  RELEASE_TAG_REQUIRED: {
    code: Code.InvalidArgument,
    message: '[TagName]: Required',
    restStatus: 422,
    field: 'tag_name',
  },
  RELEASE_TAG_TAKEN: {
    code: Code.AlreadyExists,
    message: ({ tag }) => `release tag already exist [tag_name: ${tag}]`,
  },
  TOO_MANY_ASSETS: {
    code: Code.InvalidArgument,
    message: ({ limit }) => `a release can have at most ${limit} files`,
    restStatus: 422,
  },
} satisfies Refusals
