import type { MergeStyle, UpdateStyle } from '../../../storage/schema/repos.ts'

export type { MergeStyle, UpdateStyle }

/** How the commits of a pull request can come to its base. */
export const MERGE_STYLES: readonly MergeStyle[] = [
  'merge',
  'rebase',
  'rebase-merge',
  'squash',
  'fast-forward-only',
]

/** How the commits of its base can come to a pull request. */
export const UPDATE_STYLES: readonly UpdateStyle[] = ['merge', 'rebase']
