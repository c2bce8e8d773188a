import type { MergeStyle } from '../../core/schema.ts'
import type { UpdateStyle } from '../schema.ts'

/*
 * A file of its own: the options of the command line need the styles, and the primary process of
 * `serve --workers`, which reads the options, must not load what merges.
 */

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
