import type { MergeStyle } from '../../core/schema.ts'
import type { UpdateStyle } from '../schema.ts'

export type { MergeStyle, UpdateStyle }

/** The ways to merge a pull request into its base branch. */
export const MERGE_STYLES: readonly MergeStyle[] = [
  'merge',
  'rebase',
  'rebase-merge',
  'squash',
  'fast-forward-only',
]

/** The ways to update the head branch of a pull request with its base branch. */
export const UPDATE_STYLES: readonly UpdateStyle[] = ['merge', 'rebase']
